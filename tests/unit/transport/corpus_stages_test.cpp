// Every line of the corpus that is about the connection, staged on a socket: the real transport
// meets the real fault, and its verdict is the one that the line deserves. A new line needs a
// stage.
#include <array>
#include <fstream>

#include <arpa/inet.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "classifiers/answer.hpp"
#include "classifiers/http/http_answers.hpp"
#include "classifiers/registry.hpp"
#include "tests/unit/transport/rig.hpp"
#include "tests/unit/transport/wire_fakes.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

// What came of the one call that a stage makes.
struct Staged {
  CallResult result{CallFailure{}};
  int arrived = 0;  // times that a whole request was given to the peer's application
};

using Stage = std::function<void(Staged&)>;

void take(Staged& out, Driver& rig, std::uint64_t ticket = 1) {
  ASSERT_TRUE(rig.all_ended(ticket)) << "the call never ended";
  out.result = rig.ended.at(ticket);
}

// ---- HTTP/2: the fault is the request's path ------------------------------------------------

Stage over_h2(const std::string& path, FaultOptions faults = {}) {
  return [path, faults](Staged& out) {
    Rig rig(faults);
    ASSERT_TRUE(rig.connected());
    ASSERT_TRUE(rig.submit(path, 1, 300, path == "/silent" ? Duration(300ms) : Duration(5s)));
    take(out, rig);
    out.arrived = rig.server.seen(1).given_to_app ? 1 : 0;
    rig.hold_against_witness();
  };
}

// libcurl repeats by itself what was refused by protocol. Ours tells, and whoever asked repeats.
Stage refused_then_repeated(const std::string& path) {
  return [path](Staged& out) {
    Rig rig;
    ASSERT_TRUE(rig.connected());
    ASSERT_TRUE(rig.submit(path, 1));
    ASSERT_TRUE(rig.all_ended(1));
    rig.expect_failed(1, Effect::not_sent, Cause::refused);
    EXPECT_FALSE(rig.server.seen(1).given_to_app);
    ASSERT_TRUE(rig.until([&] { return rig.submit("/ok", 2); }));
    take(out, rig, 2);
    out.arrived = rig.server.seen(2).given_to_app ? 1 : 0;
    rig.hold_against_witness();
  };
}

void leave_idle(Rig& rig, const std::function<void(FaultServer&)>& what) {
  ASSERT_TRUE(rig.connected());
  what(rig.server);
  ASSERT_TRUE(rig.until([&] { return rig.state().room == 0; })) << "still believed to be there";
  EXPECT_TRUE(rig.ended.empty());
  ASSERT_TRUE(rig.until([&] { return rig.submit("/ok", 1); }));
}

// Whatever happens to a connection on which nothing is open harms no request: the next one goes
// over another. The line is about the session alone: where there is no other, nothing is in doubt.
Stage while_idle(const std::function<void(FaultServer&)>& what) {
  return [what](Staged& out) {
    Rig rig;
    leave_idle(rig, what);
    take(out, rig);
    rig.expect_answered(1, 200);
    EXPECT_EQ(rig.server.seen(1).times, 1);
    rig.hold_against_witness();

    Rig alone;
    leave_idle(alone, [&](FaultServer& server) {
      server.refuse_connections();
      what(server);
    });
    take(out, alone);
    out.arrived = alone.server.seen(1).times;
    alone.hold_against_witness();
  };
}

Stage refused_certificate() {
  return [](Staged& out) {
    Rig rig({.wants_client = true}, [](H2Options& o) {
      o.client_certificate = Pki::get().certificate("stranger");
      o.client_key = Pki::get().key("stranger");
    });
    ASSERT_TRUE(rig.submit("/ok", 1));
    take(out, rig);
    EXPECT_EQ(rig.server.totals().plaintext, 0U);
  };
}

// ---- no connection --------------------------------------------------------------------------

Stage unreachable(const std::function<std::string()>& endpoint) {
  return [endpoint](Staged& out) {
    Driver rig;
    rig.add({.endpoint = endpoint(), .ca_file = Pki::get().ca(), .connect_timeout = 400ms});
    ASSERT_TRUE(rig.submit("/ok", 1));
    take(out, rig);
  };
}

std::string nobody_listens() {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof a;
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&a), size), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size), 0);
  ::close(fd);
  return "https://127.0.0.1:" + std::to_string(ntohs(a.sin_port));
}

Stage dropped_syn() {
  return [](Staged& out) {
    BlackHole hole;
    unreachable([&] { return "https://127.0.0.1:" + std::to_string(hole.port()); })(out);
  };
}

// Speaks first, and no TLS.
class Babbler final : public TcpServer {
 public:
  Babbler() { start(); }
  ~Babbler() override { stop(); }

 private:
  void serve(int fd) override {
    constexpr std::string_view kWords = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(fd, kWords.data(), kWords.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kWords.size()));
    std::array<char, 4096> hello{};
    EXPECT_GE(::recv(fd, hello.data(), hello.size(), 0), 0);
  }
};

Stage no_tls() {
  return [](Staged& out) {
    Babbler plain;
    unreachable([&] { return "https://localhost:" + std::to_string(plain.port()); })(out);
  };
}

Stage proxy_asks() {
  return [](Staged& out) {
    Proxy proxy(Proxy::Mood::asks);
    Rig rig({}, [&](H2Options& o) { o.proxy = proxy.url(); });
    ASSERT_TRUE(rig.submit("/ok", 1));
    take(out, rig);
    EXPECT_EQ(rig.server.totals().accepted, 0);
  };
}

// ---- HTTP/1.1 -------------------------------------------------------------------------------

