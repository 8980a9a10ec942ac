#include "plugin/transport/h2/session.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "plugin/core/crash_point.hpp"
#include "plugin/core/prefetch.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kFrameHeader = 9;         // RFC 9113 4.1
constexpr std::size_t kChunk = 16 * 1024;       // one TLS record
constexpr std::size_t kLeastMaxFrame = 16384;   // any peer takes it, RFC 9113 4.2
constexpr std::int32_t kLocalWindow = 1 << 22;  // answers of all streams together, per round trip
constexpr std::size_t kGoAwayText = 120;
constexpr std::size_t kFewFields = 4;  // of an answer; few have more
constexpr std::size_t kFewBytes = 160;

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// nghttp2 takes non-const pointers and, told not to copy, does not write through them.
std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

nghttp2_nv field(std::string_view name, std::string_view value, bool never_index = false) {
  const int flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE |
                    (never_index ? NGHTTP2_NV_FLAG_NO_INDEX : 0);
  return {bytes_of(name), bytes_of(value), name.size(), value.size(),
          static_cast<std::uint8_t>(flags)};
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kGoAwayText));
  for (char& c : out) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return out;
}

// Of calls that have waited for long enough to leave the caches: the texts of the next one, and
// the one after that.
void prefetch_followers(const Call& call) {
  if (call.next == nullptr) return;
  const HttpRequest& request = call.next->request;
  request.headers.prefetch();
  prefetch_text(request.path);
  prefetch_text(request.body);
  if (call.next->next != nullptr) prefetch(call.next->next->request);
}

// Not an answer that leaves the credential in doubt.
bool shows_trust(int status) {
  return status < 500 && status != 401 && status != 403;
}

}  // namespace

Effect proven_effect(const Progress& progress, bool refused, bool acts_on_whole) noexcept {
  if (!progress.offered) return Effect::not_sent;
  // A peer that has begun to answer has begun to act, whatever it says next.
  if (progress.answer_begun) return Effect::maybe_sent;
  if (refused) return Effect::not_sent;
  if (acts_on_whole && !progress.complete) return Effect::not_sent;
  return Effect::maybe_sent;
}

// The header fields of the request that is being started; kept for its memory.
struct H2Session::Fields {
  std::vector<nghttp2_nv> list{};
  std::size_t used = 0;
};

// The C side of nghttp2.
struct H2Session::Callbacks {
  static H2Session& self(void* user) { return *static_cast<H2Session*>(user); }

  static ssize_t read_body(nghttp2_session*, std::int32_t stream, std::uint8_t* to,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    H2Session& me = self(user);
    Call* call = me.of_stream(stream);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string& body = call->request.body;
    const std::size_t n = std::min(size, body.size() - call->body_read);
    std::memcpy(to, body.data() + call->body_read, n);
    call->body_read += n;
    me.unread_bodies_ -= n;
    if (call->body_read == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Session& me = self(user);
    me.reading_ = me.of_stream(frame->hd.stream_id);
    if (me.reading_ == nullptr) return 0;
    me.reading_->answer_begun = true;
    // An interim answer gives way to the next; trailers join the final one's fields.
    Headers& fields = me.reading_->answer.headers;
    if (!me.reading_->answer_final) fields.clear();
    fields.reserve(kFewFields, kFewBytes);
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name_data,
                       std::size_t name_size, const std::uint8_t* value_data,
                       std::size_t value_size, std::uint8_t, void* user) {
    H2Session& me = self(user);
    Call* call = me.reading_;
    if (call == nullptr) return 0;
    call->answer_header_bytes += name_size + value_size;
    const AnswerLimits& limits = me.options_.limits;
    if (call->answer_header_bytes > limits.header_bytes ||
        call->answer.headers.size() >= limits.header_count) {
      me.reset_and_end(*call, Cause::oversized, 0, "the answer's headers are too large");
      return 0;
    }
    const std::string_view header_name = view(name_data, name_size);
    const std::string_view value = view(value_data, value_size);
    if (header_name == ":status") {
      std::from_chars(value.data(), value.data() + value.size(), call->answer.status);
      call->answer_final = call->answer.status >= 200;
    } else {
      call->answer.headers.add(header_name, value);
    }
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void* user) {
    H2Session& me = self(user);
    Call* call = me.of_stream(stream);
    if (call == nullptr) return 0;
    if (call->answer.body.size() + size > me.options_.limits.body_bytes) {
      me.reset_and_end(*call, Cause::oversized, 0, "the answer's body is too large");
      return 0;
    }
    call->answer.body.append(view(data, size));
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Session& me = self(user);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) me.answer_ended(frame->hd.stream_id);
        break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) me.settings_seen_ = true;
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) me.ping_open_ = false;
        break;
      case NGHTTP2_GOAWAY:
        me.leaving_ = true;
        me.goaway_ = std::make_unique<GoAway>(
            GoAway{frame->goaway.last_stream_id, frame->goaway.error_code,
                   printable(view(frame->goaway.opaque_data, frame->goaway.opaque_data_len))});
        break;
      default:
        break;
    }
    return 0;
  }

  // nghttp2 also calls it, with REFUSED_STREAM, for every stream above the last id of a GOAWAY.
  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user) {
    H2Session& me = self(user);
    Call* call = me.of_stream(stream);
    if (call == nullptr) return 0;
    me.end(*call, error == NGHTTP2_REFUSED_STREAM ? Cause::refused : Cause::reset, error,
           nghttp2_http2_strerror(error));
    return 0;
  }

  // nghttp2 has it and will never write it, e.g. header fields that it refuses to pack.
  static int on_not_send(nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
    H2Session& me = self(user);
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    Call* call = me.of_stream(frame->hd.stream_id);
    if (call != nullptr) me.end(*call, Cause::not_started, 0, nghttp2_strerror(error));
    return 0;
  }

  static nghttp2_session_callbacks* make() {
    nghttp2_session_callbacks* c = nullptr;
    SO_ASSERT(nghttp2_session_callbacks_new(&c) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(c, on_not_send);
    return c;
  }
};

