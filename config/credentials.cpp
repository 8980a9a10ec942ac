#include "config/credentials.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sendonce {
namespace {

class File {
 public:
  // O_NONBLOCK: a pipe must not make us wait before we can see that it is one.
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

std::unexpected<Error> refuse(Errc code, const SecretRef& ref, const std::string& path,
                              const std::string& why) {
  std::string text = ref.text;
  if (ref.text != "file:" + path) text += " (" + path + ")";
  return fail(code, text + " " + why);
}

bool protected_by(std::string_view directory, std::string_view path) {
  return !directory.empty() && path.starts_with(directory) &&
         path.substr(directory.size()).starts_with('/') &&
         path.find("/../") == std::string_view::npos;
}

Result<void> judge(const struct stat& status, const SecretRef& ref, const std::string& path,
                   bool is_protected) {
  if (!S_ISREG(status.st_mode)) return refuse(Errc::invalid, ref, path, "is not a regular file");
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (!is_protected && (status.st_mode & kOthers) != 0)
    return refuse(Errc::denied, ref, path,
                  "is open to group or others: chmod 0600 it, as the user that runs this process");
  if (status.st_size == 0) return refuse(Errc::invalid, ref, path, "is empty");
  if (status.st_size > static_cast<off_t>(kCredentialBytesMax))
    return refuse(Errc::invalid, ref, path, "is larger than 64 KiB, which no credential is");
  return {};
}

// Up to one byte more than allowed; -1 with errno.
ssize_t read_all(int fd, std::string& out) {
  out.resize(kCredentialBytesMax + 1);
  std::size_t size = 0;
  while (size < out.size()) {
    const ssize_t n = ::read(fd, out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return n;
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  out.resize(size);
  return static_cast<ssize_t>(size);
}

}  // namespace

std::string credentials_directory() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const directory = std::getenv("CREDENTIALS_DIRECTORY");
  std::string out = directory == nullptr ? "" : directory;
  while (out.ends_with('/')) out.pop_back();
  return out;
}

Result<std::string> credential_path(const SecretRef& ref, std::string_view directory) {
  const std::string_view text = ref.text;
  if (text.starts_with("file:")) return std::string(text.substr(5));
  SO_ASSERT(text.starts_with("cred:"));
  if (directory.empty())
    return fail(Errc::invalid,
                ref.text + " needs $CREDENTIALS_DIRECTORY: run under systemd with LoadCredential=" +
                    std::string(text.substr(5)) + ":/path, or write file:/path");
  return std::string(directory) + "/" + std::string(text.substr(5));
}

Result<Credential> read_credential(const SecretRef& ref, std::string_view directory) {
  SO_TRY(const std::string path, credential_path(ref, directory));
  const File file(path);
  if (file.fd() < 0) {
    const int why = errno;
    return refuse(why == EACCES ? Errc::denied : Errc::invalid, ref, path,
                  "cannot be opened: " + reason(why));
  }
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0)
    return refuse(Errc::unavailable, ref, path, "cannot be examined: " + reason(errno));
  SO_CHECK(judge(status, ref, path, protected_by(directory, path)));
  std::string bytes;
  if (read_all(file.fd(), bytes) < 0)
    return refuse(Errc::unavailable, ref, path, "cannot be read: " + reason(errno));
  if (bytes.size() > kCredentialBytesMax)
    return refuse(Errc::invalid, ref, path, "grew while it was read");
  while (bytes.ends_with('\n') || bytes.ends_with('\r')) bytes.pop_back();
  if (bytes.empty()) return refuse(Errc::invalid, ref, path, "is empty");
  return Credential(std::move(bytes));
}

}  // namespace sendonce
