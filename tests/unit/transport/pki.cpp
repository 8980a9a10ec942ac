#include "tests/unit/transport/pki.hpp"

#include "tests/support/certificates.hpp"

namespace sendonce::test {

const Pki& Pki::get() {
  static const Pki pki;
  return pki;
}

Pki::Pki() {
  const Authority authority;
  const Authority other;
  folder_.write("ca.pem", authority.pem());
  folder_.write("other.pem", other.pem());
  folder_.write("empty.pem", "nothing here\n");
  const auto keep = [this](const std::string& name, const Identity& identity) {
    folder_.write(name + ".pem", identity.certificate);
    folder_.write(name + ".key", identity.key);
  };
  keep("server", authority.issue());
  keep("wrong", authority.wrong_name());
  keep("expired", authority.expired());
  keep("unknown", other.issue());
  keep("client", authority.issue({.names = {"DNS:client.example"}, .client = true}));
  keep("stranger", other.issue({.names = {"DNS:client.example"}, .client = true}));
}

}  // namespace sendonce::test
