// Values that must never be printed: no stream operator, no conversion, one accessor whose name a
// reviewer can search for.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sendonce {

template <class Tag>
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  [[nodiscard]] const std::string& expose() const noexcept { return value_; }
  [[nodiscard]] bool empty() const noexcept { return value_.empty(); }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string value_;
};

using Destination = Secret<struct DestinationTag>;  // a token, endpoint, phone number or address
using Credential = Secret<struct CredentialTag>;    // a key, password or bearer token

}  // namespace sendonce
