// How one provider is reached: over HTTP/2, request by request over HTTP/1.1, or by SMTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/transport/h2/session.hpp"
#include "plugin/transport/smtp/options.hpp"

namespace sendonce {

struct H2Options {
  std::string name{};                // for logs
  std::string endpoint{};            // https://host[:port], smtp(s)://; empty with many_origins
  std::string ca_file{};             // PEM; empty: the system's bundle
  std::string client_certificate{};  // PEM files; empty: none
  std::string client_key{};
  std::string proxy{};             // http://host:port; empty: none, whatever the environment says
  Credential proxy_credentials{};  // user:password
  bool insecure = false;           // credential exchange may use plain http to loopback

  std::size_t connections = 1;  // opened one by one, while all others are full and work waits
  std::size_t streams = 1000;   // per connection; the peer's limit counts too
  std::size_t queue = 256;      // requests taken beyond what can start at once
  bool acts_on_whole = true;
  bool one_stream_first = false;
  bool many_origins = false;  // requests name theirs; connections and queue count for each of them
  bool http1 = false;         // requests carry their URL and go by the curl lane
  bool smtp = false;          // requests are e-mails: a connection takes one at a time
  SmtpLogin login{};          // smtp
  AnswerLimits limits{};

  Duration connect_timeout = std::chrono::seconds(3);  // name, TCP, TLS and the peer's SETTINGS
  Duration ping_idle = std::chrono::seconds(60);       // after so long without a byte from the peer
  Duration ping_timeout = std::chrono::seconds(10);
  Duration max_age{};  // 0: none
  Duration backoff_min = std::chrono::milliseconds(200);
  Duration backoff_max = std::chrono::seconds(30);

  friend bool operator==(const H2Options&, const H2Options&) = default;
};

}  // namespace sendonce