H2Session::H2Session(Options options, const Clock& clock, CallList& waiting, Owner& owner)
    : options_(std::move(options)),
      clock_(clock),
      waiting_(waiting),
      owner_(owner),
      nghttp2_(nullptr, nghttp2_session_del),
      fields_(std::make_unique<Fields>()) {
  nghttp2_session_callbacks* callbacks = Callbacks::make();
  nghttp2_option* option = nullptr;
  SO_ASSERT(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session* raw = nullptr;
  SO_ASSERT(nghttp2_session_client_new2(&raw, callbacks, this, option) == 0);
  nghttp2_.reset(raw);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(options_.limits.header_bytes)}};
  SO_ASSERT(nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  SO_ASSERT(nghttp2_session_set_local_window_size(raw, NGHTTP2_FLAG_NONE, 0, kLocalWindow) == 0);
  out_.reserve(2 * kChunk + kFrameHeader);
}

H2Session::~H2Session() = default;

// ---- what may start -------------------------------------------------------------------------

std::size_t H2Session::stream_limit() const {
  if (!settings_seen_ || leaving_ || lost_) return 0;
  if (only_streams_ > 0 || (options_.one_stream_first && !trusted_)) return 1;
  return std::min<std::size_t>(
      options_.streams,
      nghttp2_session_get_remote_settings(nghttp2_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS));
}

std::size_t H2Session::capacity() const {
  const std::size_t limit = stream_limit();
  return limit > open_.size() ? limit - open_.size() : 0;
}

// Its body must be able to follow at once, or it would wait, in doubt, for the peer's window. One
// that is larger than any window starts when it has the connection for itself.
bool H2Session::fits(const Call& call) const {
  if (open_.empty()) return true;
  if (call.request.only_stream) return false;
  const std::int32_t window = nghttp2_session_get_remote_window_size(nghttp2_.get());
  return window >= 0 &&
         static_cast<std::size_t>(window) >= unread_bodies_ + call.request.body.size();
}

// ---- writing --------------------------------------------------------------------------------

void H2Session::build_fields(Call& call) {
  const HttpRequest& request = call.request;
  std::vector<nghttp2_nv>& fields = fields_->list;
  own_fields_.clear();
  fields.resize(std::max(fields.size(), 5 + request.headers.size()));
  auto to = fields.begin();
  *to++ = field(":method", request.method);
  *to++ = field(":scheme", "https");
  *to++ = field(":authority", options_.authority);
  *to++ = field(":path", request.path);
  const bool fits_a_frame = request.path.size() + request.headers.bytes() <= OwnFields::kMostBytes;
  for (const Headers::View h : request.headers) {
    if (fits_a_frame && OwnFields::takes(h))
      own_fields_.add(h);
    else
      *to++ = field(h.name, h.value, h.never_index);
  }
  if (!request.body.empty()) {
    char* const begin = call.length.data();
    const auto end = std::to_chars(begin, begin + call.length.size(), request.body.size());
    *to++ = field("content-length", {begin, static_cast<std::size_t>(end.ptr - begin)});
  }
  fields_->used = static_cast<std::size_t>(to - fields.begin());
}

