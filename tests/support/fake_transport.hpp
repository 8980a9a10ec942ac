// A transport stepped by hand: calls stay open until the test answers them.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugin/transport/transport.hpp"

namespace sendonce::test {

struct FakeTransport final : Transport {
  struct Call {
    Ticket ticket{};
    HttpRequest request{};
    ProviderIndex provider{};
  };
  std::deque<Call> open{};
  std::vector<Completion> done{};
  std::size_t room = 100;
  std::size_t submitted = 0;
  std::size_t renewed = 0;
  Duration waited{};    // as the last poll allowed
  bool refuse = false;  // has room, until it is asked
  std::optional<MonoTime> retry_at{};
  std::optional<Cause> last_cause{};      // and there is no connection
  std::map<std::uint16_t, Cause> away{};  // the same of some providers; calls can be tried
  std::map<std::string, std::size_t, std::less<>>
      rooms{};  // by authority, of those that were asked
  std::vector<std::string> warmed{};
  std::set<std::uint16_t> warmed_up{};
  std::vector<std::string> unreachable{};

  bool submit(Ticket ticket, ProviderIndex provider, HttpRequest request, Duration) override {
    if (const auto at = rooms.find(request.authority); at != rooms.end()) --at->second;
    if (refuse || open.size() >= room) return false;
    ++submitted;
    open.push_back({ticket, std::move(request), provider});
    return true;
  }
  void cancel(Ticket) override {}
  void warm_up(ProviderIndex provider) override { warmed_up.insert(provider.get()); }
  void renew(ProviderIndex) override { ++renewed; }
  [[nodiscard]] PoolState state(ProviderIndex provider) const override {
    const auto gone = away.find(provider.get());
    const auto cause = gone == away.end() ? last_cause : std::optional(gone->second);
    return {.room = room > open.size() ? room - open.size() : 0,
            .open = open.size(),
            .connections = cause ? 0U : 1U,
            .retry_at = retry_at,
            .last_cause = cause};
  }
  [[nodiscard]] std::size_t room_at(ProviderIndex, std::string_view authority) const override {
    const auto at = rooms.find(authority);
    return at == rooms.end() ? 0 : at->second;
  }
  void warm_up_at(ProviderIndex, std::string_view authority) override {
    warmed.emplace_back(authority);
  }
  [[nodiscard]] std::vector<std::pair<std::string, PoolState>> origins(
      ProviderIndex) const override {
    std::vector<std::pair<std::string, PoolState>> out;
    for (const std::string& authority : unreachable)
      out.emplace_back(authority, PoolState{.last_cause = Cause::connect});
    return out;
  }
  void poll(std::vector<Completion>& out, Duration wait) override {
    waited = wait;
    for (Completion& c : done) out.push_back(std::move(c));
    done.clear();
  }
  void wake() override {}

  // Answers the oldest open call.
  void answer(CallResult result) {
    done.push_back({open.front().ticket, std::move(result), Duration(0)});
    open.pop_front();
  }
  void answer_status(int status) {
    HttpAnswer a;
    a.status = status;
    answer(std::move(a));
  }
};

}  // namespace sendonce::test
