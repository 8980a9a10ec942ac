#include "plugin/module/pauses.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "plugin/core/unique_fd.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::json;

std::unexpected<Error> io_error(const std::string& path) {
  return fail(Errc::unavailable, path + ": " + std::strerror(errno));
}

Result<void> write_durably(const std::string& path, const std::string& text) {
  const std::string aside = path + ".new";
  const UniqueFd fd(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return io_error(aside);
  const ssize_t n = ::write(fd.get(), text.data(), text.size());
  if (n != static_cast<ssize_t>(text.size()) || ::fsync(fd.get()) != 0) return io_error(aside);
  if (::rename(aside.c_str(), path.c_str()) != 0) return io_error(path);
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const UniqueFd above(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above || ::fsync(above.get()) != 0) return io_error(directory);
  return {};
}

bool read_reasons(const Json& json, const char* member, Pauses::Reasons& out) {
  if (!json.contains(member) || !json[member].is_object()) return false;
  for (const auto& [name, reason] : json[member].items()) {
    if (!reason.is_string()) return false;
    out[name] = reason.get<std::string>();
  }
  return true;
}

}  // namespace

Result<Pauses> Pauses::load(const std::string& directory) {
  Pauses out;
  out.path_ = directory + "/paused.json";
  std::error_code ec;
  if (!std::filesystem::exists(out.path_, ec)) return out;
  std::ifstream in(out.path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !read_reasons(json, "classes", out.classes_) ||
      !read_reasons(json, "providers", out.providers_))
    return fail(Errc::corrupt, out.path_ +
                                   " is damaged: what is paused is not known. Remove it if "
                                   "nothing is, and pause anew what must not go on");
  return out;
}

Result<void> Pauses::set(Pausable what, const std::string& name, const std::string& reason) {
  Reasons& of = what == Pausable::message_class ? classes_ : providers_;
  const Reasons before = of;
  if (reason.empty()) {
    of.erase(name);
  } else {
    of[name] = reason;
  }
  Result<void> stored = store();
  if (!stored) of = before;
  return stored;
}

Result<void> Pauses::store() const {
  const Json json{{"classes", classes_}, {"providers", providers_}};
  return write_durably(path_, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace sendonce
