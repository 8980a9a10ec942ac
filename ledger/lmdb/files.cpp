#include "ledger/lmdb/files.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/core/unique_fd.hpp"

namespace sendonce {

Result<void> make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(Errc::denied, directory + ": " + std::strerror(errno));
  return {};
}

Result<void> sync_directory(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    return fail(Errc::unavailable, directory + ": " + std::strerror(errno));
  return {};
}

}  // namespace sendonce
