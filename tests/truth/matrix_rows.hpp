// The rows of the fault matrix.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sendonce::truth {

// Where the fault is.
enum class Place : std::uint8_t {
  provider,       // as the script says
  away,           // nothing listens on the provider's port
  no_name,        // its name does not resolve
  tls_alert,      // the handshake is answered with an alert
  foreign_ca,     // its certificate is not of a CA that we trust
  proxy_refuses,  // CONNECT is answered 503
  proxy_closes,   // CONNECT is not answered, the connection closed
};

struct Row {
  std::string fault{};  // for people
  std::string script{};
  Place place = Place::provider;
  int messages = 3;  // of each policy
  // The provider takes messages whose answers are lost: the only excuse for a second copy.
  bool loses_answers = false;
  bool refuses = false;                   // for good: the delivery may fail
  std::chrono::milliseconds at_least{0};  // it may not be over sooner: Retry-After
};

[[nodiscard]] std::vector<Row> matrix_rows();

}  // namespace sendonce::truth
