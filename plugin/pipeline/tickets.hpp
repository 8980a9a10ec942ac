// Ticket spaces: deliveries use the low ones (held_message.hpp), everything else has its own top
// byte.
#pragma once

#include "plugin/core/ids.hpp"

namespace sendonce {

enum class TicketKind : std::uint8_t {
  delivery = 0,
  sweep = 1,
  outbox_read = 2,
  outbox_remove = 3,
  credential = 4,    // low bits: provider
  publication = 5,   // low bits: outbox sequence
  operation = 6,     // low bits: a person's request
  report = 16,       // low bits: a report about a device, on its way to the ledger
  report_copy = 17,  // to the dead letters
};

inline constexpr unsigned kTicketKindShift = 56;

[[nodiscard]] constexpr Ticket ticket_of(TicketKind kind, std::uint64_t low) {
  return Ticket(static_cast<std::uint64_t>(kind) << kTicketKindShift | low);
}
[[nodiscard]] constexpr TicketKind kind_of(Ticket ticket) {
  return static_cast<TicketKind>(ticket.get() >> kTicketKindShift);
}
[[nodiscard]] constexpr std::uint64_t low_of(Ticket ticket) {
  return ticket.get() & ((1ULL << kTicketKindShift) - 1);
}

}  // namespace sendonce
