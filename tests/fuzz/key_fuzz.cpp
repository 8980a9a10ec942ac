// Any text as a key recipe: a recipe or a reason with a remedy, whatever the order of its fields.
// Any values of those fields: what tells two notifications apart tells their digests apart, and
// what is no part of the recipe does not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/assert.hpp"
#include "plugin/message/key.hpp"
#include "plugin/message/key_recipe.hpp"
#include "tests/fuzz/program.hpp"

namespace sendonce {
namespace {

std::string text(test::Program& program) {
  const auto run = program.run();
  return {reinterpret_cast<const char*>(run.data()), run.size()};
}

std::vector<std::string> fields(test::Program& program) {
  std::vector<std::string> names;
  for (std::size_t n = program.byte() % 8U; n > 0; --n) {
    const std::uint8_t known = program.byte();
    names.emplace_back(known < kKeyFields ? std::string(name(static_cast<KeyField>(known)))
                                          : text(program));
  }
  return names;
}

void check_refusal(const std::vector<std::string>& names, const Error& error) {
  SO_ASSERT(error.code == Errc::invalid && !error.text.empty());
  for (const std::string& field : names) {
    if (key_field_from(field)) continue;
    const FieldFault fault = field_fault(field);
    SO_ASSERT(!fault.text.empty() && !fault.remedy.empty());
  }
}

void check_digests(KeyMaker& keys, const KeyRecipe& recipe, test::Program& program) {
  Notification a;
  a.event_id = text(program);
  a.recipient = text(program);
  a.template_id = text(program);
  a.campaign_id = text(program);
  if (program.byte() % 4U == 0) a.idempotency_key = text(program);
  const auto digest = keys.nid_digest(recipe, a);
  SO_ASSERT(digest || digest.error().code == Errc::invalid);
  if (!digest) return;
  SO_ASSERT(collapse_from(*digest).size() == 32);
  Notification outside = a;
  outside.content.title = "another";
  outside.collapse = "another";
  SO_ASSERT(keys.nid_digest(recipe, outside).value() == *digest);
  // A byte that moves from one field to its neighbour makes another notification.
  if (!recipe.has(KeyField::event_id) || !recipe.has(KeyField::recipient)) return;
  if (!a.idempotency_key.empty() || a.event_id.size() < 2) return;
  Notification moved = a;
  moved.recipient.insert(0, 1, moved.event_id.back());
  moved.event_id.pop_back();
  SO_ASSERT(keys.nid_digest(recipe, moved).value() != *digest);
}

void run(test::Program& program) {
  static KeyMaker keys{Credential("0123456789abcdef")};
  const std::string scope = text(program);
  std::vector<std::string> names = fields(program);
  const auto recipe = make_recipe(scope, names);
  if (!recipe) return check_refusal(names, recipe.error());
  std::ranges::reverse(names);
  SO_ASSERT(make_recipe(scope, names).value() == *recipe);
  SO_ASSERT(recipe_text(*recipe).starts_with("1:"));
  check_digests(keys, *recipe, program);
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sendonce::test::Program program(data, size);
  sendonce::run(program);
  return 0;
}
