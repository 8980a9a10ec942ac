// sendonce-matrix: prints the fault matrix of docs/guarantees.md, or checks that it is what it
// says.
#include <cstdio>
#include <exception>
#include <fstream>

#include <CLI/CLI.hpp>
#include <sysexits.h>

#include "plugin/cli/output.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/truth/matrix.hpp"
#include "tests/truth/program.hpp"

namespace sendonce::truth {
namespace {

constexpr std::string_view kBegin = "<!-- tests/truth/matrix -->\n";
constexpr std::string_view kEnd = "<!-- end -->\n";

constexpr const char* kFooter = R"(
Prints a table in Markdown: requests at the provider and accepted copies of one message (of all of
them, where they differ from least to most), and how the deliveries end.

Examples:
  tests/truth/matrix                             print it
  tests/truth/matrix --check docs/guarantees.md  is it what stands there?
  tests/truth/matrix --write docs/guarantees.md  put it there

Exit: 0; 70 something is lost, or there is a copy that no lost answer explains, or the document says
something else; 69 something that is needed does not start; 64 usage.)";

struct Arguments {
  std::string check{};
  std::string write{};
  std::string only{};
};

// The place between the markers; empty: there are none.
struct Marked {
  std::size_t from = 0;
  std::size_t to = 0;
};

std::optional<Marked> marked(const std::string& document) {
  const std::size_t begin = document.find(kBegin);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t from = begin + kBegin.size();
  const std::size_t to = document.find(kEnd, from);
  if (to == std::string::npos) return std::nullopt;
  return Marked{from, to};
}

int compare(const Arguments& arguments, const std::string& table) {
  const std::string& file = arguments.check.empty() ? arguments.write : arguments.check;
  if (file.empty()) return EX_OK;
  std::string document = test::read_file(file);
  const auto place = marked(document);
  if (!place) {
    std::fprintf(stderr, "sendonce-matrix: %s has no place for it (%.*s)\n", file.c_str(),
                 static_cast<int>(kBegin.size() - 1), kBegin.data());
    return EX_SOFTWARE;
  }
  if (document.substr(place->from, place->to - place->from) == table) return EX_OK;
  if (arguments.write.empty()) {
    std::fprintf(stderr, "sendonce-matrix: %s has another table: tests/truth/matrix --write %s\n",
                 file.c_str(), file.c_str());
    return EX_SOFTWARE;
  }
  document.replace(place->from, place->to - place->from, table);
  std::ofstream(file, std::ios::binary) << document;
  return EX_OK;
}

int play(const Arguments& arguments) {
  Matrix matrix;
  auto done = matrix.prepare();
  for (const Row& row : matrix_rows()) {
    if (!done) break;
    if (row.fault.find(arguments.only) == std::string::npos) continue;
    std::fprintf(stderr, "%s\n", row.fault.c_str());
    done = matrix.play(row);
  }
  auto rows = done ? matrix.judge() : std::unexpected(done.error());
  if (!rows) {
    std::fprintf(stderr, "sendonce-matrix: %s\nthe daemon's last words:\n%s\n",
                 rows.error().text.c_str(), matrix.daemons_last_words().c_str());
    return rows.error().code == Errc::unavailable ? EX_UNAVAILABLE : EX_SOFTWARE;
  }
  int code = EX_OK;
  for (const PlayedRow& p : *rows) {
    for (const Cell* cell : {&p.give_up, &p.resend}) {
      for (const std::string& broken : cell->broken) {
        std::fprintf(stderr, "broken: %s: %s\n", p.row.fault.c_str(), broken.c_str());
        code = EX_SOFTWARE;
      }
    }
  }
  const std::string table = markdown(*rows);
  std::fputs(table.c_str(), stdout);
  return code == EX_OK ? compare(arguments, table) : code;
}

int run(int argc, char** argv) {
  Arguments a;
  CLI::App app("The fault matrix: what each fault of a provider comes to under each policy.",
               "sendonce-matrix");
  app.footer(kFooter);
  auto* check = app.add_option("--check", a.check, "The document that has the same table");
  auto* write = app.add_option("--write", a.write, "The document to put the table in");
  auto* only = app.add_option("--only", a.only, "Rows whose fault has this in its name");
  write->excludes(check);
  only->excludes(check)->excludes(write);
  if (const auto ended = parse(app, argc, argv)) return *ended;
  return play(a);
}

}  // namespace
}  // namespace sendonce::truth

int main(int argc, char** argv) {
  return sendonce::truth::guarded(sendonce::truth::run, argc, argv);
}
