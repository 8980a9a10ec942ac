#include "plugin/module/host_events.hpp"

#include "plugin/module/feeds.hpp"

namespace sendonce {
namespace {

// A host that never pumps loses log events, not memory.
constexpr std::size_t kQueueMax = 10'000;

// Of several flags the one that says most.
Level least_of(std::uint32_t flags) {
  if ((flags & SENDONCE_HOST_LOG_DEBUG) != 0) return Level::debug;
  if ((flags & SENDONCE_HOST_LOG_WARN) != 0) return Level::warn;
  if ((flags & SENDONCE_HOST_LOG_ERROR) != 0) return Level::error;
  return Level::info;
}

sendonce_str borrowed(const std::string& text) {
  return {text.data(), text.size()};
}

}  // namespace

HostEvents::HostEvents(const sendonce_host& host, const Clock& clock)
    : host_(host), clock_(clock), least_(least_of(host.flags)), feed_(clock) {
  if (host_.log == nullptr) stderr_log_ = make_stderr_log(least_, LogFormat::logfmt, false);
}

bool HostEvents::enabled(Level level) const {
  return level >= least_;
}

void HostEvents::write(Level level, std::string_view event, std::span<const Field> fields) {
  if (!enabled(level)) return;
  if (feed_.wanted()) feed_.add(log_line(clock_.wall(), level, event, fields));
  if (stderr_log_) return stderr_log_->write(level, event, fields);
  LogEvent e{.level = level, .at = clock_.wall(), .event = std::string(event)};
  for (const Field& f : fields) e.fields.emplace_back(f.name, f.value);
  post(std::move(e));
}

void HostEvents::change(InstanceState state) {
  {
    const std::lock_guard lock(mutex_);
    if (state == state_) return;
    state_ = state;
  }
  if (host_.state != nullptr) post(std::move(state));
}

InstanceState HostEvents::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void HostEvents::post(Event event) {
  if ((host_.flags & SENDONCE_HOST_ANY_THREAD) != 0) return hand_out(event);
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= kQueueMax && std::holds_alternative<LogEvent>(event)) {
    ++dropped_;
    return;
  }
  queue_.push_back(std::move(event));
}

void HostEvents::pump(std::size_t most) {
  std::deque<Event> events;
  std::uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    while (!queue_.empty() && events.size() < most) {
      events.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    if (queue_.empty()) dropped = std::exchange(dropped_, 0);
  }
  for (const Event& e : events) hand_out(e);
  if (dropped > 0 && enabled(Level::warn))
    hand_out(LogEvent{.level = Level::warn,
                      .at = clock_.wall(),
                      .event = "log.dropped",
                      .fields = {{"count", std::to_string(dropped)}}});
}

void HostEvents::hand_out(const Event& event) const {
  if (const auto* s = std::get_if<InstanceState>(&event)) {
    const sendonce_state_event out{.struct_size = sizeof out,
                                   .state = s->state,
                                   .exit_code = s->exit_code,
                                   .reserved0 = 0,
                                   .reason = borrowed(s->reason)};
    return host_.state(host_.ctx, &out);
  }
  const auto& l = std::get<LogEvent>(event);
  std::vector<sendonce_kv> fields;
  fields.reserve(l.fields.size());
  for (const auto& [key, value] : l.fields) fields.push_back({borrowed(key), borrowed(value)});
  const sendonce_log_event out{.struct_size = sizeof out,
                               .level = static_cast<std::int32_t>(l.level),
                               .time_ns = l.at.time_since_epoch().count(),
                               .event = borrowed(l.event),
                               .fields = fields.data(),
                               .field_count = fields.size()};
  host_.log(host_.ctx, &out);
}

}  // namespace sendonce
