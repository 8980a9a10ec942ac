// Checks of a configuration against the machine it runs on: credential and certificate files, the
// state directory's file system, free space, open files. Reads only, and creates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/checks.hpp"

namespace sendonce {

void check_environment(const CheckInput& in, Findings& out);

// ---- its parts
void check_credentials(const CheckInput& in, Findings& out);
void check_certificates(const CheckInput& in, Findings& out);
void check_state_dir(const CheckInput& in, Findings& out);
void check_open_files(const CheckInput& in, Findings& out);

// What kind of file system `magic` (statfs(2), f_type) stands for when no ledger may live on it:
// network, FUSE and overlay never, memory only with durability = "process". Empty: it may.
[[nodiscard]] std::optional<std::string_view> refused_file_system(std::uint32_t magic,
                                                                  Durability durability);
// Descriptors that the configuration may need at a time.
[[nodiscard]] std::uint64_t descriptors_needed(const Config& config);

}  // namespace sendonce
