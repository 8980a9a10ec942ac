// Templates filled in with what a notification says, each value escaped by where it goes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "classifiers/provider.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

enum class Place : std::uint8_t {
  path,    // RFC 3986 2.3: all but unreserved characters in percents
  query,   // the same
  form,    // application/x-www-form-urlencoded
  header,  // RFC 9110 5.5: no control characters
  json,    // RFC 8259, without the quotes
  plain,   // as it is
};

void append_escaped(std::string& out, std::string_view value, Place place);

// Of the request that is being signed.
struct SignedRequest {
  std::string_view method{};
  std::string_view path{};
  std::string_view body{};
  std::string_view timestamp{};
};

class Renderer {
 public:
  // Borrows all of it. `ttl` is what {ttl} stands for.
  Renderer(const Attempt& attempt, std::chrono::seconds ttl, const SignedRequest* request = nullptr)
      : attempt_(attempt), ttl_(ttl), request_(request) {}

  // Empty: an optional value is missing that the text is made of alone. invalid: a value is
  // missing, or may not stand there; the text names it and `what`, never what it is.
  [[nodiscard]] Result<std::optional<std::string>> text(const TextTemplate& from, Place place,
                                                        std::string_view what) const;
  [[nodiscard]] Result<std::string> json(const JsonTemplate& from) const;

 private:
  [[nodiscard]] Result<void> append_json(std::string& out, const JsonTemplate& from,
                                         std::string_view what) const;
  [[nodiscard]] Result<void> append_children(std::string& out, const JsonTemplate& from,
                                             std::string_view what) const;
  [[nodiscard]] bool lacks_member(const JsonTemplate& from) const;
  // Empty: missing.
  [[nodiscard]] Result<std::string> value_of(const TemplatePart& part) const;
  [[nodiscard]] Result<std::string> data_text(std::string_view member) const;
  [[nodiscard]] std::string data_json(const TemplatePart& part) const;

  const Attempt& attempt_;
  std::chrono::seconds ttl_;
  const SignedRequest* request_;
};

}  // namespace sendonce
