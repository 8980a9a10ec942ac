// The production transport: HTTP/2 to every provider, and the curl lanes for requests that carry a
// URL of their own. One epoll, no thread of its own, no call that blocks.
//
//   auto transport = H2Transport::create(clock, log, system_seed());
//   (*transport)->add_provider(ProviderIndex(0), {.name = "apns", .endpoint = "https://…"});
//
// All but wake() belong to the thread that polls. libcurl's resolver threads may outlive the
// object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/core/error.hpp"
#include "plugin/transport/curl/curl_lane.hpp"
#include "plugin/transport/curl/curl_multi.hpp"
#include "plugin/transport/event_loop.hpp"
#include "plugin/transport/h2/context.hpp"
#include "plugin/transport/h2/options.hpp"
#include "plugin/transport/h2/origins.hpp"
#include "plugin/transport/h2/pool.hpp"
#include "plugin/transport/smtp/pool.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

class H2Transport final : public Transport {
 public:
  // Clock and log are borrowed. Fails when the process is out of descriptors.
  [[nodiscard]] static Result<std::unique_ptr<H2Transport>> create(const Clock& clock, Log& log,
                                                                   std::uint64_t seed);
  // Open calls end without a completion being seen: drain first.
  ~H2Transport() override;
  H2Transport(const H2Transport&) = delete;
  H2Transport& operator=(const H2Transport&) = delete;

  // All providers, by ProviderIndex: added, or given new options. Then their connections finish
  // what they have begun, and all that waits goes by the new ones; a provider whose options and
  // trusted CAs are the same is left alone. Reads the CA files. An error names the option at fault
  // and changes nothing.
  [[nodiscard]] Result<void> set_providers(std::vector<H2Options> options);
  // The same for one of them.
  [[nodiscard]] Result<void> add_provider(ProviderIndex provider, H2Options options);

  [[nodiscard]] bool submit(Ticket ticket, ProviderIndex provider, HttpRequest request,
                            Duration timeout) override;
  void cancel(Ticket ticket) override;
  void warm_up(ProviderIndex provider) override;
  void renew(ProviderIndex provider) override;
  [[nodiscard]] PoolState state(ProviderIndex provider) const override;
  [[nodiscard]] std::size_t room_at(ProviderIndex provider,
                                    std::string_view authority) const override;
  void warm_up_at(ProviderIndex provider, std::string_view authority) override;
  [[nodiscard]] std::vector<std::pair<std::string, PoolState>> origins(
      ProviderIndex provider) const override;
  void poll(std::vector<Completion>& done, Duration wait) override;
  void wake() override;

 private:
  H2Transport(std::unique_ptr<EventLoop> loop, const Clock& clock, Log& log, std::uint64_t seed);

  // How one provider is reached: by a pool or by origins, as its options say.
  struct Reach {
    std::unique_ptr<H2Pool> pool{};
    std::unique_ptr<H2Origins> origins{};
    // Beside a pool that holds their options.
    std::unique_ptr<SmtpPool> mails{};
    std::unique_ptr<CurlLane> lane{};  // HTTP/1.1
  };
  // Empty: what runs has these options already.
  [[nodiscard]] Result<Reach> make(ProviderIndex provider, H2Options options);
  [[nodiscard]] Result<std::unique_ptr<SmtpPool>> make_mails(const H2Options& options,
                                                             const TrustStore& trust);
  void put(ProviderIndex provider, Reach fresh);
  [[nodiscard]] Result<TrustStore> trust_for(const std::string& ca_file);
  [[nodiscard]] const Reach& reach(ProviderIndex provider) const;
  template <class F>
  void each_pool(F&& f) const;
  template <class F>
  void each_mail_pool(F&& f) const;
  template <class F>
  void each_lane(F&& f) const;
  void service();
  [[nodiscard]] std::optional<MonoTime> due() const;
  [[nodiscard]] int timeout_ms(Duration wait) const;
  void fire_timers();

  struct LoadedTrust {
    std::string file{};
    std::int64_t changed = 0;  // its mtime in ns, so that a renewed bundle is read again
    TrustStore store{};
  };

  std::unique_ptr<EventLoop> loop_;
  Random random_;
  std::vector<Completion> ready_{};
  std::vector<Call*> expired_{};
  DeadlineWheel wheel_;
  CallStore calls_{};
  CurlMulti multi_;
  std::unique_ptr<CurlLane> lane_;  // credentials: never behind deliveries
  H2Context context_;
  std::vector<LoadedTrust> trusts_{};
  std::vector<Reach> reaches_{};                    // by ProviderIndex
  std::vector<std::unique_ptr<H2Pool>> retired_{};  // draining, after new options
  std::vector<std::unique_ptr<SmtpPool>> retired_mails_{};
  std::vector<std::unique_ptr<CurlLane>> retired_lanes_{};
};

}  // namespace sendonce
