#include "tests/support/fake_http.hpp"

namespace sendonce::test {

FakeHttp::Judged FakeHttp::judge(const Request& request) const {
  Judged out;
  out.vendor = vendor_of(request.path);
  if (out.vendor != Vendor::none) {
    FakeVendors::Judged of_vendor = vendors_.judge(out.vendor, request);
    out.destination = std::move(of_vendor.destination);
    out.reason = std::move(of_vendor.reason);
    return out;
  }
  out.destination = request.path.substr(std::string_view("/hook/").size());
  out.destination = out.destination.substr(0, out.destination.find('?'));
  out.key = request.headers.find("idempotency-key").value_or("");
  out.question = request.method == "GET";
  if (!out.question && request.method != "POST" && request.method != "PUT") out.reason = "method";
  if (!config_.authorization.empty() && request.headers.find("authorization") !=
                                            std::optional<std::string_view>(config_.authorization))
    out.reason = "unauthorized";
  const auto known = taken_.find(std::string(out.key));
  if (!out.reason.empty() || out.question || out.key.empty() || known == taken_.end()) return out;
  out.known = known->second.body == request.body;
  if (!out.known) out.reason = "Idempotency-Key is already used";
  return out;
}

void FakeHttp::take(const Judged& judged, const Request& request) {
  latest_ = "msg-" + std::to_string(++count_);
  if (const auto reference = request.headers.find("x-reference"))
    found_[std::string(*reference)] = {latest_, request.arrived + config_.search_lag};
  if (!judged.key.empty()) taken_[std::string(judged.key)] = {request.body, latest_};
}

void FakeHttp::write_found(const Request& request, Reply& reply) const {
  constexpr std::string_view kName = "?reference=";
  const std::size_t at = request.path.find(kName);
  const auto found =
      at == std::string::npos ? found_.end() : found_.find(request.path.substr(at + kName.size()));
  const bool there = found != found_.end() && found->second.since <= request.arrived;
  reply.body = there ? R"({"count":1,"messages":[{"id":")" + found->second.id + R"("}]})"
                     : R"({"count":0,"messages":[]})";
}

void FakeHttp::write(const Judged& judged, const Request& request, Reply& reply) {
  if (judged.vendor != Vendor::none) return vendors_.write(judged.vendor, reply);
  const auto known = taken_.find(std::string(judged.key));
  reply.status = 200;
  reply.headers.add("content-type", "application/json");
  if (judged.question) return write_found(request, reply);
  if (judged.known) reply.headers.add("idempotent-replayed", "true");
  reply.body = R"({"id":")" + (known == taken_.end() ? latest_ : known->second.id) + R"("})";
}

void FakeHttp::write_refused(const Judged& judged, Reply& reply) {
  const std::string& reason = judged.reason;
  if (judged.vendor != Vendor::none)
    return FakeVendors::write_refused(judged.vendor, reason, reply);
  reply.status = reason == "method" ? 405 : reason == "unauthorized" ? 401 : 422;
  reply.headers.add("content-type", "application/problem+json");
  reply.body = R"({"title":")" + reason + R"("})";
}

void FakeHttp::write_scripted(const Judged& judged, const Action& action, Reply& reply) {
  if (judged.vendor != Vendor::none && !action.reason.empty())
    return FakeVendors::write_refused(judged.vendor, action.reason, reply);
  if (action.status != 0) reply.status = action.status;
  if (!action.reason.empty()) reply.body = R"({"code":")" + action.reason + R"("})";
}

}  // namespace sendonce::test