Stage over_h1(const std::string& reply, Duration timeout = 3s) {
  return [reply, timeout](Staged& out) {
    Http1Server server({reply});
    Driver rig;
    rig.add({.name = "h1", .ca_file = Pki::get().ca(), .streams = 4, .http1 = true});
    HttpRequest r;
    r.url = server.url("/send");
    r.by_url = true;
    r.body = "{}";
    ASSERT_TRUE(rig.transport->submit(Ticket(1), Driver::kProvider, std::move(r), timeout));
    take(out, rig);
    out.arrived = static_cast<int>(server.requests().size());
    EXPECT_EQ(out.arrived, 1) << "arrived twice";
  };
}

// ---- the lines ------------------------------------------------------------------------------

std::map<std::string, Stage> stages() {
  const Stage silent = over_h2("/silent");
  const Stage idle_goaway = while_idle([](FaultServer& s) { s.goaway(0, 0); });
  const Stage idle_fin = while_idle([](FaultServer& s) { s.close(); });
  return {
      {"apns-047", over_h2("/goaway-below")},
      {"apns-049", over_h2("/goaway-cover-close")},
      {"apns-051", silent},
      {"apns-053", refused_certificate()},
      {"apns-057", dropped_syn()},
      {"apns-058", over_h1("HANG", 300ms)},
      {"curl-001", unreachable([] { return std::string("https://push.invalid"); })},
      {"curl-002", unreachable(nobody_listens)},
      {"curl-003", dropped_syn()},
      {"curl-007", no_tls()},
      {"curl-009", refused_certificate()},
      {"curl-013", over_h1("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"abc\"")},
      {"curl-015", over_h1("HTTP/1.1 200 OK\r\nContent-Ty")},
      {"curl-017", over_h2("/internal")},
      {"curl-018", over_h2("/calm")},
      {"curl-020", over_h2("/no-error")},
      {"curl-021", refused_then_repeated("/refuse")},
      {"curl-025", over_h1("noise that is no HTTP, and more of it\n")},
      {"curl-028", over_h2("/internal")},
      {"curl-029", over_h2("/rst-before-end", {.window = 0})},
      {"curl-030", over_h2("/200-rst")},
      {"curl-032", over_h2("/goaway-below")},
      {"curl-034", proxy_asks()},
      {"curl-037", over_h2("/goaway-below")},
      {"curl-038", refused_then_repeated("/goaway-below")},
      {"curl-039", over_h2("/goaway-cover-close")},
      {"fcm-027", silent},
      {"fcm-036", over_h2("/goaway-cover-close")},
      {"fcm-038", idle_goaway},
      {"fcm-039", idle_fin},
      {"twilio-015", dropped_syn()},
      {"twilio-016", over_h1("HANG", 300ms)},
  };
}

// Where libcurl could not see what the frames say, and our transport does.
std::string deserved(const Json& line) {
  const bool frames_tell = line["id"] == "curl-037";
  return (frames_tell ? line["alt"]["class"] : line["expected_class"]).get<std::string>();
}

Verdict judged_as(const Json& line, const CallResult& result) {
  const WallTime now = make_system_clock()->wall();
  const std::string protocol = line["provider"];
  if (auto v = judge_answer(protocol, result, {.now = now})) return *v;
  HttpSpec gate{.receipt_pointer = "/id"};
  // A stream that was answered at the second attempt: the peer's 200 is its receipt here.
  if (protocol == "transport" && line["expected_class"] == "accepted") {
    gate = {};
    AnswerRule& taken = gate.answers.emplace_back();
    taken.status = {{200, 200}};
    taken.verdict = VerdictClass::accepted;
  }
  return judge_http(gate, result, now);
}

std::vector<Json> connection_lines() {
  std::vector<Json> out;
  for (const char* name : {"responses.jsonl", "profiles.jsonl"}) {
    std::ifstream file(std::string(SENDONCE_SOURCE_DIR "/tests/corpus/") + name);
    for (std::string text; std::getline(file, text);) {
      Json line = Json::parse(text);
      if (line["provider"] == "transport" || !line["transport"].is_null())
        out.push_back(std::move(line));
    }
  }
  return out;
}

TEST(CorpusStages, every_line_about_the_connection_is_staged_and_gets_its_class) {
  const auto all = stages();
  const auto lines = connection_lines();
  EXPECT_GE(lines.size(), 32U);
  for (const Json& line : lines) {
    const std::string id = line["id"];
    SCOPED_TRACE(id);
    const auto stage = all.find(id);
    if (stage == all.end()) {
      ADD_FAILURE() << "no stage for " << line.dump();
      continue;
    }
    Staged staged;
    stage->second(staged);
    const Verdict v = judged_as(line, staged.result);
    EXPECT_EQ(name(v.name), deserved(line)) << v.reason;
    const bool maybe = line["maybe_sent"].get<bool>() && line["id"] != "curl-037";
    const Effect wanted = line["expected_class"] == "accepted" ? Effect::sent
                          : maybe                              ? Effect::maybe_sent
                                                               : Effect::not_sent;
    EXPECT_EQ(name(v.effect), name(wanted)) << v.reason;
    if (v.effect == Effect::not_sent) {
      EXPECT_EQ(staged.arrived, 0) << "the peer's application has it";
    }
  }
}

// The other half of two lines: the same GOAWAY, below our stream.
TEST(CorpusStages, a_goaway_below_our_stream_is_free) {
  for (const char* id : {"apns-049", "fcm-036"}) {
    for (const Json& line : connection_lines()) {
      if (line["id"] != id) continue;
      Staged staged;
      over_h2("/goaway-below")(staged);
      EXPECT_EQ(name(judged_as(line, staged.result).name), line["alt"]["class"].get<std::string>())
          << id;
    }
  }
}

}  // namespace
}  // namespace sendonce::test
