#include "tests/support/recorder.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

constexpr std::array<std::string_view, 10> kHeaders = {
    "apns-id",          "apns-topic",   "apns-push-type", "apns-priority", "apns-expiration",
    "apns-collapse-id", "content-type", "content-length", "user-agent",    "expect"};

std::string short_hash(Sha256& sha, std::string_view bytes) {
  const Sha256Digest digest = sha.of(bytes);
  return hex({reinterpret_cast<const char*>(digest.data()), 8});
}

void member(std::string& out, std::string_view name, std::string_view value) {
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
  out += ',';
}

void number(std::string& out, std::string_view name, std::uint64_t value) {
  append_json_string(out, name);
  out += ':' + std::to_string(value) + ',';
}

void append_headers(std::string& out, const Headers& headers, Sha256& sha) {
  out += "\"headers\":{";
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const Headers::Field f = headers[i];
    if (f.name == "authorization") {
      member(out, f.name, "sha256:" + short_hash(sha, f.value));
    } else if (std::ranges::find(kHeaders, f.name) != kHeaders.end()) {
      member(out, f.name, f.value);
    }
  }
  if (out.back() == ',') out.pop_back();
  out += "},";
}

std::string_view ending_name(Ending ending) {
  switch (ending) {
    case Ending::answer:
      return "answer";
    case Ending::stall:
      return "stall";
    case Ending::deaf:
      return "deaf";
    case Ending::close:
      return "close";
    case Ending::abort:
      return "abort";
    case Ending::reset:
      return "reset";
    case Ending::cut_headers:
      return "cut_headers";
    case Ending::cut_body:
      return "cut_body";
  }
  return "answer";
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& file) {
  std::FILE* opened = std::fopen(file.c_str(), "ae");
  if (opened == nullptr) return fail(Errc::invalid, file + ": cannot be written");
  return std::unique_ptr<Recorder>(new Recorder(opened));
}

Recorder::~Recorder() {
  flush();
  std::fclose(file_);
}

void Recorder::add(const Request& request, const Reply& reply, const Judgement& judgement) {
  const std::lock_guard lock(mutex_);
  std::string& out = buffer_;
  out += '{';
  member(out, "time", rfc3339(request.arrived));
  number(out, "time_ns", static_cast<std::uint64_t>(request.arrived.time_since_epoch().count()));
  number(out, "connection", request.connection);
  number(out, "stream", static_cast<std::uint64_t>(request.stream));
  if (judgement.provider != ProviderKind::smtp) member(out, "http", request.h2 ? "2" : "1.1");
  member(out, "method", request.method);
  member(out, "path", request.path);
  append_headers(out, request.headers, sha_);
  member(out, "seen", judgement.stage == Stage::headers ? "headers" : "request");
  number(out, "body_bytes", request.body.size());
  member(out, "body_sha256", hex([&] {
           const Sha256Digest d = sha_.of(request.body);
           return std::string(reinterpret_cast<const char*>(d.data()), d.size());
         }()));
  member(out, "provider", name(judgement.provider));
  member(out, "destination", judgement.destination);
  member(out, "id", judgement.id);
  member(out, "ending", ending_name(reply.play.ending));
  number(out, "status", static_cast<std::uint64_t>(reply.status));
  member(out, "reason", judgement.reason);
  number(out, "delay_ms",
         static_cast<std::uint64_t>(
             std::chrono::duration_cast<std::chrono::milliseconds>(reply.play.delay).count()));
  out += std::string("\"ends_connection\":") + (ends_connection(reply.play) ? "true," : "false,");
  out += std::string("\"scripted\":") + (judgement.scripted ? "true" : "false");
  out += std::string(",\"accepted\":") + (judgement.accepted ? "true" : "false");
  out += "}\n";
}

void Recorder::flush() {
  const std::lock_guard lock(mutex_);
  if (buffer_.empty()) return;
  std::fwrite(buffer_.data(), 1, buffer_.size(), file_);
  std::fflush(file_);
  buffer_.clear();
}

}  // namespace sendonce::test
