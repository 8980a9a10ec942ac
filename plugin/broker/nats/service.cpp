#include "plugin/broker/nats/service.hpp"

#include <array>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::array<std::string_view, 3> kVerbs{"PING", "INFO", "STATS"};
constexpr std::string_view kDescription =
    "delivers notifications from JetStream at most once per key";

void member(std::string& out, std::string_view name, std::string_view text) {
  if (!out.ends_with('{')) out.push_back(',');
  append_json_string(out, name);
  out.push_back(':');
  append_json_string(out, text);
}

void member(std::string& out, std::string_view name, std::uint64_t value) {
  if (!out.ends_with('{')) out.push_back(',');
  append_json_string(out, name);
  out.push_back(':');
  append_number(out, static_cast<std::int64_t>(value));
}

std::string begin(const ServiceDescription& service, std::string_view type) {
  std::string out = "{";
  member(out, "type", type);
  member(out, "name", service.name);
  member(out, "id", service.id);
  member(out, "version", service.version);
  out += R"(,"metadata":{})";
  return out;
}

void begin_endpoint(std::string& out, const ServiceEndpoint& endpoint) {
  if (!out.ends_with('[')) out.push_back(',');
  out.push_back('{');
  member(out, "name", endpoint.name);
  member(out, "subject", endpoint.subject);
  member(out, "queue_group", endpoint.group);
}

std::string info(const ServiceDescription& service) {
  std::string out = begin(service, "io.nats.micro.v1.info_response");
  member(out, "description", kDescription);
  out += R"(,"endpoints":[)";
  for (const ServiceEndpoint& endpoint : service.endpoints) {
    begin_endpoint(out, endpoint);
    out += R"(,"metadata":{}})";
  }
  return out += "]}";
}

std::string stats(const ServiceDescription& service, std::span<const ServiceCounts> counts) {
  std::string out = begin(service, "io.nats.micro.v1.stats_response");
  member(out, "started", rfc3339(service.started));
  out += R"(,"endpoints":[)";
  for (std::size_t i = 0; i < service.endpoints.size(); ++i) {
    const ServiceCounts c = i < counts.size() ? counts[i] : ServiceCounts{};
    const auto processing = static_cast<std::uint64_t>(c.processing.count());
    begin_endpoint(out, service.endpoints[i]);
    member(out, "num_requests", c.requests);
    member(out, "num_errors", c.errors);
    member(out, "last_error", "");
    member(out, "processing_time", processing);
    member(out, "average_processing_time", c.requests == 0 ? 0 : processing / c.requests);
    out += R"(,"data":{)";
    for (const auto& [name, value] : c.data) member(out, name, value);
    out += "}}";
  }
  return out += "]}";
}

// "$SRV.<verb>", "$SRV.<verb>.<name>", "$SRV.<verb>.<name>.<id>"
std::array<std::string, 3> subjects_of(const ServiceDescription& service, std::string_view verb) {
  std::string all = "$SRV.";
  all += verb;
  std::string of_kind = all;
  of_kind.append(".").append(service.name);
  std::string of_one = of_kind;
  of_one.append(".").append(service.id);
  return {std::move(all), std::move(of_kind), std::move(of_one)};
}

}  // namespace

std::vector<std::string> service_subjects(const ServiceDescription& service) {
  std::vector<std::string> out;
  for (const std::string_view verb : kVerbs)
    for (std::string& subject : subjects_of(service, verb)) out.push_back(std::move(subject));
  return out;
}

std::optional<std::string> service_answer(const ServiceDescription& service,
                                          std::string_view subject,
                                          std::span<const ServiceCounts> counts) {
  for (const std::string_view verb : kVerbs)
    for (const std::string& ours : subjects_of(service, verb)) {
      if (subject != ours) continue;
      if (verb == "INFO") return info(service);
      if (verb == "STATS") return stats(service, counts);
      return begin(service, "io.nats.micro.v1.ping_response") + "}";
    }
  return std::nullopt;
}

bool is_reply_subject(std::string_view subject, std::string_view inbox_prefix) {
  return !subject.empty() && !subject.starts_with('$') && !subject.starts_with("sendonce.") &&
         !subject.starts_with(inbox_prefix);
}

}  // namespace sendonce
