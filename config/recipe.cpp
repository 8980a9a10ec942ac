#include "config/recipe.hpp"

#include <algorithm>

namespace sendonce {
namespace {

bool lacks(const std::vector<std::string>& fields, KeyField field) {
  return std::ranges::find(fields, name(field)) == fields.end();
}

// What an event-based recipe would better hold. Campaigns go by campaign and destination.
void judge_reach(const std::vector<std::string>& fields, std::vector<RecipeFault>& out) {
  const bool campaign = !lacks(fields, KeyField::campaign_id);
  if (lacks(fields, KeyField::event_id) && !campaign)
    out.push_back({Severity::error, "names neither event_id nor campaign_id",
                   "add one of them: without it two events of one recipient are taken for one"});
  if (campaign) return;
  for (const KeyField field : {KeyField::recipient, KeyField::channel})
    if (lacks(fields, field))
      out.push_back({Severity::warning, "lacks " + std::string(name(field)),
                     "add it, or be sure that each event has only one"});
}

}  // namespace

std::vector<RecipeFault> judge_recipe(const std::vector<std::string>& fields) {
  std::vector<RecipeFault> out;
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    if (!key_field_from(*field)) {
      FieldFault fault = field_fault(*field);
      out.push_back({Severity::error, std::move(fault.text), std::move(fault.remedy)});
    } else if (std::find(fields.begin(), field, *field) != field) {
      out.push_back({Severity::error, "names " + *field + " twice", "keep one of the two"});
    }
  }
  if (out.empty()) judge_reach(fields, out);
  return out;
}

}  // namespace sendonce
