// inspect and list: from the running daemon, or offline from the ledger itself.
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sysexits.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/admin_verbs.hpp"

namespace sendonce::cli {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(10);

using Json = nlohmann::ordered_json;

AdminRequest request_of(std::string_view verb, const RowsOptions& o) {
  AdminRequest r{.verb = std::string(verb), .arguments = {{"limit", o.limit}}};
  if (!o.what.empty()) {
    const bool is_key = o.what.size() == 2 * Key::kSize && unhex(o.what).has_value();
    r.arguments.emplace_back(is_key ? "key" : "event", o.what);
  }
  if (!o.recipient.empty()) r.arguments.emplace_back("recipient", o.recipient);
  if (!o.state.empty()) r.arguments.emplace_back("state", o.state);
  if (!o.scope.empty()) r.arguments.emplace_back("scope", o.scope);
  return r;
}

std::string text_of(const Json& j, const char* member) {
  const auto it = j.find(member);
  if (it == j.end() || it->is_null()) return "-";
  const std::string text = it->is_string() ? it->get<std::string>() : it->dump();
  return text.empty() ? "-" : text;
}

void print_story(const Json& row) {
  std::printf(
      "key       %s\nclass     %s\nprovider  %s   ref %s\nstate     %s   effect %s   fault %s\n",
      text_of(row, "key").c_str(), text_of(row, "class").c_str(), text_of(row, "provider").c_str(),
      text_of(row, "ref").c_str(), text_of(row, "state").c_str(), text_of(row, "effect").c_str(),
      text_of(row, "fault").c_str());
  std::printf("reason    %s\n%s  message stored\n", text_of(row, "reason").c_str(),
              text_of(row, "created").c_str());
  for (const Json& r : row.value("receipts", Json::array()))
    std::printf("%s  attempt: %s (%s) %s\n", text_of(r, "at").c_str(),
                text_of(r, "verdict").c_str(), text_of(r, "effect").c_str(),
                text_of(r, "message_id").c_str());
  if (text_of(row, "ended") != "-")
    std::printf("%s  %s\n", text_of(row, "ended").c_str(), text_of(row, "state").c_str());
  std::printf("\n");
}

class Printer {
 public:
  Printer(bool json, bool story) : json_(json), story_(story) {}
  void row(std::string_view text) {
    ++rows_;
    if (json_) {
      std::printf("%.*s\n", static_cast<int>(text.size()), text.data());
      return;
    }
    const Json j = Json::parse(text, nullptr, false);
    if (story_) return print_story(j);
    table_.add({text_of(j, "key").substr(0, 16), text_of(j, "class"), text_of(j, "provider"),
                text_of(j, "state"), text_of(j, "attempts"), text_of(j, "ended"),
                text_of(j, "reason")});
  }
  // What the daemon has in hand of the event, from the end of its answer.
  void held(std::string_view result) {
    const Json j = Json::parse(result, nullptr, false);
    if (j.is_object() && j.contains("ended_early")) note(text_of(j, "ended_early"));
    asked_daemon_ = j.is_object() && j.contains("held");
    for (const Json& d : j.is_object() ? j.value("held", Json::array()) : Json::array()) {
      ++held_;
      if (json_) {
        std::printf("%s\n", Json{{"held", d}}.dump().c_str());
        continue;
      }
      std::printf("held by the daemon%s: class %s, message %s of stream %s, target %s\n",
                  rows_ == 0 ? ", no row yet" : "", text_of(d, "class").c_str(),
                  text_of(d, "sequence").c_str(), text_of(d, "stream").c_str(),
                  text_of(d, "target").c_str());
      std::printf("  it %s (%s)", text_of(d, "doing").c_str(), text_of(d, "provider").c_str());
      if (text_of(d, "reason") != "-") std::printf(": %s", text_of(d, "reason").c_str());
      std::printf("\n");
    }
  }
  int finish(std::int64_t limit) const {
    if (static_cast<std::int64_t>(rows_) == limit)
      std::fprintf(stderr, "sendonce: the first %zu rows, there may be more: raise --limit\n",
                   rows_);
    if (!json_ && !story_) std::printf("%s", table_.text().c_str());
    if (rows_ + held_ > 0) return EX_OK;
    note(asked_daemon_ ? "no such row, and the daemon does not hold the event now: it was never "
                         "published, or waits on its stream (not pulled yet, or handed back while "
                         "a provider is away, see sendonce status)"
                       : "no such row");
    return 1;
  }

 private:
  bool json_;
  bool story_;
  std::size_t rows_ = 0;
  std::size_t held_ = 0;
  bool asked_daemon_ = false;  // for an event
  Table table_{{"key", "class", "provider", "state", "attempts", "ended", "reason"}};
};

Result<void> ask_daemon(const Config& config, const AdminRequest& request, Printer& printer) {
  SO_TRY(AdminClient client, AdminClient::connect(config.instance.socket, kTimeout));
  SO_TRY(const std::string result,
         client.call(request, [&](std::string_view json) { printer.row(json); }));
  printer.held(result);
  return {};
}

Result<void> ask_file(const Config& config, const AdminRequest& request, std::int64_t limit,
                      Printer& printer) {
  SO_TRY(const auto reader, LedgerReader::open(ledger_directory(config.instance)));
  SO_TRY(const RowFilter filter, filter_from(request, reader->secret()));
  return reader->scan(filter, [&](std::string_view scope, const Row& row) {
    printer.row(row_json(scope, row));
    return --limit > 0;
  });
}

// Without a daemon there is the ledger itself.
Error with_remedy(Error error, bool offline) {
  if (!offline && error.code == Errc::unavailable) error.text += " Without it: add --offline";
  return error;
}

int rows(std::string_view verb, const Common& common, const RowsOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  Printer printer(common.json, verb == "inspect");
  const AdminRequest request = request_of(verb, options);
  const auto done = options.offline ? ask_file(*config, request, options.limit, printer)
                                    : ask_daemon(*config, request, printer);
  if (!done) return failed(with_remedy(done.error(), options.offline));
  return printer.finish(options.limit);
}

}  // namespace

int inspect(const Common& common, const RowsOptions& options) {
  return rows("inspect", common, options);
}

int list(const Common& common, const RowsOptions& options) {
  return rows("list", common, options);
}

}  // namespace sendonce::cli
