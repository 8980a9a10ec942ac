#include "plugin/transport/h2/origins.hpp"

#include <algorithm>

#include "plugin/transport/endpoint.hpp"

namespace sendonce {
namespace {

constexpr Duration kFairTrial = std::chrono::seconds(1);  // and no storm of connects
constexpr Duration kForgotten = std::chrono::seconds(60);

}  // namespace

H2Origins::H2Origins(H2Context& context, H2Options options, TrustStore trust)
    : context_(context), options_(std::move(options)), trust_(std::move(trust)) {}

H2Pool* H2Origins::wanted(std::string_view authority) {
  const auto at = std::ranges::find(entries_, authority, &Entry::authority);
  if (at == entries_.end()) return make(authority);
  at->wanted = context_.now;
  return at->pool.get();
}

const H2Pool* H2Origins::find(std::string_view authority) const {
  const auto at = std::ranges::find(entries_, authority, &Entry::authority);
  return at == entries_.end() ? nullptr : at->pool.get();
}

H2Pool* H2Origins::make(std::string_view authority) {
  H2Options o = options_;
  o.endpoint = "https://" + std::string(authority);
  auto endpoint = parse_endpoint(o.endpoint, false);
  if (!endpoint || !make_place()) return nullptr;
  auto pool = std::make_unique<H2Pool>(context_, std::move(o), std::move(*endpoint), trust_);
  entries_.push_back({std::string(authority), std::move(pool), context_.now, context_.now});
  return entries_.back().pool.get();
}

bool H2Origins::make_place() {
  if (entries_.size() < kMax) return true;
  // Names come from browsers: those that nobody answers at must not keep the others out.
  const auto nobody = std::ranges::find_if(entries_, [this](const Entry& e) {
    const PoolState s = e.pool->state();
    return s.connections == 0 && s.open == 0 && s.last_cause && context_.now - e.made >= kFairTrial;
  });
  if (nobody != entries_.end()) {
    entries_.erase(nobody);
    return true;
  }
  const auto oldest = std::ranges::min_element(entries_, {}, [](const Entry& e) {
    return e.pool->state().open > 0 ? MonoTime::max() : e.wanted;
  });
  if (oldest->pool->state().open > 0 || context_.now - oldest->wanted < kForgotten) return false;
  entries_.erase(oldest);
  return true;
}

PoolState H2Origins::state() const {
  PoolState sum;
  for (const Entry& e : entries_) {
    PoolState s = e.pool->state();
    sum.room += s.room;
    sum.open += s.open;
    sum.connections += s.connections;
    sum.connects += s.connects;
    sum.goaways += s.goaways;
    if (s.last_cause) sum.last_cause = s.last_cause;
    if (!s.last_error.empty()) sum.last_error = e.authority + ": " + s.last_error;
    if (s.retry_at && (!sum.retry_at || *s.retry_at < *sum.retry_at)) sum.retry_at = s.retry_at;
  }
  if (sum.connections > 0) sum.last_cause.reset();
  return sum;
}

std::vector<std::pair<std::string, PoolState>> H2Origins::states() const {
  std::vector<std::pair<std::string, PoolState>> out;
  out.reserve(entries_.size());
  for (const Entry& e : entries_) out.emplace_back(e.authority, e.pool->state());
  return out;
}

void H2Origins::succeed(H2Origins& old, std::vector<std::unique_ptr<H2Pool>>& retired) {
  for (Entry& e : old.entries_) {
    if (H2Pool* fresh = make(e.authority); fresh != nullptr) {
      fresh->succeed(*e.pool);
      retired.push_back(std::move(e.pool));
    }
  }
  old.entries_.clear();
}

}  // namespace sendonce
