// One life of sendonce: the production engine and providers, composed as plugin/module does it,
// over the simulated ports.
#pragma once

#include <memory>
#include <vector>

#include "classifiers/apns/apns_token.hpp"
#include "plugin/core/log.hpp"
#include "plugin/pipeline/engine.hpp"
#include "tests/simulation/client.hpp"
#include "tests/simulation/disk.hpp"
#include "tests/simulation/lane.hpp"
#include "tests/simulation/laws.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/plan.hpp"

namespace sendonce::sim {

[[nodiscard]] std::vector<ClassPolicy> make_policies(const Plan& plan);
// `at` is a place of the plan's providers. `book` hears of its credentials; may be null.
[[nodiscard]] std::unique_ptr<Provider> make_provider(const Plan& plan, std::size_t at,
                                                      ApnsTokenSource& tokens, LawBook* book);
[[nodiscard]] std::unique_ptr<ApnsTokenSource> make_token_source();

// What the engine logs, told in the story.
class StoryLog final : public Log {
 public:
  explicit StoryLog(World& world) : world_(world) {}
  void write(Level level, std::string_view event, std::span<const Field> fields) override;
  [[nodiscard]] bool enabled(Level level) const override {
    return world_.tracing() || level >= Level::error;
  }

 private:
  World& world_;
};

struct ProcessDeps {
  World& world;
  LawBook& book;
  Server& server;
  Disk& disk;
  const Plan& plan;
  std::vector<Service*> services;
  std::function<Ledger*()> present;
  std::string ledger_id{};
  std::string secret{};
};

class Process {
 public:
  Process(const ProcessDeps& deps, std::uint32_t number);

  void step();  // one cycle of the engine's thread; throws Crash
  void die();
  void become_ghost() { life_->ghost = true; }
  void reload(std::uint64_t number);
  void stop_faults();

  [[nodiscard]] bool dead() const { return life_->dead; }
  [[nodiscard]] std::uint32_t number() const { return life_->number; }
  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] Client& client() { return client_; }
  [[nodiscard]] DiskLedger& ledger() { return ledger_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Life& life() { return *life_; }

 private:
  [[nodiscard]] std::optional<Errc> disk_fault(CommitStage stage);

  World& world_;
  LawBook& book_;
  const Plan& plan_;
  std::shared_ptr<Life> life_;
  StoryLog log_;
  DiskFaults disk_faults_;
  DiskLedger ledger_;
  DiskLane lane_;
  Client client_;
  Network network_;
  std::unique_ptr<ApnsTokenSource> tokens_;
  std::vector<std::unique_ptr<Provider>> providers_{};
  std::unique_ptr<Engine> engine_{};
};

}  // namespace sendonce::sim
