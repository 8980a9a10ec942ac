#include "plugin/cli/bench/ratio.hpp"

#include <array>
#include <cstdio>

namespace sendonce::cli {

bool more_is_better(const Ratio& ratio) {
  return ratio.goal > ratio.floor;
}

std::string_view grade(const Ratio& ratio) {
  const double sign = more_is_better(ratio) ? 1 : -1;
  if (ratio.value * sign >= ratio.goal * sign) return "goal";
  return ratio.value * sign >= ratio.floor * sign ? "floor" : "missed";
}

std::string ratio_lines(const std::vector<Ratio>& ratios) {
  std::string out;
  std::array<char, 256> line{};
  for (const Ratio& r : ratios) {
    const char* const limit = more_is_better(r) ? ">=" : "<=";
    std::snprintf(line.data(), line.size(), "%-4s %-58s %8.3f  (goal %s %.2f, floor %.2f) %s\n",
                  r.id.c_str(), r.what.c_str(), r.value, limit, r.goal, r.floor,
                  std::string(grade(r)).c_str());
    out += line.data();
  }
  return out;
}

std::string ratio_json(const std::vector<Ratio>& ratios) {
  std::string out;
  std::array<char, 320> object{};
  for (const Ratio& r : ratios) {
    std::snprintf(object.data(), object.size(),
                  R"(%s{"id":"%s","what":"%s","value":%.4f,"goal":%.4f,"floor":%.4f,"grade":"%s"})",
                  out.empty() ? "" : ",", r.id.c_str(), r.what.c_str(), r.value, r.goal, r.floor,
                  std::string(grade(r)).c_str());
    out += object.data();
  }
  return "[" + out + "]";
}

}  // namespace sendonce::cli
