// Holds of one provider: it, or a part of it, is paused and its deliveries wait (law 7). Pure
// state.
//
// A hold opened by a fault (auth, configuration, a tripped breaker) is probed with one real
// delivery: at once after credentials or configuration changed, else after 5 s, doubling to 60 s,
// and never before a time that the provider has named. A hold opened by a throttle ends by itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/verdict.hpp"

namespace sendonce {

struct HoldOptions {
  // Retryable faults in a row. Those of one instant count once: a connection that goes takes many
  // calls with it, and says one thing.
  std::uint32_t breaker_open_after = 20;
  Duration probe_first = std::chrono::seconds(5);
  Duration probe_max = std::chrono::seconds(60);
};

// The right to be the one delivery that tries a hold; 0: no hold is tried by it.
using ProbeId = Strong<struct ProbeIdTag, std::uint32_t>;

struct Hold {
  Fault fault = Fault::auth;
  std::string reason{};
  MonoTime since{};
  MonoTime probe_at{};
  Duration interval{};
  ProbeId probe{};              // of the delivery that is out; none when 0
  bool ends_by_itself = false;  // at probe_at: it is a throttle and nothing else
  MonoTime throttled_until{};   // no probe before: the provider has named the time
};

class Holds {
 public:
  explicit Holds(HoldOptions options = {}) : options_(options) {}
  void set_options(HoldOptions options) { options_ = options; }

  // May a delivery start now? Empty: no. With a hold due for its probe the answer is yes once, with
  // an id that must come back, through report() or probe_lost().
  [[nodiscard]] std::optional<ProbeId> may_start(std::string_view part, MonoTime now);
  [[nodiscard]] bool held(MonoTime now) const { return held({}, now); }  // as a whole
  // As a whole, or the part. A hold that is being probed counts.
  [[nodiscard]] bool held(std::string_view part, MonoTime now) const;

  // The verdict of one attempt of a delivery that is known to belong to `part` ("" when it is not),
  // and that started as `probe`. True: a hold was opened by it.
  bool report(const Verdict& verdict, std::string_view part, LookupHash recipient, MonoTime now,
              ProbeId probe = {});
  // The probe came to nothing: it found no stream, or its answer says nothing.
  void probe_lost(ProbeId probe, MonoTime now);
  // Its delivery needs no call. Another may take its place at once.
  void probe_unused(ProbeId probe);
  // A new credential: probe at once.
  void renewed(MonoTime now);
  // A new configuration: the same, and throttles of more than an hour end.
  void reloaded(MonoTime now);
  // Opens a hold for a fault seen outside a delivery (credential exchange).
  void open(std::string part, Fault fault, std::string reason, MonoTime now) {
    open_by({}, std::move(part), fault, std::move(reason), now);
  }
  [[nodiscard]] const std::map<std::string, Hold, std::less<>>& all() const { return holds_; }
  [[nodiscard]] std::optional<MonoTime> next_change() const;

 private:
  bool open_for(const Verdict& verdict, std::string_view own, LookupHash recipient, MonoTime now,
                ProbeId probe);
  void count_failure(const Verdict& verdict, MonoTime now, ProbeId probe);
  [[nodiscard]] bool has_room_for(std::string_view part, MonoTime now);
  // `wait`: for so long at least, the provider says.
  void open_by(ProbeId probe, std::string part, Fault fault, std::string reason, MonoTime now,
               Duration wait = {});
  void close(std::string_view part, MonoTime now);
  void open_until(std::string part, std::string reason, MonoTime until, MonoTime now);
  bool config_fault_spreads(LookupHash recipient, std::string_view part, MonoTime now);

  HoldOptions options_;
  std::map<std::string, Hold, std::less<>> holds_{};  // "" = the whole provider
  struct Failures {
    std::uint32_t in_a_row = 0;
    std::optional<MonoTime> last{};
  };
  // By the part that the verdict names: one push service that is down is not the others' fault.
  std::map<std::string, Failures, std::less<>> failures_{};
  std::uint32_t last_probe_ = 0;
  struct Sighting {
    LookupHash recipient{};
    std::string part{};
    MonoTime at{};
  };
  std::vector<Sighting> config_faults_{};  // of scope delivery, within the last minute
};

}  // namespace sendonce
