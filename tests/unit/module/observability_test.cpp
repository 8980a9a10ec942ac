// The names in docs/operations.md, in the alert rules and on the dashboard are those that are
// exported, and every name that is exported is documented.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/module/reports.hpp"

namespace sendonce::test {
namespace {

using Names = std::set<std::string>;

std::string read(const std::string& path) {
  std::ifstream file(SENDONCE_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Names names_in(const std::string& text) {
  static const std::regex kName("\\bsendonce_[a-z0-9_]+");
  Names out;
  for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at)
    out.insert(at->str());
  return out;
}

// Family names, and of a histogram those of its parts.
struct Exported {
  Names families{};
  Names series{};
};

Exported exported() {
  Exported out;
  std::istringstream lines(render(reported_config(), full_report()));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark;
    std::string what;
    std::string name;
    if (!line.starts_with("# TYPE ")) {
      if (!line.starts_with('#'))
        out.series.merge(names_in(line.substr(0, line.find_first_of("{ "))));
      continue;
    }
    words >> mark >> what >> name;
    out.families.insert(name);
  }
  return out;
}

void expect_all_exported(const std::string& where, const Names& names) {
  const Names series = exported().series;
  for (const std::string& name : names) EXPECT_TRUE(series.contains(name)) << where << ": " << name;
}

TEST(Observability, TheDocumentNamesEachMetricAndNoOther) {
  const std::string text = read("docs/operations.md");
  const std::size_t begin = text.find("\n## Metrics\n");
  ASSERT_NE(begin, std::string::npos);
  Names documented;
  std::istringstream lines(text.substr(begin, text.find("\n## ", begin + 1) - begin));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `")) documented.merge(names_in(line.substr(0, line.find(" | ", 2))));
  EXPECT_EQ(documented, exported().families);
}

TEST(Observability, AlertRulesUseWhatIsExported) {
  const std::string rules = read("packaging/observability/sendonce.rules.yml");
  const Names names = names_in(rules);
  EXPECT_GT(names.size(), 8U);
  expect_all_exported("rules", names);
}

TEST(Observability, TheDashboardUsesWhatIsExported) {
  const auto dashboard =
      nlohmann::json::parse(read("packaging/observability/sendonce-dashboard.json"));
  Names names;
  std::set<int> ids;
  std::size_t queries = 0;
  for (const auto& panel : dashboard["panels"]) {
    EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second);
    for (const auto& target : panel.value("targets", nlohmann::json::array())) {
      const Names used = names_in(target["expr"].get<std::string>());
      EXPECT_FALSE(used.empty()) << panel["title"];
      names.insert(used.begin(), used.end());
      ++queries;
    }
  }
  for (const auto& variable : dashboard["templating"]["list"])
    names.merge(names_in(variable.value("query", std::string())));
  EXPECT_GT(queries, 15U);
  expect_all_exported("dashboard", names);
}

// Labels of the rules and of the dashboard, too: one that does not exist matches nothing, silently.
TEST(Observability, LabelsAreThoseThatAreExported) {
  const std::string exported_text = render(reported_config(), full_report());
  static const std::regex kLabel("([a-z_]+)=~?\\\\?\"");
  const auto labels = [](const std::string& text) {
    Names out;
    for (std::sregex_iterator at(text.begin(), text.end(), kLabel), end; at != end; ++at)
      out.insert((*at)[1].str());
    return out;
  };
  Names known = labels(exported_text);
  known.merge(Names{"instance", "job"});
  for (const char* file : {"packaging/observability/sendonce.rules.yml",
                           "packaging/observability/sendonce-dashboard.json"})
    for (const std::string& label : labels(read(file)))
      EXPECT_TRUE(known.contains(label)) << file << ": " << label;
}

TEST(Observability, EachAlertHasItsLineInTheDocument) {
  const auto all = [](const std::string& text, const char* pattern) {
    const std::regex name(pattern);
    Names out;
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
      out.insert((*at)[1].str());
    return out;
  };
  const Names alerts = all(read("packaging/observability/sendonce.rules.yml"), "- alert: (\\w+)");
  EXPECT_GT(alerts.size(), 10U);
  EXPECT_EQ(all(read("docs/operations.md"), "\\| `(Sendonce[A-Z]\\w+)` \\|"), alerts);
}

// Of the Debian package prometheus (trixie: promtool).
TEST(Observability, PromtoolAgrees) {
  const TempDir dir;
  const auto run = [&](const std::string& command) {
    auto process = Process::start(
        {.program = "sh", .args = {"-c", command}, .output = (dir / "said").string()});
    const auto exit = process ? process->wait(std::chrono::seconds(60)) : std::nullopt;
    return exit && exit->signal == 0 ? exit->code : -1;
  };
  if (run("command -v promtool") != 0) GTEST_SKIP() << "no promtool";
  const std::string metrics = (dir / "metrics").string();
  std::ofstream(metrics) << render(reported_config(), full_report());
  EXPECT_EQ(run("promtool check metrics <" + metrics), 0) << read_file(dir / "said");
  EXPECT_EQ(run("promtool check rules " SENDONCE_SOURCE_DIR
                "/packaging/observability/sendonce.rules.yml"),
            0)
      << read_file(dir / "said");
}

}  // namespace
}  // namespace sendonce::test
