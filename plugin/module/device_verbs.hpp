// The verbs of the admin socket about devices: what the ledger remembers of one, or of all, and
// what a person says of one. Devices are named by their hash; a token that comes in is hashed and
// goes nowhere else.
#pragma once

#include <functional>
#include <string_view>

#include "ledger/lmdb/lmdb_ledger.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/engine_thread.hpp"
#include "plugin/module/operator_verbs.hpp"

namespace sendonce {

[[nodiscard]] bool is_device_verb(std::string_view verb);

// The hash of a target at the provider with this index. invalid: it has no such form.
using DeviceHasher =
    std::function<Result<DeviceHash>(std::uint16_t provider, const Target& target)>;

[[nodiscard]] Result<void> serve_devices(const OperatorView& view, const DeviceHasher& hasher,
                                         EngineThread& engine, const LmdbLedger& ledger,
                                         const Clock& clock, Log& log, const AdminRequest& request,
                                         AdminReply& reply);

}  // namespace sendonce
