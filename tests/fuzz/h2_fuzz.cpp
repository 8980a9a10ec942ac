// One HTTP/2 connection whose peer may say anything at any moment. The input is a program: requests
// are handed over, bytes leave and arrive, calls are given up, the connection is lost. Every call
// that was started ends once, an answer is one that the peer has given, and `not_sent` is claimed
// only for what was never offered, or refused, or cut short (design: three ways an attempt ends).
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <variant>

#include "plugin/core/assert.hpp"
#include "plugin/transport/h2/session.hpp"
#include "tests/fuzz/h2_wire.hpp"
#include "tests/fuzz/program.hpp"

namespace sendonce::test {
namespace {

constexpr std::size_t kPreface = 24;
constexpr std::size_t kCallsMax = 48;
constexpr std::size_t kTurnsMax = 64;
constexpr AnswerLimits kLimits{.header_bytes = 120, .header_count = 6, .body_bytes = 100};

class HandClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return wall_; }
  [[nodiscard]] MonoTime mono() const override { return mono_; }
  void advance() {
    wall_ += std::chrono::seconds(1);
    mono_ += std::chrono::seconds(1);
  }

 private:
  WallTime wall_{std::chrono::hours(1)};
  MonoTime mono_{std::chrono::hours(1)};
};

class Connection final : private H2Session::Owner {
 public:
  explicit Connection(std::uint8_t shape)
      : bytewise_((shape & 4U) != 0),
        acts_on_whole_((shape & 1U) != 0),
        session_({.authority = "peer:443",
                  .streams = (shape & 8U) != 0 ? 2U : 1000U,
                  .acts_on_whole = acts_on_whole_,
                  .one_stream_first = (shape & 2U) != 0,
                  .limits = kLimits},
                 clock_, waiting_, *this) {}

  void run(Program& program) {
    while (!program.over() && !lost_) step(program);
    lose();
    for (const Entry& e : entries_) SO_ASSERT(e.ended != is_waiting(e));
    SO_ASSERT(session_.open() == 0 && session_.capacity() == 0);
  }

 private:
  struct Entry {
    Call call{};
    bool ended = false;
  };

  void step(Program& program);
  void hear_frame(Program& program);
  void hear_answer(Program& program);
  void hear(std::string_view bytes);
  void submit(std::uint8_t shape);
  void write(std::size_t turns, std::size_t most);
  void lose();
  void on_call_ended(Call& call, CallResult&& result) override;
  void check(const Call& call, const HttpAnswer& answer) const;
  void check(const Call& call, const CallFailure& failure) const;

  [[nodiscard]] bool is_waiting(const Entry& e) const {
    for (const Call* c = waiting_.front(); c != nullptr; c = c->next)
      if (c == &e.call) return true;
    return false;
  }

  bool bytewise_;
  bool acts_on_whole_;
  bool lost_ = false;
  HandClock clock_{};
  CallList waiting_{};
  std::deque<Entry> entries_{};  // never moved
  Wire said_{kPreface};
  Wire heard_{0};
  H2Session session_;
};

void Connection::step(Program& program) {
  switch (program.byte() % 13U) {
    case 0:
    case 1:
      return submit(program.byte());
    case 2:
      return write(kTurnsMax, SIZE_MAX);
    case 3:
      return write(program.byte() % 4U, program.byte());
    case 4: {
      const auto raw = program.run();
      return hear({reinterpret_cast<const char*>(raw.data()), raw.size()});
    }
    case 5:
    case 6:
      return hear_frame(program);
    case 7:
    case 8:
      return hear_answer(program);
    case 9: {
      const std::size_t index = program.byte();
      if (index < entries_.size() && entries_[index].call.session == &session_ &&
          !entries_[index].ended)
        session_.abort(entries_[index].call, Cause::timed_out);
      return;
    }
    case 10:
      return clock_.advance();
    case 11:
      return session_.ping();
    default:
      if (program.byte() % 4U == 0) return lose();
      session_.say_goodbye();
  }
}

void Connection::submit(std::uint8_t shape) {
  if (entries_.size() >= kCallsMax) return;
  Call& call = entries_.emplace_back().call;
  call.ticket = Ticket(entries_.size());
  call.request.path = "/3/device/00";
  call.request.headers.add("authorization", "bearer x", true);
  if ((shape & 0x20U) != 0) call.request.headers.add("bad name", "\x01");
  call.request.body.assign(std::size_t{shape & 7U} * ((shape & 0x10U) != 0 ? 12'000U : 40U), 'b');
  call.request.only_stream = (shape & 8U) != 0;
  if ((shape & 0x40U) != 0) call.request.not_after_mono = clock_.mono();
  waiting_.push_back(call);
}

void Connection::write(std::size_t turns, std::size_t most) {
  std::size_t quota = most == SIZE_MAX ? kCallsMax : most % 4U;
  for (; turns > 0 && !lost_; --turns) {
    const auto bytes = session_.output(quota);
    if (bytes.empty()) {
      if (!session_.alive()) lose();
      return;
    }
    SO_ASSERT(bytes.size() <= std::size_t{16} * 1024);
    const std::size_t taken = std::min(bytes.size(), most);
    said_.feed(bytes.first(taken));
    session_.accept(taken);
  }
}

void Connection::hear(std::string_view bytes) {
  const std::size_t piece = bytewise_ ? 1 : std::max<std::size_t>(bytes.size(), 1);
  while (!bytes.empty() && !lost_) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    const std::span now(reinterpret_cast<const std::uint8_t*>(part.data()), part.size());
    heard_.feed(now);
    if (!session_.input(now)) lose();
  }
}

void Connection::hear_frame(Program& program) {
  constexpr std::array<std::uint8_t, 12> kTypes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 200};
  const std::uint8_t type = kTypes[program.byte() % kTypes.size()];
  const std::uint8_t flags = program.byte();
  const std::uint8_t stream = program.byte();
  hear(make_frame(type, flags, stream, program.run()));
}

