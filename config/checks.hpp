// What has to hold between the keys of a configuration. Each check is a pure function of the
// values; check_config runs them all. What needs this machine is in environment.hpp, what needs a
// NATS server belongs to `setup`.
#pragma once

#include <chrono>
#include <string_view>

#include "config/finding.hpp"
#include "config/schema.hpp"

namespace sendonce {

inline constexpr std::string_view kOutgoing = "sendonce.>";  // our own events and dead letters

// Between the clocks of two machines, and between a deadline and the code that obeys it.
inline constexpr Duration kClockSlack = std::chrono::seconds(2);
// What a claim needs beside the call: commits, queues, and kClockSlack.
inline constexpr Duration kClaimSlack = std::chrono::seconds(7);

struct CheckInput {
  const Config& config;
  const KeyPositions& positions;
};

void check_config(const CheckInput& in, Findings& out);

// ---- the process: checks_process.cpp
void check_presence(const CheckInput& in, Findings& out);  // something to do
void check_names(const CheckInput& in, Findings& out);     // [A-Za-z0-9_-]
void check_paths(const CheckInput& in, Findings& out);     // absolute
void check_nats(const CheckInput& in, Findings& out);      // URLs, domain or api_prefix
void check_streams(const CheckInput& in, Findings& out);   // in and out differ
void check_metrics(const CheckInput& in, Findings& out);   // an address, on loopback
void check_reports(const CheckInput& in, Findings& out);   // subjects and a name of their own
void check_map_size(const CheckInput& in, Findings& out);  // room for the rows expected

// ---- providers and routes: checks_provider.cpp
void check_providers(const CheckInput& in, Findings& out);  // what needs no class, all of it
void check_calls(const CheckInput& in, Findings& out);      // connect < total
void check_drain(const CheckInput& in, Findings& out);      // drain >= the longest call
void check_endpoints(const CheckInput& in, Findings& out);  // https, no secrets in URLs
void check_proxies(const CheckInput& in, Findings& out);
void check_apple_ids(const CheckInput& in, Findings& out);  // 10 letters and digits
void check_routes(const CheckInput& in, Findings& out);     // known providers of the channel
void check_policies(const CheckInput& in, Findings& out);   // the provider can do what is asked
void check_rates(const CheckInput& in, Findings& out);      // a class within its providers
// "host" or "*.domain", lower case, perhaps with ":port"; never an address.
[[nodiscard]] bool is_origin(std::string_view text);
void check_http(const CheckInput& in, Findings& out);  // checks_http.cpp: kind = "http"
// Its request holds {ttl}: no two attempts are the same.
[[nodiscard]] bool shrinks(const HttpSpec& http);
void check_modules(const CheckInput& in, Findings& out);  // checks_http.cpp: kind = "module"
void check_smtp(const CheckInput& in, Findings& out);     // checks_smtp.cpp: kind = "smtp"

// ---- classes: checks_class.cpp
void check_claims(const CheckInput& in, Findings& out);     // claim >= call + slack
void check_ack_wait(const CheckInput& in, Findings& out);   // ack_wait >= claim + slack
void check_expires(const CheckInput& in, Findings& out);    // call < expires <= retention
void check_retention(const CheckInput& in, Findings& out);  // outlives every way to repeat
void check_pending(const CheckInput& in, Findings& out);    // max_ack_pending >= in_flight
void check_retry(const CheckInput& in, Findings& out);      // the attempts fit the horizon
void check_keys(const CheckInput& in, Findings& out);       // recipes
void check_collapse(const CheckInput& in, Findings& out);   // templates
void check_subjects(const CheckInput& in, Findings& out);   // valid, and no two overlap
void check_scopes(const CheckInput& in, Findings& out);     // one table and durable a class

// ---- shared by the above
void report_error(const CheckInput& in, Findings& out, const std::string& field, std::string text,
                  std::string remedy);

// One provider under its checks.
struct Checked {
  const CheckInput& in;
  Findings& out;
  const ProviderConfig& provider;

  [[nodiscard]] std::string field(std::string_view key) const {
    return "provider." + provider.name + "." + std::string(key);
  }
  void report(std::string_view key, std::string text, std::string remedy) const {
    report_error(in, out, field(key), std::move(text), std::move(remedy));
  }
};
void report_warning(const CheckInput& in, Findings& out, const std::string& field, std::string text,
                    std::string remedy);
[[nodiscard]] const ProviderConfig* find_provider(const Config& config, std::string_view provider);
// The longest call over the class's routes; zero without a known provider.
[[nodiscard]] Duration longest_call(const Config& config, const ClassConfig& of);

}  // namespace sendonce
