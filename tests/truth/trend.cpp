#include "tests/truth/trend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sendonce::truth {
namespace {

constexpr double kWidth = 720;
constexpr double kPanel = 90;
constexpr double kLeft = 150;
constexpr double kMargin = 14;

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string label(double x, double y, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\">" + text + "</text>\n";
}

std::string panel(const std::vector<double>& times, const Series& series, double top) {
  const auto [least, most] = std::ranges::minmax(series.values);
  const double span = std::max(most - least, most == 0 ? 1.0 : std::abs(most) * 0.02);
  const double middle = (most + least) / 2;
  const double time_span = std::max(times.back() - times.front(), 1e-9);
  std::string points;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const double x = kLeft + (times[i] - times.front()) / time_span * (kWidth - kLeft - kMargin);
    const double y = top + kPanel / 2 - (series.values[i] - middle) / span * (kPanel - 2 * kMargin);
    points += number(x) + ',' + number(y) + ' ';
  }
  return label(kMargin, top + kPanel / 2, series.name + " (" + series.unit + ")") +
         label(kLeft - 46, top + kMargin, number(middle + span / 2)) +
         label(kLeft - 46, top + kPanel - kMargin, number(middle - span / 2)) +
         "<polyline points=\"" + points + "\"/>\n";
}

}  // namespace

Trend trend(const Series& series, const std::vector<double>& times, std::size_t skip) {
  Trend out;
  const std::size_t size = std::min(series.values.size(), times.size());
  if (size < skip + 2) return out;
  const auto n = static_cast<double>(size - skip);
  double time = 0;
  for (std::size_t i = skip; i < size; ++i) {
    time += times[i] / n;
    out.mean += series.values[i] / n;
  }
  double both = 0;
  double square = 0;
  for (std::size_t i = skip; i < size; ++i) {
    both += (times[i] - time) * (series.values[i] - out.mean);
    square += (times[i] - time) * (times[i] - time);
  }
  out.slope = square > 0 ? both / square : 0;
  out.growth = out.slope * (times[size - 1] - times[skip]);
  out.allowed = series.allowed + series.allowed_share * out.mean;
  out.grows = out.growth > out.allowed;
  return out;
}

std::string csv(const std::vector<double>& times, const std::vector<Series>& all) {
  std::string out = "seconds";
  for (const Series& s : all) out += "," + s.name + " (" + s.unit + ")";
  out += '\n';
  for (std::size_t i = 0; i < times.size(); ++i) {
    out += number(times[i]);
    for (const Series& s : all) out += "," + number(s.values[i]);
    out += '\n';
  }
  return out;
}

std::string svg(const std::vector<double>& times, const std::vector<Series>& all) {
  const double height = kPanel * static_cast<double>(all.size()) + 2 * kMargin;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(kWidth) +
                    " " + number(height) +
                    "\" font-family=\"sans-serif\" font-size=\"10\">\n"
                    "<style>polyline{fill:none;stroke:#246;stroke-width:1.2}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  double top = 0;
  for (const Series& s : all) {
    out += panel(times, s, top);
    top += kPanel;
  }
  out += label(kLeft, top + kMargin, "0 s");
  out += label(kWidth - 60, top + kMargin, number(times.back()) + " s");
  return out + "</svg>\n";
}

}  // namespace sendonce::truth
