#include "tests/simulation/probes.hpp"

#include <array>

namespace sendonce::sim {
namespace {

constexpr std::array<std::string_view, kPorts> kPortNames{
    "take messages", "credit",      "ack",           "nak",
    "progress",      "terminate",   "publish",       "take confirmations",
    "lane",          "submit",      "serve sockets", "pool state",
    "ledger submit", "ledger take",
};

constexpr std::array<std::string_view, kProbes> kProbeNames{
    "takeover after crash",
    "takeover after stall",
    "fenced settlement",
    "late receipt raises row",
    "late settlement ends nothing",
    "claim repeated after lost reply",
    "settlement repeated after lost reply",
    "commit fails before it writes",
    "commit fails before it is durable",
    "commit fails after it is durable",
    "crash before commit",
    "crash inside commit lost",
    "crash inside commit kept",
    "crash after commit",
    "ledger full refuses claims",
    "ledger full refuses settlements",
    "busy duplicate",
    "waiting duplicate",
    "duplicate of ended",
    "conflict",
    "conflict copied",
    "undecodable copied",
    "refused payload",
    "dead letter due after crash",
    "dead letter lost",
    "dead letter copy refused whole",
    "dead letter published twice",
    "event republished after crash",
    "event published twice",
    "events batched",
    "outcome stream missing",
    "ack lost",
    "ack late",
    "message redelivered while held",
    "message duplicated on the wire",
    "handed back with delay",
    "blocked at max ack pending",
    "consumer recreated while held",
    "stream recreated backwards",
    "old reply dropped by broker",
    "stream purged while held",
    "reconnect with buffered replies",
    "row ended by sweep",
    "claim left behind ended by sweep",
    "row forgotten",
    "duplicate within retention",
    "expired before call",
    "expired at the transport",
    "answer longer than lease",
    "call processed and answer lost",
    "call processed after timeout",
    "receipt in partial answer",
    "success without receipt",
    "refused stream",
    "goaway",
    "reset mid request",
    "no connection",
    "no room at submit",
    "throttled with retry after",
    "throttle became hold",
    "credential refused",
    "credential from another time",
    "credential refreshed",
    "credential exchange failed",
    "config fault holds",
    "part held",
    "hold probed",
    "hold closed",
    "breaker opened",
    "device invalidated",
    "device fault not believed",
    "dead device suppressed",
    "device mismatch kept",
    "resend in doubt",
    "give up in doubt",
    "request changed",
    "key forgotten",
    "look found",
    "look absent",
    "look undecided",
    "looked for after the deadline",
    "resend after two looks",
    "given up after two looks",
    "failed over",
    "doubt stays with its provider",
    "given up for nobody knows whom to ask",
    "attempts exhausted",
    "wall stepped forward",
    "wall stepped back",
    "drained and restarted",
    "reloaded",
    "adopted ledger in doubt",
    "priority last quarter",
    "mixed targets one message",
};

}  // namespace

std::string_view name(Port port) {
  return kPortNames[static_cast<std::size_t>(port)];
}

std::string_view name(Probe probe) {
  return kProbeNames[static_cast<std::size_t>(probe)];
}

void Probes::add(const Probes& other) {
  for (std::size_t i = 0; i < hits.size(); ++i) hits[i] += other.hits[i];
  for (std::size_t i = 0; i < crashes.size(); ++i) crashes[i] += other.crashes[i];
}

}  // namespace sendonce::sim
