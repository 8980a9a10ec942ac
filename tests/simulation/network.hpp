// The transport port over a network that misbehaves: every effect of transport.hpp, each with what
// really happened to the request. An effect that it reports as proven is true.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plugin/transport/transport.hpp"
#include "tests/simulation/laws.hpp"
#include "tests/simulation/service.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {

// One process. Events that outlive it look here first.
struct Life {
  std::uint32_t number = 0;
  bool dead = false;
  bool ghost = false;  // stands still while a successor runs; wakes up now and then
  bool woken = false;  // something is ready for the engine
};

struct NetworkOptions {
  std::size_t streams = 8;  // of one provider
  double noise = 0;         // share of calls that meet with something, in any mood
  Duration latency = std::chrono::milliseconds(20);
  Duration queueing{0};  // a call may wait for so long before it leaves
};

class Network final : public Transport {
 public:
  Network(World& world, LawBook& book, std::vector<Service*> services, NetworkOptions options,
          std::shared_ptr<Life> life)
      : world_(world),
        book_(book),
        services_(std::move(services)),
        options_(options),
        life_(std::move(life)) {}

  [[nodiscard]] bool submit(Ticket ticket, ProviderIndex provider, HttpRequest request,
                            Duration timeout) override;
  void cancel(Ticket /*ticket*/) override {}
  void warm_up(ProviderIndex /*provider*/) override {}
  void renew(ProviderIndex /*provider*/) override {}
  [[nodiscard]] PoolState state(ProviderIndex provider) const override;
  void poll(std::vector<Completion>& done, Duration wait) override;
  void wake() override { life_->woken = true; }

  void stop_faults() {
    options_.noise = 0;
    options_.queueing = Duration(0);
  }
  [[nodiscard]] std::size_t open_calls() const { return open_.size(); }

 private:
  struct Call {
    Ticket ticket{};
    std::size_t provider = 0;
    HttpRequest request{};
    Duration timeout{};
    MonoTime submitted{};
    Attempt* attempt = nullptr;    // a send
    Question* question = nullptr;  // a lookup; neither: an exchange of credentials
    bool started = false;
    bool finished = false;
    bool served = false;   // the provider has looked at it
    bool refused = false;  // and never will
  };
  using CallPtr = std::shared_ptr<Call>;
  struct Finished {
    CallPtr call{};
    CallResult result{};
    Told told = Told::nothing;
    std::optional<Reply> reply{};
    bool token_good = false;
    Look look = Look::undecided;
  };

  void start(const CallPtr& call);
  void travel(const CallPtr& call);
  bool mishap(const CallPtr& call);
  bool mishap_before_processing(const CallPtr& call, std::uint64_t kind);
  void mishap_after_processing(const CallPtr& call, std::uint64_t kind);
  void exchange(const CallPtr& call);
  void ask(const CallPtr& call);
  void go_away(const CallPtr& call);
  std::optional<Reply> serve(const CallPtr& call);
  void finish(const CallPtr& call, CallResult result, Told told, std::optional<Reply> reply = {});
  void fail_call(const CallPtr& call, Effect effect, Cause cause);
  [[nodiscard]] std::size_t limit(std::size_t provider) const;
  [[nodiscard]] std::size_t open_of(std::size_t provider) const;
  [[nodiscard]] Duration latency();

  World& world_;
  LawBook& book_;
  std::vector<Service*> services_;
  NetworkOptions options_;
  std::shared_ptr<Life> life_;
  std::vector<CallPtr> open_{};
  std::vector<Finished> finished_{};
};

}  // namespace sendonce::sim