// What peers really say, so that what follows finds a connection that works.
void Connection::hear_answer(Program& program) {
  const std::uint8_t what = program.byte();
  const std::int32_t stream = 2 * (what >> 4U) + 1;
  // HPACK: 0x88 is ":status: 200", 0x8c 400; 103 has to be spelt out.
  constexpr std::array<std::uint8_t, 1> kOk{0x88};
  constexpr std::array<std::uint8_t, 1> kBad{0x8c};
  constexpr std::array<std::uint8_t, 5> kInterim{0x08, 3, '1', '0', '3'};
  const auto words = [](const std::string& text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  switch (what & 15U) {
    case 0:
      return hear(make_frame(kSettingsFrame, 0, 0, {}));
    case 1: {
      const std::string one = std::string("\0\3", 2) + make_number(program.byte());
      return hear(make_frame(kSettingsFrame, 0, 0, words(one)));
    }
    case 2:
      return hear(make_frame(kSettingsFrame, 1, 0, {}));
    case 3:
      return hear(make_frame(kHeadersFrame, kEndHeaders | kEndStream, stream, kOk));
    case 4:
      return hear(make_frame(kHeadersFrame, kEndHeaders, stream, kBad));
    case 5:
      return hear(make_frame(kHeadersFrame, kEndHeaders, stream, kInterim));
    case 6:
      return hear(make_frame(kDataFrame, 0, stream, program.run()));
    case 7:
      return hear(make_frame(kDataFrame, kEndStream, stream, program.run()));
    case 8:
      return hear(make_frame(kResetFrame, 0, stream, words(make_number(program.byte()))));
    case 9: {
      const std::uint32_t last = program.byte();
      const std::string two = make_number(last == 255 ? INT32_MAX : last) + make_number(0);
      return hear(make_frame(kGoAwayFrame, 0, 0, words(two)));
    }
    case 10:
      return hear(make_frame(kPingFrame, 1, 0, words(std::string(8, '\0'))));
    case 11: {
      const std::string push = make_number(2) + "\x82\x84\x87\x41\x01p";
      return hear(make_frame(kPushFrame, kEndHeaders, stream, words(push)));
    }
    default:
      return hear(make_frame(kHeadersFrame, kEndHeaders | kEndStream, stream, program.run()));
  }
}

void Connection::lose() {
  if (lost_) return;
  lost_ = true;
  session_.lost(Cause::connection_lost, "lost");
}

void Connection::on_call_ended(Call& call, CallResult&& result) {
  Entry& entry = entries_.at(call.ticket.get() - 1);
  SO_ASSERT(&entry.call == &call && !entry.ended);
  entry.ended = true;
  if (const auto* answer = std::get_if<HttpAnswer>(&result)) return check(call, *answer);
  check(call, std::get<CallFailure>(result));
}

void check_bounds(const HttpAnswer& answer) {
  SO_ASSERT(answer.body.size() <= kLimits.body_bytes);
  SO_ASSERT(answer.headers.size() <= kLimits.header_count);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < answer.headers.size(); ++i) {
    const Headers::View header = answer.headers[i];
    SO_ASSERT(!header.name.starts_with(':'));
    bytes += header.name.size() + header.value.size();
  }
  SO_ASSERT(bytes <= kLimits.header_bytes);
}

void Connection::check(const Call& call, const HttpAnswer& answer) const {
  check_bounds(answer);
  SO_ASSERT(answer.status >= 200 && answer.status <= 999);
  SO_ASSERT(heard_.begun(call.stream) && heard_.ended(call.stream));
  SO_ASSERT(call.offered);  // and perhaps not complete: a peer may answer early
}

void Connection::check(const Call& call, const CallFailure& failure) const {
  if (failure.partial) check_bounds(*failure.partial);
  SO_ASSERT(failure.effect != Effect::sent);
  if (call.session == nullptr) return SO_ASSERT(failure.effect == Effect::not_sent);
  const bool offered = said_.begun(call.stream);
  const bool complete = said_.ended(call.stream);
  SO_ASSERT(call.offered || !offered);
  SO_ASSERT(failure.complete || !complete);
  if (failure.effect != Effect::not_sent || !offered) return;
  SO_ASSERT(!failure.partial && !call.answer_begun);
  SO_ASSERT(heard_.refused(call.stream) || (acts_on_whole_ && !complete));
}

}  // namespace
}  // namespace sendonce::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sendonce::test::Program program(data, size);
  sendonce::test::Connection connection(program.byte());
  connection.run(program);
  return 0;
}
