#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "plugin/core/assert.hpp"
#include "tests/support/connection.hpp"

namespace sendonce::test {
namespace {

constexpr std::size_t kRecord = 16000;  // bytes gathered before they are encrypted
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMaxBody = 1U << 20U;
constexpr std::size_t kFrameHeader = 9;

struct Exchange {
  std::int32_t stream = 0;
  Request request{};
  Reply reply{};
  std::size_t sent = 0;  // bytes of the reply's body
  bool settled = false;  // the reply is decided
  bool whole = false;    // the request has ended
};

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  // nghttp2 takes pointers to non-const and copies what they point to.
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  // Values that differ each time would only churn the compression table.
  const bool unique = name == "apns-id" || name == "apns-unique-id";
  return {
      .name = bytes(name),
      .value = bytes(value),
      .namelen = name.size(),
      .valuelen = value.size(),
      .flags = static_cast<std::uint8_t>(unique ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)};
}

class H2Protocol final : public Protocol {
 public:
  H2Protocol(std::uint64_t connection, Wire& wire, ServerContext& context);
  ~H2Protocol() override { nghttp2_session_del(session_); }
  H2Protocol(const H2Protocol&) = delete;
  H2Protocol& operator=(const H2Protocol&) = delete;

  bool receive(std::string_view bytes) override;
  void produce() override {
    play_waiting();
    if (!wire_.closing && !wire_.deaf) gather(kRecord);
  }
  void release(std::int32_t stream) override;
  [[nodiscard]] bool finished() const override {
    return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
  }

 private:
  static int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user);
  // NOLINTBEGIN(readability-function-size): nghttp2's signatures
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t, void*);
  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                     const std::uint8_t* data, std::size_t size, void*);
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user);
  static int on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t, void* user);
  static ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                           std::uint32_t* flags, nghttp2_data_source* source, void*);
  // NOLINTEND(readability-function-size)

  void take(Exchange& x, bool whole);
  void answer(Exchange& x);
  void play(Exchange& x);
  void play_waiting();
  void end_stream(Exchange& x);
  void respond(Exchange& x);
  void cut_headers(Exchange& x);
  void cut_body(Exchange& x);
  // True when the stream of `x` got its end by it.
  bool go_away(const Exchange& x, const GoAway& how);
  void submit_settings(const std::vector<SettingsEntry>& entries);
  void gather(std::size_t limit);
  void flush_resets();
  [[nodiscard]] Exchange* exchange(std::int32_t stream) const {
    return static_cast<Exchange*>(nghttp2_session_get_stream_user_data(session_, stream));
  }

  std::uint64_t connection_;
  Wire& wire_;
  ServerContext& context_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Exchange>> all_{};
  std::vector<Exchange*> idle_{};
  struct Reset {
    std::int32_t stream = 0;
    std::uint32_t code = 0;
  };
  std::vector<Reset> resets_{};          // to follow the frames that are queued now
  std::vector<std::int32_t> waiting_{};  // nghttp2 does not allow to send from its callbacks
  std::int32_t processed_ = 0;           // the highest stream that was given to the handler
  // Streams above are not looked at: the connection is about to end or to go away.
  std::int32_t last_allowed_ = std::numeric_limits<std::int32_t>::max();
};

H2Protocol::H2Protocol(std::uint64_t connection, Wire& wire, ServerContext& context)
    : connection_(connection), wire_(wire), context_(context) {
  nghttp2_session_callbacks* callbacks = nullptr;
  SO_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  SO_ASSERT(nghttp2_session_server_new(&session_, callbacks, this) == 0);
  nghttp2_session_callbacks_del(callbacks);
  submit_settings(
      {{.id = NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
        .value = context.options.max_concurrent_streams},
       {.id = NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, .value = context.options.initial_window}});
}

bool H2Protocol::receive(std::string_view bytes) {
  const auto n = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return n >= 0;
}

void H2Protocol::release(std::int32_t stream) {
  Exchange* x = exchange(stream);
  if (x != nullptr) play(*x);
}

int H2Protocol::on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<H2Protocol*>(user);
  if (frame->headers.cat != NGHTTP2_HCAT_REQUEST || self.wire_.closing) return 0;
  if (self.idle_.empty()) {
    self.all_.push_back(std::make_unique<Exchange>());
    self.idle_.push_back(self.all_.back().get());
  }
  Exchange* x = self.idle_.back();
  self.idle_.pop_back();
  x->stream = frame->hd.stream_id;
  x->request.clear();
  x->reply.clear();
  x->sent = 0;
  x->settled = false;
  x->whole = false;
  x->request.connection = self.connection_;
  x->request.stream = frame->hd.stream_id;
  x->request.arrived = self.context_.now;
  nghttp2_session_set_stream_user_data(self.session_, x->stream, x);
  return 0;
}

