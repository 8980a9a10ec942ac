#include "classifiers/foreign/module_table.hpp"

#include <algorithm>
#include <cstring>

namespace sendonce {
namespace {

constexpr std::size_t kNameMax = 64;
constexpr std::size_t kSecretMin = 4;

bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}

// Of the table: NUL-terminated, if the module keeps its word.
std::optional<std::string> label(const char* from) {
  if (from == nullptr) return std::nullopt;
  const std::size_t size = ::strnlen(from, kNameMax + 1);
  const std::string_view text(from, size);
  if (size == 0 || size > kNameMax || !std::ranges::all_of(text, is_visible)) return std::nullopt;
  return std::string(text);
}

}  // namespace

bool has_query(const sendonce_provider_api& api) {
  return SENDONCE_HAS(&api, sendonce_provider_api, query) && api.query != nullptr;
}

Result<ModuleTable> look_at(const sendonce_provider_api* api) {
  if (api == nullptr)
    return fail(Errc::invalid, "the module does not serve a host of ABI 1." +
                                   std::to_string(SENDONCE_ABI_MINOR) +
                                   ": update sendonce, or take an older version of the module");
  if (!SENDONCE_HAS(api, sendonce_provider_api, classify))
    return fail(Errc::invalid,
                "the module's table has " + std::to_string(api->struct_size) +
                    " bytes and ends before classify: set struct_size to sizeof the table and "
                    "build it with sendonce/abi/provider.h");
  ModuleTable out{.api = api};
  const auto name = label(api->name);
  const auto version = label(api->version);
  if (!name || !version)
    return fail(Errc::invalid,
                "the module's table has no usable name or version: give it 1 to 64 visible ASCII "
                "characters for each");
  const bool whole = api->create != nullptr && api->destroy != nullptr &&
                     api->describe != nullptr && api->prepare != nullptr &&
                     api->classify != nullptr;
  if (!whole)
    return fail(Errc::invalid, "module " + *name +
                                   " has a NULL where create, destroy, describe, prepare or "
                                   "classify should be: only query may be left out");
  out.name = *name;
  out.version = *version;
  return out;
}

std::optional<std::string_view> text_of(const sendonce_str& from, std::size_t max) {
  if (from.size == 0) return std::string_view();
  if (from.data == nullptr || from.size > max) return std::nullopt;
  return std::string_view(from.data, from.size);
}

bool tells_a_secret(std::string_view text, std::span<const std::string_view> secrets) {
  return std::ranges::any_of(secrets, [text](std::string_view secret) {
    if (secret.starts_with('+')) secret.remove_prefix(1);  // of a phone number
    return secret.size() >= kSecretMin && text.find(secret) != std::string_view::npos;
  });
}

LentText::LentText() : text_{buffer_.data(), kCapacity, 0} {}

std::string LentText::read(std::span<const std::string_view> secrets) const {
  const std::size_t size = ::strnlen(buffer_.data(), kCapacity - 1);  // it may not have ended it
  std::string out(buffer_.data(), size);
  if (out.empty()) return "the module gives no reason";
  if (tells_a_secret(out, secrets)) return "the module's text holds a secret and is not shown";
  for (char& c : out)
    if (c != ' ' && !is_visible(c)) c = '?';
  return out;
}

}  // namespace sendonce
