// Which push services a subscription may name. Its endpoint comes from a browser, and so from
// anybody: without a list it could make us call whatever we can reach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/error.hpp"

namespace sendonce {

// An endpoint, taken apart; views into it.
struct PushEndpoint {
  std::string_view authority{};  // host, and the port where it is not 443
  std::string_view host{};
  std::string_view path{};     // with its query
  std::string_view service{};  // the entry of the list that allows it
};

class PushOrigins {
 public:
  // Entries are "host" or "*.domain", both with ":port" where it is not 443. invalid: which one is
  // wrong, and why. An IP address is no entry: it has no name that a certificate vouches for.
  [[nodiscard]] static Result<PushOrigins> make(const std::vector<std::string>& entries);

  // https, a host on the list in lower case, no user, no fragment, at most 4096 characters. The
  // error does not quote the endpoint.
  [[nodiscard]] Result<PushEndpoint> find(std::string_view endpoint) const;

 private:
  struct Entry {
    std::string text{};
    std::string host{};  // without "*"
    bool below = false;  // any name below it, not itself
    std::string port{};  // empty: 443
  };
  [[nodiscard]] static Result<Entry> parse(const std::string& text);
  [[nodiscard]] static bool allows(const Entry& entry, std::string_view host,
                                   std::string_view port);

  std::vector<Entry> entries_{};
};

}  // namespace sendonce
