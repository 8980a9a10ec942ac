#include "ledger/binding.hpp"

#include <algorithm>

#include "ledger/bytes.hpp"
#include "ledger/crc32c.hpp"

namespace sendonce {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr Duration kUsedEvery = kBindingKept / 4;

std::uint64_t count_of(WallTime time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

WallTime wall_time(std::uint64_t count) {
  return WallTime(Duration(static_cast<Duration::rep>(count)));
}

}  // namespace

// 0 crc32c of [4, 40)   4 version   5 three zeros   8 recipient   16 since   24 used   32 told;
// times are nanoseconds since the Unix epoch.
std::string encode_binding(const DeviceBinding& binding) {
  std::string bytes(kBindingSize, '\0');
  store(bytes.data() + 4, kVersion);
  store(bytes.data() + 8, binding.recipient.get());
  store(bytes.data() + 16, count_of(binding.since));
  store(bytes.data() + 24, count_of(binding.used));
  store(bytes.data() + 32, binding.told.get());
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  return bytes;
}

Result<DeviceBinding> decode_binding(std::string_view bytes) {
  if (bytes.size() != kBindingSize || crc32c(bytes.substr(4)) != load<std::uint32_t>(bytes, 0))
    return fail(Errc::corrupt, "ledger binding: checksum does not match");
  if (load<std::uint8_t>(bytes, 4) != kVersion)
    return fail(Errc::invalid, "ledger binding: written by a newer version of sendonce");
  return DeviceBinding{.recipient = LookupHash(load<std::uint64_t>(bytes, 8)),
                       .since = wall_time(load<std::uint64_t>(bytes, 16)),
                       .used = wall_time(load<std::uint64_t>(bytes, 24)),
                       .told = LookupHash(load<std::uint64_t>(bytes, 32))};
}

bool is_reuse(const DeviceBinding& binding, LookupHash recipient,
              std::optional<WallTime> registered_at) {
  if (binding.recipient == recipient) return false;
  return !registered_at || *registered_at <= binding.since;
}

std::optional<DeviceBinding> decide_bind(const std::optional<DeviceBinding>& found,
                                         const Bind& bind, WallTime now) {
  // A registration of tomorrow would make all that come until then look old.
  const WallTime since = std::min(bind.registered_at.value_or(now), now);
  if (!found ||
      (found->recipient != bind.recipient && !is_reuse(*found, bind.recipient, bind.registered_at)))
    return DeviceBinding{.recipient = bind.recipient, .since = since, .used = now, .told = {}};
  if (found->recipient != bind.recipient) return std::nullopt;
  DeviceBinding next = *found;
  if (bind.registered_at) next.since = std::max(next.since, since);
  if (now - next.used >= kUsedEvery) next.used = now;
  return next == *found ? std::nullopt : std::optional(next);
}

}  // namespace sendonce
