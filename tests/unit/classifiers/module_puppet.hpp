// A provider module that does what a test says, through the real interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "classifiers/foreign/module_provider.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {

// What it will say, and what it was asked. One at a time.
struct Puppet {
  sendonce_rc create_rc = SENDONCE_OK;
  std::string error{};    // written by create and prepare
  bool end_error = true;  // with a NUL
  bool makes_nothing = false;
  sendonce_provider_description description{};
  sendonce_rc prepare_rc = SENDONCE_OK;
  sendonce_request request{};
  sendonce_verdict verdict{};
  sendonce_verdict verdict_of_status{};  // when it is asked about the bare status
  bool by_contents = false;              // use verdict_of_status then
  const void* auth = nullptr;
  int alive = 0;
  int asked = 0;
  std::vector<std::pair<std::string, std::string>> settings{};
  std::string seen{};  // the delivery, in a line
  int last_status = 0;
  int last_cause = 0;
  int last_effect = 0;
  bool has_credential = false;
  int exchanges = 0;
  int refusals = 0;
  sendonce_request auth_request{};
  sendonce_verdict auth_verdict{};
};

Puppet& puppet();
void reset_puppet();
[[nodiscard]] const sendonce_provider_api& puppet_api();
[[nodiscard]] const sendonce_auth_api& puppet_auth();
[[nodiscard]] sendonce_verdict says(std::int32_t verdict, std::int32_t effect = 0);
[[nodiscard]] sendonce_str c(const char* text);

}  // namespace sendonce::test
