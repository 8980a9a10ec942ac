#include "classifiers/http/http_lookup.hpp"

#include <algorithm>
#include <string>

#include "classifiers/answer.hpp"
#include "classifiers/answer_match.hpp"

namespace sendonce {
namespace {

LookAnswer found_or_not(const LookupSpec& spec, const SeenAnswer& seen, LookAnswer out) {
  const std::string_view receipt = seen.text_at(spec.receipt_pointer);
  const bool there = is_receipt(receipt);
  if (!seen.is_success() || (!spec.receipt_pointer.empty() && !there)) return out;
  out.look = Look::found;
  if (there) out.message_id = receipt;
  return out;
}

}  // namespace

LookAnswer judge_lookup(const HttpSpec& spec, const CallResult& result, WallTime now) {
  if (const auto* failure = std::get_if<CallFailure>(&result))
    return {.reason = "lookup: " + std::string(name(failure->cause))};
  const SeenAnswer seen(std::get<HttpAnswer>(result));
  LookAnswer out{.reason = "lookup: http_" + std::to_string(seen.answer.status),
                 .retry_after = retry_after(seen.answer.headers, now).value_or(Duration{0})};
  const LookupSpec& lookup = spec.lookup;
  const auto rule = std::ranges::find_if(lookup.answers,
                                         [&](const LookupRule& line) { return fits(line, seen); });
  if (rule == lookup.answers.end())
    return lookup.receipt_pointer.empty() ? out : found_or_not(lookup, seen, std::move(out));
  switch (rule->look) {
    case Look::found:
      return found_or_not(lookup, seen, std::move(out));
    case Look::absent:
    case Look::undecided:
      out.look = rule->look;
      break;
  }
  return out;
}

}  // namespace sendonce
