// What one HTTP/2 connection knows, over nghttp2: no socket, no thread. Bytes come in by input(),
// leave by output()/accept().
//
// Requests wait outside nghttp2 and are started one whole request at a time, only when nghttp2 has
// nothing else to write: left to itself it writes the HEADERS of every request before the DATA of
// any, and a dying connection then puts all of them in doubt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/transport/answer_limits.hpp"
#include "plugin/transport/h2/call.hpp"
#include "plugin/transport/h2/own_fields.hpp"

struct nghttp2_session;

namespace sendonce {

// How far a request and its answer got: all that its effect is judged by.
struct Progress {
  bool offered = false;       // a byte was passed to a write call
  bool complete = false;      // END_STREAM was, too
  bool answer_begun = false;  // so much as a 1xx came
};
// Why a call without a complete answer counts as sent or not (RFC 9113 6.8, 8.7, 8.1.1):
// `refused` is REFUSED_STREAM, or a stream above the last one of a GOAWAY.
[[nodiscard]] Effect proven_effect(const Progress& progress, bool refused,
                                   bool acts_on_whole) noexcept;

class H2Session {
 public:
  struct Options {
    std::string authority{};        // host[:port]
    std::size_t streams = 1000;     // ours; the peer's limit counts too
    bool acts_on_whole = true;      // the peer cannot act on a request that was cut short
    bool one_stream_first = false;  // one stream until the first answer that is not an auth error
    AnswerLimits limits{};
  };
  class Owner {
   public:
    // The call has left the session's lists and is the owner's again. Must not call back.
    virtual void on_call_ended(Call& call, CallResult&& result) = 0;

   protected:
    ~Owner() = default;
  };
  struct GoAway {
    std::int32_t last_stream = 0;
    std::uint32_t error = 0;
    std::string text{};  // the peer's words, cut and made printable
  };

  // `waiting` is shared by the connections of a provider: whoever has room takes its front.
  H2Session(Options options, const Clock& clock, CallList& waiting, Owner& owner);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  // How many requests could start now: none before the peer's first SETTINGS, after a GOAWAY and
  // at the stream limit.
  [[nodiscard]] std::size_t capacity() const;
  [[nodiscard]] std::size_t open() const noexcept { return open_.size(); }
  [[nodiscard]] bool ready() const noexcept { return settings_seen_; }  // the peer sent SETTINGS
  [[nodiscard]] bool leaving() const noexcept { return leaving_; }      // nothing new will start
  [[nodiscard]] const GoAway* goaway() const noexcept { return goaway_.get(); }
  // Calls that ended with an answer.
  [[nodiscard]] std::uint64_t answers() const noexcept { return answers_; }
  // An answer has shown that our credential is taken.
  [[nodiscard]] bool trusted() const noexcept { return trusted_; }
  [[nodiscard]] bool wants_write() const;
  // False: the session is over and all of its bytes are written.
  [[nodiscard]] bool alive() const;
  [[nodiscard]] bool owes_ping() const noexcept { return ping_open_; }
  [[nodiscard]] Call* find(Ticket ticket) const noexcept { return open_.find(ticket); }

  // Ends a started call with its proven effect; the peer is told by RST_STREAM.
  void abort(Call& call, Cause cause);
  void ping();
  void leave() noexcept { leaving_ = true; }
  void say_goodbye();  // GOAWAY, when the last stream has ended

  // The next bytes to write, at most 16 KiB; starts at most `quota` waiting calls for them and
  // counts it down. What is returned counts as offered even if the write then fails or would block:
  // TLS may have put a part of it on the wire. The span stays the same until it is accepted.
  [[nodiscard]] std::span<const std::uint8_t> output(std::size_t& quota);
  void accept(std::size_t n) noexcept;
  // False: the peer broke the protocol. Write what is left, then say lost().
  [[nodiscard]] bool input(std::span<const std::uint8_t> bytes);
  // The connection is gone: every open call ends.
  void lost(Cause cause, std::string_view text);

 private:
  struct Callbacks;
  struct Fields;
  friend struct Callbacks;
  enum class Started : std::uint8_t { yes, no, dropped };
  struct Moment {
    WallTime wall{};
    MonoTime mono{};
  };

  [[nodiscard]] std::size_t stream_limit() const;
  [[nodiscard]] Call* of_stream(std::int32_t stream) const;
  void fill(std::size_t& quota);
  Started start_next(const Moment& now);
  [[nodiscard]] bool fits(const Call& call) const;
  void build_fields(Call& call);
  void write(std::span<const std::uint8_t> frame);
  void add_own_fields(std::size_t frame_size);
  void mark_offered(std::span<const std::uint8_t> frame);
  void answer_ended(std::int32_t stream);
  void detach(Call& call);
  void end(Call& call, Cause cause, std::uint32_t h2_error, std::string_view text);
  void end_unsent(Call& call, Cause cause, std::string_view text);
  void reset_and_end(Call& call, Cause cause, std::uint32_t h2_error, std::string_view text);

  Options options_;
  const Clock& clock_;
  CallList& waiting_;
  Owner& owner_;
  std::unique_ptr<nghttp2_session, void (*)(nghttp2_session*)> nghttp2_;
  CallList open_{};
  Call* writing_ = nullptr;        // the call of the last HEADERS: its DATA comes next
  Call* reading_ = nullptr;        // the call of the header block being read
  std::size_t unread_bodies_ = 0;  // bytes of started bodies that nghttp2 has not taken yet
  std::size_t only_streams_ = 0;   // open calls that suffer no other beside them
  std::vector<std::uint8_t> out_{};
  std::size_t out_taken_ = 0;
  std::unique_ptr<Fields> fields_;
  OwnFields own_fields_{};  // of the call whose HEADERS come next
  std::unique_ptr<GoAway> goaway_{};
  bool preface_seen_ = false;
  bool request_ended_ = false;  // the last of a request is in out_
  bool settings_seen_ = false;
  bool leaving_ = false;
  bool lost_ = false;
  std::uint64_t answers_ = 0;
  bool trusted_ = false;
  bool ping_open_ = false;
};

}  // namespace sendonce
