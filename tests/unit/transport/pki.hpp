// The certificates of these tests as files, made once per process.
#pragma once

#include <string>

#include "tests/support/temp_dir.hpp"

namespace sendonce::test {

class Pki {
 public:
  static const Pki& get();

  // PEM files. `name`: server (localhost, 127.0.0.1), wrong (another name), expired, unknown
  // (another CA), client, stranger (a client certificate of another CA).
  [[nodiscard]] std::string certificate(const std::string& name) const { return at(name + ".pem"); }
  [[nodiscard]] std::string key(const std::string& name) const { return at(name + ".key"); }
  [[nodiscard]] std::string ca() const { return at("ca.pem"); }
  [[nodiscard]] std::string other_ca() const { return at("other.pem"); }
  [[nodiscard]] std::string at(const std::string& file) const { return (folder_ / file).string(); }

 private:
  Pki();
  TempDir folder_{};
};

}  // namespace sendonce::test
