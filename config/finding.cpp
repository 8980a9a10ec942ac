#include "config/finding.hpp"

#include <algorithm>
#include <tuple>

namespace sendonce {
namespace {

auto place(const Position& p) {
  return std::tie(p.file, p.line, p.column);
}

bool before(const std::pair<std::string, Position>& entry, std::string_view field) {
  return entry.first < field;
}

}  // namespace

std::string_view name(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

std::string to_text(const Position& at) {
  std::string out = at.file;
  if (at.line != 0) out += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  return out;
}

std::string to_text(const Finding& finding) {
  std::string out = to_text(finding.at);
  out += ": ";
  out += name(finding.severity);
  out += ": ";
  if (!finding.field.empty()) out += finding.field + ": ";
  out += finding.text;
  if (!finding.remedy.empty()) out += "; " + finding.remedy;
  return out;
}

bool has_errors(const Findings& findings) {
  return std::ranges::any_of(findings,
                             [](const Finding& f) { return f.severity == Severity::error; });
}

// By hand: libstdc++ 12's stable_sort uses a function that C++17 deprecated, and clang says so.
void sort_by_place(Findings& findings) {
  std::vector<std::pair<std::size_t, Finding>> numbered;
  for (Finding& finding : findings) numbered.emplace_back(numbered.size(), std::move(finding));
  std::ranges::sort(numbered, [](const auto& a, const auto& b) {
    return std::tuple_cat(place(a.second.at), std::tie(a.first)) <
           std::tuple_cat(place(b.second.at), std::tie(b.first));
  });
  findings.clear();
  for (auto& [number, finding] : numbered) findings.push_back(std::move(finding));
}

Error to_error(const Findings& findings) {
  std::string text;
  bool denied = true;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::error) continue;
    denied = denied && finding.code == Errc::denied;
    if (!text.empty()) text += '\n';
    text += to_text(finding);
  }
  SO_ASSERT(!text.empty());
  return Error{denied ? Errc::denied : Errc::invalid, std::move(text)};
}

void KeyPositions::set(std::string field, Position at) {
  const auto found = std::lower_bound(places_.begin(), places_.end(), field, before);
  if (found != places_.end() && found->first == field)
    found->second = std::move(at);
  else
    places_.emplace(found, std::move(field), std::move(at));
}

bool KeyPositions::given(std::string_view field) const {
  const auto found = std::lower_bound(places_.begin(), places_.end(), field, before);
  return found != places_.end() && found->first == field;
}

Position KeyPositions::find(std::string_view field) const {
  while (!field.empty()) {
    const auto found = std::lower_bound(places_.begin(), places_.end(), field, before);
    if (found != places_.end() && found->first == field) return found->second;
    const std::size_t dot = field.rfind('.');
    field = dot == std::string_view::npos ? std::string_view{} : field.substr(0, dot);
  }
  const auto whole = std::lower_bound(places_.begin(), places_.end(), field, before);
  return whole != places_.end() && whole->first.empty() ? whole->second : Position{};
}

}  // namespace sendonce