// NOLINTNEXTLINE(readability-function-size)
int H2Protocol::on_header(nghttp2_session* session, const nghttp2_frame* frame,
                          const std::uint8_t* name, std::size_t name_size,
                          const std::uint8_t* value, std::size_t value_size, std::uint8_t, void*) {
  auto* x =
      static_cast<Exchange*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
  if (x == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  const std::string_view n = view(name, name_size);
  const std::string_view v = view(value, value_size);
  if (n == ":path") {
    x->request.path = v;
  } else if (n == ":method") {
    x->request.method = v;
  } else {
    x->request.headers.add(n, v);
  }
  return 0;
}

int H2Protocol::on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                        const std::uint8_t* data, std::size_t size, void*) {
  auto* x = static_cast<Exchange*>(nghttp2_session_get_stream_user_data(session, stream));
  if (x == nullptr || x->settled) return 0;
  if (x->request.body.size() + size > kMaxBody) {
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  }
  x->request.body.append(view(data, size));
  return 0;
}

int H2Protocol::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<H2Protocol*>(user);
  ServerTotals& totals = self.context_.totals;
  if (frame->hd.type == NGHTTP2_GOAWAY) ++totals.goaways_received;
  if (frame->hd.type == NGHTTP2_RST_STREAM) ++totals.resets_received;
  if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
    ++totals.pings_received;
  }
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  Exchange* x = self.exchange(frame->hd.stream_id);
  if (x == nullptr) return 0;
  const bool first =
      frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  if (first) self.take(*x, false);
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.take(*x, true);
  return 0;
}

int H2Protocol::on_close(nghttp2_session*, std::int32_t stream, std::uint32_t, void* user) {
  auto& self = *static_cast<H2Protocol*>(user);
  Exchange* x = self.exchange(stream);
  if (x == nullptr) return 0;
  nghttp2_session_set_stream_user_data(self.session_, stream, nullptr);
  self.idle_.push_back(x);
  return 0;
}

// Headers first, then the whole request, unless the headers were answered already.
void H2Protocol::take(Exchange& x, bool whole) {
  if (x.settled || wire_.closing || wire_.deaf || x.stream > last_allowed_) return;
  x.whole = whole;
  if (whole) {
    ++context_.totals.requests;
    context_.handler.on_request(x.request, x.reply);
    x.settled = true;
  } else {
    x.settled = context_.handler.on_headers(x.request, x.reply);
  }
  if (x.settled) answer(x);
}

void H2Protocol::answer(Exchange& x) {
  const Play& how = x.reply.play;
  const bool refused = how.goaway && how.goaway->last == LastStream::below;
  if (!refused) processed_ = std::max(processed_, x.stream);
  if (how.delay > Duration::zero()) {
    context_.release_later(how.delay, connection_, x.stream);
    return;
  }
  if (how.ending == Ending::answer && how.settings.empty() && !how.goaway && how.interim == 0) {
    respond(x);
    return;
  }
  if (ends_connection(how) || how.goaway) last_allowed_ = x.stream;
  waiting_.push_back(x.stream);
}

void H2Protocol::play_waiting() {
  for (std::size_t i = 0; i < waiting_.size() && !wire_.closing && !wire_.deaf; ++i) {
    if (Exchange* x = exchange(waiting_[i])) play(*x);
  }
  waiting_.clear();
}

void H2Protocol::play(Exchange& x) {
  const Play& how = x.reply.play;
  if (!how.settings.empty()) submit_settings(how.settings);
  if (how.interim != 0) {
    const std::string status = std::to_string(how.interim);
    const nghttp2_nv nv = field(":status", status);
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, x.stream, nullptr, &nv, 1, nullptr);
  }
  const bool refused = how.goaway && go_away(x, *how.goaway);
  if (!refused) end_stream(x);
  if (how.goaway && how.goaway->close) {
    gather(kAll);
    wire_.closing = true;
  }
}

void H2Protocol::end_stream(Exchange& x) {
  const Play& how = x.reply.play;
  switch (how.ending) {
    case Ending::answer:
      respond(x);
      break;
    case Ending::stall:
      break;
    case Ending::deaf:
      gather(kAll);
      wire_.deaf = true;
      break;
    case Ending::abort:
    case Ending::close:
      gather(kAll);
      wire_.aborting = how.ending == Ending::abort;
      wire_.closing = true;
      break;
    case Ending::reset:
      resets_.push_back({.stream = x.stream, .code = how.code.value_or(NGHTTP2_INTERNAL_ERROR)});
      break;
    case Ending::cut_headers:
      cut_headers(x);
      break;
    case Ending::cut_body:
      cut_body(x);
      break;
  }
}

