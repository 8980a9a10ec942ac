#include "plugin/module/loader/provider_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sendonce {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }  // of realpath(3)
};

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

Result<struct stat> examine(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) return status;
  const int why = errno;
  return fail(why == EACCES ? Errc::denied : Errc::invalid,
              path + " cannot be examined: " + reason(why));
}

Result<void> check_owner(const std::string& path, const struct stat& status) {
  if (status.st_uid == 0 || status.st_uid == ::geteuid()) return {};
  return fail(Errc::denied,
              path + " belongs to another user, who could replace what runs here: chown root it");
}

// `last`: the module itself stands in it.
Result<void> check_directory(const std::string& path, bool last) {
  SO_TRY(const struct stat status, examine(path));
  SO_CHECK(check_owner(path, status));
  const bool open = (status.st_mode & S_IWOTH) != 0;
  const bool sticky = (status.st_mode & S_ISVTX) != 0;
  if (!open || (sticky && !last)) return {};
  return fail(Errc::denied, path +
                                " may be written by everybody: chmod o-w it, or put the module "
                                "into a directory of its own");
}

}  // namespace

Result<std::string> check_provider_file(const std::string& path) {
  if (!path.starts_with('/')) return fail(Errc::invalid, path + " is not an absolute path");
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  if (real == nullptr) {
    const int why = errno;
    return fail(why == EACCES ? Errc::denied : Errc::invalid,
                path + " cannot be found: " + reason(why) + ": name the .so file");
  }
  const std::string file = real.get();
  SO_TRY(const struct stat status, examine(file));
  if (!S_ISREG(status.st_mode))
    return fail(Errc::invalid, file + " is not a regular file: name the .so file");
  SO_CHECK(check_owner(file, status));
  if ((status.st_mode & S_IWOTH) != 0)
    return fail(Errc::denied, file + " may be written by everybody: chmod o-w it");
  bool last = true;
  for (std::size_t slash = file.rfind('/'); slash != std::string::npos;
       slash = slash == 0 ? std::string::npos : file.rfind('/', slash - 1)) {
    SO_CHECK(check_directory(slash == 0 ? "/" : file.substr(0, slash), last));
    last = false;
  }
  return file;
}

Result<ModuleTable> load_provider_file(const std::string& path) {
  // What was looked at, and not where a link points by now.
  SO_TRY(const std::string file, check_provider_file(path));
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): it has a text for each thread
    const char* const text = ::dlerror();
    return fail(Errc::invalid, path + " cannot be loaded: " + (text == nullptr ? "" : text) +
                                   ": build it with -shared -fPIC for this machine");
  }
  void* const symbol = ::dlsym(library, SENDONCE_PROVIDER_ENTRY);
  if (symbol == nullptr)
    return fail(Errc::invalid,
                path + " does not export " SENDONCE_PROVIDER_ENTRY
                       ": it is no provider module, one of another major version, or lacks "
                       "SENDONCE_EXPORT");
  const auto entry = reinterpret_cast<sendonce_provider_entry_fn>(symbol);
  Result<ModuleTable> table = look_at(entry(SENDONCE_ABI_MINOR));
  if (!table) return fail(table.error().code, path + ": " + table.error().text);
  return table;
}

}  // namespace sendonce
