// The record of the fake provider: one JSON line per request.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/crypto/digest.hpp"
#include "tests/support/http_message.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

// What a line says beside the request and the reply.
struct Judgement {
  ProviderKind provider = ProviderKind::other;
  Stage stage = Stage::request;
  std::string_view destination{};
  std::string_view id{};
  std::string_view reason{};  // why it was refused
  bool accepted = false;
  bool scripted = false;  // a rule of the script decided
};

// Any thread. A line names credentials by the first 8 bytes of their SHA-256.
class Recorder {
 public:
  // Appends. Fails `invalid` when the file cannot be opened.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(const std::string& file);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  void add(const Request& request, const Reply& reply, const Judgement& judgement);
  void flush();

 private:
  explicit Recorder(std::FILE* file) : file_(file) {}

  std::mutex mutex_{};
  std::FILE* file_;
  std::string buffer_{};
  Sha256 sha_{};
};

}  // namespace sendonce::test