void H2Session::write(std::span<const std::uint8_t> frame) {
  const bool begins = writing_ != nullptr && !writing_->offered;
  mark_offered(frame);
  out_.insert(out_.end(), frame.begin(), frame.end());
  if (begins && writing_->offered && !own_fields_.packed().empty()) add_own_fields(frame.size());
}

// Behind the fields of the HEADERS that have just been written.
void H2Session::add_own_fields(std::size_t frame_size) {
  const std::span<const std::uint8_t> own = own_fields_.packed();
  std::uint8_t* const header = out_.data() + out_.size() - frame_size;
  const std::size_t payload = frame_size - kFrameHeader + own.size();
  SO_ASSERT(header[3] == NGHTTP2_HEADERS && payload <= kLeastMaxFrame);
  SO_ASSERT((header[4] & NGHTTP2_FLAG_END_HEADERS) != 0 && (header[4] & NGHTTP2_FLAG_PADDED) == 0);
  header[0] = static_cast<std::uint8_t>(payload >> 16U);
  header[1] = static_cast<std::uint8_t>(payload >> 8U);
  header[2] = static_cast<std::uint8_t>(payload);
  out_.insert(out_.end(), own.begin(), own.end());
  own_fields_.clear();
}

// nghttp2's before_frame_send callback cannot be used to hold back a request that has become too
// late: the header block is packed by then, and the peer's HPACK table would lose step with ours.
// Here nothing has been packed, and the HEADERS are the very next frame.
H2Session::Started H2Session::start_next(const Moment& now) {
  if (waiting_.empty() || capacity() == 0) return Started::no;
  // Should nghttp2 ever keep a HEADERS back, our fields of it must not be taken for the next one's.
  if (writing_ != nullptr && !writing_->offered) return Started::no;
  Call& call = *waiting_.front();
  if (!fits(call)) return Started::no;
  const HttpRequest& request = call.request;
  prefetch_followers(call);
  waiting_.remove(call);
  if (now.wall > request.not_after_wall || now.mono > request.not_after_mono) {
    end_unsent(call, Cause::not_started, "its deadline came before its first frame");
    return Started::dropped;
  }
  build_fields(call);
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::read_body;
  const std::int32_t stream =
      nghttp2_submit_request(nghttp2_.get(), nullptr, fields_->list.data(), fields_->used,
                             request.body.empty() ? nullptr : &body, &call);
  if (stream == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE) {  // 2^30 requests: it has served
    waiting_.push_front(call);
    leaving_ = true;
    return Started::no;
  }
  if (stream < 0) {
    end_unsent(call, Cause::not_started, nghttp2_strerror(stream));
    return Started::dropped;
  }
  call.stream = stream;
  call.session = this;
  open_.push_back(call);
  unread_bodies_ += request.body.size();
  if (request.only_stream) ++only_streams_;
  writing_ = &call;
  return Started::yes;
}

void H2Session::fill(std::size_t& quota) {
  out_.clear();
  out_taken_ = 0;
  // For all that go into one write: they leave together.
  const Moment now{clock_.wall(), clock_.mono()};
  while (out_.size() < kChunk) {
    const std::uint8_t* data = nullptr;
    const ssize_t n = nghttp2_session_mem_send(nghttp2_.get(), &data);
    if (n > 0) {
      write(std::span(data, static_cast<std::size_t>(n)));
      continue;
    }
    SO_ASSERT(n == 0 || n == NGHTTP2_ERR_NOMEM || n == NGHTTP2_ERR_CALLBACK_FAILURE);
    if (n < 0) leaving_ = true;
    if (n < 0 || quota == 0) return;
    const Started started = start_next(now);
    if (started == Started::no) return;
    if (started == Started::yes) --quota;
  }
}

std::span<const std::uint8_t> H2Session::output(std::size_t& quota) {
  // What was offered once is not added to: a chunk is frozen until it is taken.
  if (out_taken_ == out_.size() && !lost_) fill(quota);
  const auto rest = std::span(out_).subspan(out_taken_);
  return rest.first(std::min(rest.size(), kChunk));
}

void H2Session::accept(std::size_t n) noexcept {
  out_taken_ += n;
  if (out_taken_ == out_.size() && std::exchange(request_ended_, false))
    crash_point(CrashPoint::request_written);
}

