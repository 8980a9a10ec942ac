// What the deciding commands have in common: who decides, and asking the daemon.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "config/schema.hpp"
#include "plugin/core/error.hpp"
#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce::cli {

// The name of the user at the keyboard, behind sudo too.
[[nodiscard]] std::string operator_name();

// The result's object. Errors as of AdminClient.
[[nodiscard]] Result<nlohmann::ordered_json> ask_daemon(const Config& config,
                                                        const AdminRequest& request);

}  // namespace sendonce::cli
