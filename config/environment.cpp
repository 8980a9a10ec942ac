#include "config/environment.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/credentials.hpp"
#include "config/quantity.hpp"

namespace sendonce {
namespace {

struct FileSystem {
  std::uint32_t magic = 0;
  std::string_view kind{};
};

// statfs(2) and linux/magic.h. Their locks or their mapped pages are not what LMDB needs.
constexpr std::array<FileSystem, 14> kRefused{{{0x6969, "a network file system (NFS)"},
                                               {0x517B, "a network file system (SMB)"},
                                               {0xFF534D42, "a network file system (CIFS)"},
                                               {0xFE534D42, "a network file system (SMB2)"},
                                               {0x01021997, "a network file system (9p)"},
                                               {0x00C36400, "a network file system (Ceph)"},
                                               {0x5346414F, "a network file system (AFS)"},
                                               {0x73757245, "a network file system (Coda)"},
                                               {0x0BD00BD0, "a network file system (Lustre)"},
                                               {0x01161970, "a cluster file system (GFS2)"},
                                               {0x7461636F, "a cluster file system (OCFS2)"},
                                               {0x65735546, "a FUSE file system"},
                                               {0x794C7630, "an overlay file system"},
                                               {0x00000187, "an automount point"}}};
constexpr std::array<FileSystem, 2> kMemory{
    {{0x01021994, "memory (tmpfs)"}, {0x858458F6, "memory (ramfs)"}}};

constexpr std::uint64_t kPushOrigins = 64;        // as many hosts as the transport serves at a time
constexpr std::uint64_t kDescriptorsAtRest = 64;  // ledger, NATS, sockets, logs, libraries

void judge_credential(const CheckInput& in, Findings& out, const std::string& field,
                      const std::optional<SecretRef>& ref, const std::string& directory) {
  if (!ref) return;
  const Result<Credential> credential = read_credential(*ref, directory);
  if (credential) return;
  report_error(in, out, field, credential.error().text,
               "put the credential there for this process alone to read");
  out.back().code = credential.error().code == Errc::denied ? Errc::denied : Errc::invalid;
}

void judge_certificate(const CheckInput& in, Findings& out, const std::string& field,
                       const std::string& path) {
  if (path.empty() || ::access(path.c_str(), R_OK) == 0) return;
  report_error(in, out, field, path + " cannot be read: " + std::generic_category().message(errno),
               "name a PEM file that this user may read");
}

// `path`, or the nearest directory above it that exists: where it would be made.
std::filesystem::path existing(std::filesystem::path path) {
  std::error_code error;
  while (path.has_relative_path() && !std::filesystem::exists(path, error))
    path = path.parent_path();
  return path;
}

void check_free_space(const CheckInput& in, Findings& out, const std::filesystem::path& where) {
  struct statvfs status{};
  if (::statvfs(where.c_str(), &status) != 0) return;
  std::error_code error;
  const auto data = std::filesystem::path(ledger_directory(in.config.instance)) / "data.mdb";
  const std::uintmax_t used = std::filesystem::file_size(data, error);
  const std::uint64_t free = status.f_bavail * status.f_frsize;
  const std::uint64_t room = free + (error ? 0 : used);
  if (room >= in.config.ledger.map_size) return;
  report_warning(in, out, "ledger.map_size",
                 size_text(in.config.ledger.map_size) +
                     " does not fit the disk, which has room for " + size_text(room >> 20U << 20U),
                 "lower it, or make room below " + in.config.instance.state_dir);
}

}  // namespace

void check_environment(const CheckInput& in, Findings& out) {
  check_credentials(in, out);
  check_certificates(in, out);
  check_state_dir(in, out);
  check_open_files(in, out);
}

void check_credentials(const CheckInput& in, Findings& out) {
  const std::string directory = credentials_directory();
  judge_credential(in, out, "nats.credentials", in.config.nats.credentials, directory);
  for (const ProviderConfig& provider : in.config.providers) {
    const std::string field = "provider." + provider.name;
    judge_credential(in, out, field + ".auth.key", provider.key, directory);
    judge_credential(in, out, field + ".auth.service_account", provider.service_account, directory);
    judge_credential(in, out, field + ".auth.vapid_key", provider.vapid_key, directory);
    judge_credential(in, out, field + ".auth.secret", provider.secret, directory);
    for (const SettingConfig& setting : provider.settings)
      judge_credential(in, out, field + ".settings." + setting.name, setting.secret, directory);
    judge_credential(in, out, field + ".proxy.credentials", provider.proxy_credentials, directory);
  }
}

void check_certificates(const CheckInput& in, Findings& out) {
  judge_certificate(in, out, "nats.tls.ca", in.config.nats.ca);
  for (const ProviderConfig& provider : in.config.providers)
    judge_certificate(in, out, "provider." + provider.name + ".tls.ca", provider.ca);
}

void check_state_dir(const CheckInput& in, Findings& out) {
  const std::filesystem::path where = existing(ledger_directory(in.config.instance));
  struct statfs status{};
  if (::statfs(where.c_str(), &status) != 0)
    return report_error(in, out, "instance.state_dir",
                        "cannot be examined: " + std::generic_category().message(errno),
                        "name a directory on a local disk that this user may write");
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  if (const auto kind = refused_file_system(magic, in.config.ledger.durability))
    return report_error(in, out, "instance.state_dir",
                        where.string() + " is on " + std::string(*kind) +
                            ", where the ledger cannot keep its promises",
                        "name a directory on a local disk, in a container on a mounted volume");
  check_free_space(in, out, where);
}

void check_open_files(const CheckInput& in, Findings& out) {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::uint64_t needed = descriptors_needed(in.config);
  if (limit.rlim_cur >= needed) return;
  report_warning(in, out, "provider",
                 "up to " + std::to_string(needed) + " open files are needed, the limit is " +
                     std::to_string(limit.rlim_cur),
                 "raise LimitNOFILE, or lower concurrency.connections");
}

std::optional<std::string_view> refused_file_system(std::uint32_t magic, Durability durability) {
  const auto find = [magic](const auto& list) -> std::optional<std::string_view> {
    const auto found = std::ranges::find(list, magic, &FileSystem::magic);
    if (found == list.end()) return std::nullopt;
    return found->kind;
  };
  if (const auto memory = find(kMemory))
    return durability == Durability::process ? std::nullopt : memory;
  return find(kRefused);
}

std::uint64_t descriptors_needed(const Config& config) {
  std::uint64_t connections = 0;
  for (const ProviderConfig& provider : config.providers)
    connections += provider.kind == ProviderKind::webpush
                       ? std::uint64_t{provider.connections} * kPushOrigins
                       : provider.connections;
  // Twice: a connection is replaced before the old one has ended.
  return kDescriptorsAtRest + 2 * connections;
}

}  // namespace sendonce
