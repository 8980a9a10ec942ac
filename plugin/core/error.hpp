// Expected failures are values: Result<T> holds a T or an Error. What a delivery came to is never
// an Error, it is a Verdict (verdict.hpp).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "plugin/core/assert.hpp"

namespace sendonce {

// A closed set, chosen by what the caller does next. Details go into the text.
enum class Errc : std::uint8_t {
  invalid,      // input or configuration is wrong: fix it, do not retry
  unavailable,  // may succeed later without a change
  exhausted,    // a limit was reached (map full, disk full, queue full); nothing was changed
  corrupt,      // stored data violates its own invariants: stop, do not guess
  denied,       // permission is missing
  busy,         // somebody else owns it
  internal,     // a bug here
};

// The text names the place (file:line, field, subject) and the remedy. Never a token, credential,
// phone number, address or payload.
struct Error {
  Errc code = Errc::internal;
  std::string text{};
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string text) {
  return std::unexpected<Error>(Error{code, std::move(text)});
}

}  // namespace sendonce

// NOLINTBEGIN(bugprone-macro-parentheses): `decl` is a declaration
// Propagate an error: `SO_TRY(auto txn, env.begin());`
#define SO_CONCAT_INNER(a, b) a##b
#define SO_CONCAT(a, b) SO_CONCAT_INNER(a, b)
#define SO_TRY_IMPL(tmp, decl, expr)                            \
  auto tmp = (expr);                                            \
  if (!tmp) return ::std::unexpected(::std::move(tmp).error()); \
  decl = ::std::move(tmp).value()
#define SO_TRY(decl, expr) SO_TRY_IMPL(SO_CONCAT(so_try_, __LINE__), decl, expr)
#define SO_CHECK(expr)                                          \
  do {                                                          \
    if (auto so_result = (expr); !so_result)                    \
      return ::std::unexpected(::std::move(so_result).error()); \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)
