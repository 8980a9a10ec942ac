// sendonce-provider-check: whether a provider module is fit to be used.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "plugin/cli/provider_check/suite.hpp"
#include "plugin/cli/usage.hpp"
#include "plugin/module/loader/provider_file.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDescription =
    "Loads a provider module as sendonced does and asks it about deliveries, answers of every "
    "status\nwith bodies that say nothing, and calls that failed. Whatever the daemon would have "
    "to correct is\na finding. Sends nothing.";

constexpr const char* kFooter = R"(
example: a module that wants a token; any text will do, nothing is sent
  $ sendonce-provider-check ./gate.so --settings token=x
  check                     cases  result
  load                          1  ok
  ...

Exit status: 0 no finding, or 64 (usage), 65 (findings, or the module ended the process), 66 (no
such file), 78 (it cannot be loaded: see the text).)";

constexpr unsigned kSecondsMax = 120;
constexpr std::size_t kStepMax = 64;

struct Arguments {
  std::string file{};
  std::vector<std::string> settings{};
  bool json = false;
};

// In memory that outlives the process that asks the module.
class Step {
 public:
  Step()
      : text_(static_cast<char*>(
            ::mmap(nullptr, kStepMax, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (text_ == MAP_FAILED) text_ = nullptr;
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    if (text_ != nullptr) ::munmap(text_, kStepMax);
  }
  void set(std::string_view step) {
    if (text_ == nullptr) return;
    text_[step.copy(text_, kStepMax - 1)] = '\0';
  }
  [[nodiscard]] std::string get() const { return text_ == nullptr ? "" : text_; }

 private:
  char* text_;
};

void print_table(const std::vector<CheckLine>& lines) {
  std::printf("%-34s %9s  %s\n", "check", "cases", "result");
  for (const CheckLine& line : lines)
    std::printf("%-34s %9llu  %s\n", line.check.c_str(),
                static_cast<unsigned long long>(line.cases),
                line.finding.empty() ? "ok" : line.finding.c_str());
}

void print_json(const Arguments& arguments, const ModuleTable& table,
                const std::vector<CheckLine>& lines, bool passed) {
  Json out{{"file", arguments.file},
           {"module", table.name},
           {"version", table.version},
           {"passed", passed},
           {"checks", Json::array()}};
  for (const CheckLine& line : lines)
    out["checks"].push_back({{"check", line.check},
                             {"cases", line.cases},
                             {"passed", line.finding.empty()},
                             {"finding", line.finding}});
  std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

int complain(const std::string& text, int code) {
  std::fprintf(stderr, "sendonce-provider-check: %s\n", text.c_str());
  return code;
}

// In a process of its own: a module may end it.
int ask(const Arguments& arguments, const std::vector<ModuleSetting>& settings, Step& step) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(arguments.file, error).string();
  if (!std::filesystem::exists(path, error))
    return complain(arguments.file + " does not exist: name the .so file", EX_NOINPUT);
  step.set("load");
  const Result<ModuleTable> table = load_provider_file(path);
  if (!table) return complain(table.error().text, EX_CONFIG);
  std::vector<CheckLine> lines{{.check = "load", .cases = 1}};
  for (CheckLine& line :
       check_module({.table = *table, .settings = settings, .begins = [&step](std::string_view s) {
                       step.set(s);
                     }}))
    lines.push_back(std::move(line));
  bool passed = true;
  for (const CheckLine& line : lines) passed = passed && line.finding.empty();
  if (arguments.json) {
    print_json(arguments, *table, lines, passed);
  } else {
    print_table(lines);
    std::printf("%s %s: %s\n", table->name.c_str(), table->version.c_str(),
                passed ? "no finding" : "not fit to be used");
  }
  return passed ? EX_OK : EX_DATAERR;
}

int ended_by(int signal, const Arguments& arguments, const Step& step) {
  const std::string what = signal == SIGALRM
                               ? "did not come back within 2 minutes"
                               : "ended the process with signal " + std::to_string(signal);
  const std::string text = "the module " + what + ", during: " + step.get();
  if (arguments.json)
    std::printf(
        "%s\n",
        Json{{"file", arguments.file},
             {"passed", false},
             {"checks",
              {{{"check", step.get()}, {"cases", 1}, {"passed", false}, {"finding", text}}}}}
            .dump()
            .c_str());
  return complain(text, EX_DATAERR);
}

int run_checks(const Arguments& arguments, const std::vector<ModuleSetting>& settings) {
  Step step;
  const pid_t child = ::fork();
  if (child < 0) return complain("cannot start a process", EX_OSERR);
  if (child == 0) {
    ::alarm(kSecondsMax);
    const int code = ask(arguments, settings, step);
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return complain("lost its process", EX_OSERR);
  return WIFSIGNALED(status) ? ended_by(WTERMSIG(status), arguments, step) : WEXITSTATUS(status);
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(kDescription, "sendonce-provider-check");
  app.footer(kFooter);
  app.set_version_flag("--version", "sendonce-provider-check " SENDONCE_VERSION);
  app.add_option("FILE", arguments.file, "The module, a .so file")->required();
  app.add_option("--settings", arguments.settings, "name=text, as in [provider.NAME.settings]");
  app.add_flag("--json", arguments.json, "One JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return usage_failed(app, e);
  }
  std::vector<ModuleSetting> settings;
  for (const std::string& pair : arguments.settings) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return complain("--settings wants name=text\nsee sendonce-provider-check --help", EX_USAGE);
    // Treated as secret: a text that tells one is a finding.
    settings.push_back({pair.substr(0, equals), Credential(pair.substr(equals + 1)), true});
  }
  return run_checks(arguments, settings);
}

}  // namespace
}  // namespace sendonce::cli

int main(int argc, char** argv) {
  try {
    return sendonce::cli::run(argc, argv);
  } catch (const std::exception& e) {  // out of memory, or a mistake in run
    std::fputs(e.what(), stderr);
    return EX_SOFTWARE;
  }
}
