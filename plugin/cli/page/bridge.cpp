#include "plugin/cli/page/bridge.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "plugin/cli/page/assets.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce::cli {
namespace {

constexpr std::int64_t kLettersMax = 100;
constexpr std::array<std::string_view, 2> kLettersArguments{"from", "limit"};
constexpr std::array<std::string_view, 3> kReplayArguments{"sequence", "force", "reason"};

// A page for people who are not let in; without style and script, which they may not have either.
HttpReply closed(int status, std::string_view title, std::string_view text) {
  HttpReply reply{.status = status, .type = "text/html; charset=utf-8"};
  reply.body.append("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>sendonce: ");
  reply.body.append(title).append("</title>\n<h1>").append(title).append("</h1>\n<p>");
  reply.body.append(text).append("</p></html>\n");
  return reply;
}

HttpReply elsewhere(std::string place) {
  return {.status = 303, .type = "text/plain", .fields = {{"Location", std::move(place)}}};
}

// What a browser may do with any answer of ours.
HttpReply guarded(HttpReply reply) {
  reply.fields.emplace_back(
      "Content-Security-Policy",
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  reply.fields.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  reply.fields.emplace_back("Referrer-Policy", "no-referrer");
  return reply;
}

HttpReply refused(const Error& error) {
  const bool wrong = error.code == Errc::invalid;
  return problem(wrong ? 400 : 502, wrong ? "invalid" : "unavailable", error.text);
}

HttpReply answered(const Result<std::string>& json) {
  return json ? HttpReply{.body = *json + "\n"} : refused(json.error());
}

HttpReply wrong_method(std::string_view allowed) {
  HttpReply reply = problem(405, "invalid", "this path wants another method");
  reply.allow = allowed;
  return reply;
}

bool reads(const HttpQuestion& question) {
  return question.method == "GET" || question.method == "HEAD";
}

// The arguments of a route of our own, read as the daemon reads its own.
Result<AdminRequest> request_of(std::string_view verb, const HttpQuestion& question,
                                std::span<const std::string_view> known) {
  AdminRequest request{.verb = std::string(verb)};
  for (const auto& [name, value] : question.query) request.arguments.emplace_back(name, value);
  SO_CHECK(request.only(known));
  return request;
}

Result<LettersWanted> letters_wanted(const HttpQuestion& question) {
  SO_TRY(const AdminRequest request, request_of("letters", question, kLettersArguments));
  SO_TRY(const std::int64_t from, request.number_or("from", 1));
  SO_TRY(const std::int64_t limit, request.number_or("limit", 0));
  if (from < 1) return fail(Errc::invalid, "letters: argument 'from' begins at 1");
  return LettersWanted{.from = static_cast<std::uint64_t>(from),
                       .limit = std::clamp<std::int64_t>(limit, 0, kLettersMax)};
}

Result<ReplayWanted> replay_wanted(const HttpQuestion& question) {
  SO_TRY(const AdminRequest request, request_of("replay", question, kReplayArguments));
  SO_TRY(const std::int64_t sequence, request.number_or("sequence", 0));
  SO_TRY(const bool force, request.flag_or("force", false));
  SO_TRY(std::string reason, request.text_or("reason", ""));
  if (sequence < 1) return fail(Errc::invalid, "replay: argument 'sequence' names no letter");
  if (force && reason.empty()) return fail(Errc::invalid, "reason: a decision like this needs one");
  return ReplayWanted{.sequence = static_cast<std::uint64_t>(sequence),
                      .force = force,
                      .reason = std::move(reason)};
}

const Asset* asset_at(std::string_view path) {
  const auto assets = page_assets();
  const auto asset = std::ranges::find(assets, path, &Asset::path);
  return asset == assets.end() ? nullptr : &*asset;
}

HttpReply served(const Asset& asset, const HttpQuestion& question) {
  if (!reads(question)) return wrong_method("GET, HEAD");
  return {.type = std::string(asset.type), .body = std::string(asset.bytes)};
}

}  // namespace

HttpReply relay(const std::string& socket, Duration timeout, const HttpQuestion& question) {
  auto client = AdminClient::connect(socket, timeout);
  if (!client) {
    const bool denied = client.error().code == Errc::denied;
    return problem(502, denied ? "denied" : "unavailable", client.error().text);
  }
  Result<HttpReply> reply = client->ask(question);
  if (reply) return *std::move(reply);
  const bool late = reply.error().code == Errc::unavailable;
  return problem(late ? 504 : 502, "unavailable", reply.error().text);
}

HttpReply Bridge::answer(const HttpQuestion& question) {
  switch (gate_.admit(question, clock_.mono())) {
    case Admission::welcome:
      return guarded(admitted(question));
    case Admission::enter:
      return guarded(elsewhere("/"));
    case Admission::assets_only:
      if (const Asset* asset = asset_at(question.path)) return guarded(served(*asset, question));
      return guarded(problem(403, "denied",
                             "only the page itself may ask for that; if this is it, this browser "
                             "has lost its proof: run sendonce page again"));
    case Admission::exchange: {
      HttpReply reply = guarded(elsewhere(gate_.entrance()));
      reply.fields.emplace_back("Set-Cookie", gate_.cookie());
      return reply;
    }
    case Admission::wrong_host:
      return guarded(problem(421, "denied", "this is not the host that it was asked for"));
    case Admission::wrong_token:
      return guarded(closed(403, "This address has ended",
                            "It works once, and for ten minutes. Run <code>sendonce page</code> "
                            "again for a new one."));
    case Admission::no_session:
      if (question.path == "/")
        return guarded(closed(401, "Not opened yet",
                              "Open the address that <code>sendonce page</code> has printed. If "
                              "you just have, load this page again."));
      return guarded(problem(401, "denied", "there is no session: run sendonce page again"));
    case Admission::foreign:
      return guarded(problem(403, "denied", "only the page itself may ask for that"));
  }
  return guarded(problem(500, "internal", "this is a bug of ours"));
}

HttpReply Bridge::admitted(const HttpQuestion& question) const {
  if (const Asset* asset = asset_at(question.path)) return served(*asset, question);
  if (question.path == "/letters") return letters(question);
  if (question.path == "/letters/replay") return replay(question);
  if (std::ranges::find(kPublicPaths, question.path) != kPublicPaths.end())
    return reads(question) ? pass_on(question, false) : wrong_method("GET, HEAD");
  const auto routes = admin_routes();
  const auto route = std::ranges::find(routes, question.path, &AdminRoute::path);
  if (route == routes.end()) return problem(404, "invalid", "no such path");
  if (question.method != route->method) return wrong_method(route->method);
  return pass_on(question, std::ranges::find(route->arguments, "by") != route->arguments.end());
}

// Who decides is said here, whatever the browser says.
HttpReply Bridge::pass_on(HttpQuestion question, bool signs) const {
  question.fields.clear();
  if (question.method == "HEAD") question.method = "GET";
  if (signs) {
    std::erase_if(question.query, [](const auto& argument) { return argument.first == "by"; });
    question.query.emplace_back("by", user_);
  }
  return ports_.daemon(question);
}

HttpReply Bridge::letters(const HttpQuestion& question) const {
  if (!reads(question)) return wrong_method("GET, HEAD");
  const auto wanted = letters_wanted(question);
  return wanted ? answered(ports_.letters(*wanted)) : refused(wanted.error());
}

HttpReply Bridge::replay(const HttpQuestion& question) const {
  if (question.method != "POST") return wrong_method("POST");
  const auto wanted = replay_wanted(question);
  return wanted ? answered(ports_.replay(*wanted)) : refused(wanted.error());
}

}  // namespace sendonce::cli