// nghttp2_session_mem_send returns one whole frame a call (the first: the 24-byte preface, which is
// followed by no other bytes), so its 9-byte header names the stream and the end.
void H2Session::mark_offered(std::span<const std::uint8_t> frame) {
  if (!std::exchange(preface_seen_, true)) return;
  SO_ASSERT(frame.size() >= kFrameHeader);
  const std::uint32_t id = (std::uint32_t{frame[5]} << 24U | std::uint32_t{frame[6]} << 16U |
                            std::uint32_t{frame[7]} << 8U | frame[8]) &
                           0x7fffffffU;
  if (id == 0) return;
  const auto stream = static_cast<std::int32_t>(id);
  Call* call = of_stream(stream);
  if (call == nullptr) return;
  call->offered = true;
  const std::uint8_t type = frame[3];
  const bool carries_end = type == NGHTTP2_HEADERS || type == NGHTTP2_DATA;
  if (!carries_end || (frame[4] & NGHTTP2_FLAG_END_STREAM) == 0) return;
  call->complete = true;
  request_ended_ = true;
}

bool H2Session::wants_write() const {
  if (lost_) return false;
  return out_taken_ < out_.size() || nghttp2_session_want_write(nghttp2_.get()) != 0;
}

bool H2Session::alive() const {
  if (lost_) return false;
  return out_taken_ < out_.size() || nghttp2_session_want_read(nghttp2_.get()) != 0 ||
         nghttp2_session_want_write(nghttp2_.get()) != 0;
}

// ---- reading --------------------------------------------------------------------------------

bool H2Session::input(std::span<const std::uint8_t> bytes) {
  return nghttp2_session_mem_recv(nghttp2_.get(), bytes.data(), bytes.size()) >= 0;
}

Call* H2Session::of_stream(std::int32_t stream) const {
  for (Call* const likely : {reading_, writing_})
    if (likely != nullptr && likely->stream == stream) return likely;
  return static_cast<Call*>(nghttp2_session_get_stream_user_data(nghttp2_.get(), stream));
}

// The peer has said all. If we have not, it wants no more of it (RFC 9113 8.1).
void H2Session::answer_ended(std::int32_t stream) {
  Call* call = of_stream(stream);
  if (call == nullptr) return;
  call->answer_complete = true;
  if (!call->complete) reset_and_end(*call, Cause::reset, NGHTTP2_NO_ERROR, "answered early");
}

// ---- ends -----------------------------------------------------------------------------------

void H2Session::abort(Call& call, Cause cause) {
  reset_and_end(call, cause, 0, name(cause));
}

void H2Session::reset_and_end(Call& call, Cause cause, std::uint32_t h2_error,
                              std::string_view text) {
  nghttp2_submit_rst_stream(nghttp2_.get(), NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
  end(call, cause, h2_error, text);
}

void H2Session::ping() {
  if (std::exchange(ping_open_, true)) return;
  nghttp2_submit_ping(nghttp2_.get(), NGHTTP2_FLAG_NONE, nullptr);
}

void H2Session::say_goodbye() {
  leaving_ = true;
  nghttp2_session_terminate_session(nghttp2_.get(), NGHTTP2_NO_ERROR);
}

void H2Session::lost(Cause cause, std::string_view text) {
  lost_ = true;
  leaving_ = true;
  while (!open_.empty()) end(*open_.front(), cause, 0, text);
}

void H2Session::detach(Call& call) {
  open_.remove(call);
  unread_bodies_ -= call.request.body.size() - call.body_read;
  if (call.request.only_stream) --only_streams_;
  if (writing_ == &call) writing_ = nullptr;
  if (reading_ == &call) reading_ = nullptr;
  // Frames of the stream may still come, or wait in nghttp2; the call will belong to another by
  // then.
  nghttp2_session_set_stream_user_data(nghttp2_.get(), call.stream, nullptr);
}

// The one place where a started call's fate is judged.
void H2Session::end(Call& call, Cause cause, std::uint32_t h2_error, std::string_view text) {
  detach(call);
  if (call.answer_final && call.answer_complete) {
    ++answers_;
    trusted_ = trusted_ || shows_trust(call.answer.status);
    owner_.on_call_ended(call, CallResult(std::in_place_type<HttpAnswer>, std::move(call.answer)));
    return;
  }
  CallFailure failure;
  failure.effect = proven_effect({call.offered, call.complete, call.answer_begun},
                                 cause == Cause::refused, options_.acts_on_whole);
  failure.cause = cause;
  failure.complete = call.complete;
  failure.h2_error = h2_error;
  failure.text = text;
  if (call.answer.status != 0) failure.partial = std::move(call.answer);
  owner_.on_call_ended(call, CallResult(std::move(failure)));
}

void H2Session::end_unsent(Call& call, Cause cause, std::string_view text) {
  CallFailure failure;
  failure.effect = Effect::not_sent;
  failure.cause = cause;
  failure.text = text;
  owner_.on_call_ended(call, CallResult(std::move(failure)));
}

}  // namespace sendonce