void H2Protocol::respond(Exchange& x) {
  std::array<char, 12> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), x.reply.status).ptr;
  std::array<nghttp2_nv, 24> fields{};
  std::size_t n = 0;
  fields[n++] = field(":status", {digits.data(), end});
  for (std::size_t i = 0; i < x.reply.headers.size() && n < fields.size(); ++i) {
    const Headers::Field f = x.reply.headers[i];
    fields[n++] = field(f.name, f.value);
  }
  nghttp2_data_provider body{};
  body.source.ptr = &x;
  body.read_callback = read_body;
  const bool has_body = !x.reply.body.empty() || x.reply.play.ending == Ending::cut_body;
  nghttp2_submit_response(session_, x.stream, fields.data(), n, has_body ? &body : nullptr);
  // RFC 9113 8.1: an early answer asks the client to stop sending.
  if (!x.whole) resets_.push_back({.stream = x.stream, .code = NGHTTP2_NO_ERROR});
}

// NOLINTNEXTLINE(readability-function-size)
ssize_t H2Protocol::read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source* source, void*) {
  auto& x = *static_cast<Exchange*>(source->ptr);
  const bool cut = x.reply.play.ending == Ending::cut_body;
  const std::size_t size =
      cut ? std::min(x.reply.play.cut_at, x.reply.body.size()) : x.reply.body.size();
  if (cut && x.sent == size) return NGHTTP2_ERR_DEFERRED;
  const std::size_t n = std::min(room, size - x.sent);
  std::memcpy(to, x.reply.body.data() + x.sent, n);
  x.sent += n;
  if (x.sent == size && !cut) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(n);
}

// The frame says how long it is; half of that comes.
void H2Protocol::cut_headers(Exchange& x) {
  gather(kAll);
  const std::size_t before = wire_.out.size();
  respond(x);
  gather(kAll);
  if (wire_.out.size() > before) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<std::uint8_t>(wire_.out[before + i]));
    };
    const std::size_t length = (byte(0) << 16U) | (byte(1) << 8U) | byte(2);
    wire_.out.resize(before + kFrameHeader + length / 2);
  }
  wire_.closing = true;
}

void H2Protocol::cut_body(Exchange& x) {
  respond(x);
  if (x.reply.play.code) {
    resets_.push_back({.stream = x.stream, .code = *x.reply.play.code});
    return;
  }
  gather(kAll);
  wire_.closing = true;
}

bool H2Protocol::go_away(const Exchange& x, const GoAway& how) {
  std::int32_t last = std::max(x.stream, processed_);
  // A truthful server never refuses a stream below one it has processed.
  const bool refused = how.last == LastStream::below;
  if (refused && processed_ < x.stream) last = std::max(x.stream - 2, processed_);
  if (refused && last >= x.stream) {
    resets_.push_back({.stream = x.stream, .code = NGHTTP2_REFUSED_STREAM});
  }
  if (how.last == LastStream::all) {
    nghttp2_submit_shutdown_notice(session_);
  } else {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, how.code,
                          reinterpret_cast<const std::uint8_t*>(how.debug.data()),
                          how.debug.size());
  }
  return refused;
}

void H2Protocol::submit_settings(const std::vector<SettingsEntry>& entries) {
  std::vector<nghttp2_settings_entry> out;
  out.reserve(entries.size());
  for (const SettingsEntry& e : entries) out.push_back({.settings_id = e.id, .value = e.value});
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, out.data(), out.size());
}

void H2Protocol::gather(std::size_t limit) {
  while (wire_.out.size() < limit) {
    const std::uint8_t* data = nullptr;
    const auto n = nghttp2_session_mem_send(session_, &data);
    if (n <= 0) {
      if (resets_.empty()) return;
      flush_resets();
      continue;
    }
    wire_.out.append(view(data, static_cast<std::size_t>(n)));
  }
}

// nghttp2 sends RST_STREAM before other frames of the same stream, so a reset waits until they have
// left.
void H2Protocol::flush_resets() {
  for (const Reset& r : resets_) {
    if (exchange(r.stream) == nullptr) continue;  // has ended meanwhile
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, r.stream, r.code);
  }
  resets_.clear();
}

}  // namespace

std::unique_ptr<Protocol> make_h2_protocol(std::uint64_t connection, Wire& wire,
                                           ServerContext& context) {
  return std::make_unique<H2Protocol>(connection, wire, context);
}

}  // namespace sendonce::test
