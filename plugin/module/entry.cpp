// The C boundary of the module: translates, catches, forwards. No logic lives here.
#include <algorithm>
#include <cstring>
#include <exception>

#include "plugin/module/check.hpp"
#include "plugin/module/instance.hpp"
#include "sendonce/abi/host.h"

struct sendonce_instance {
  std::unique_ptr<sendonce::Instance> self{};
};

namespace sendonce {
namespace {

void put(sendonce_text* out, std::string_view text) noexcept {
  if (out == nullptr) return;
  out->size = text.size();
  if (out->capacity == 0 || out->data == nullptr) return;
  const std::size_t n = std::min<std::size_t>(text.size(), out->capacity - 1);
  std::memcpy(out->data, text.data(), n);
  out->data[n] = '\0';
}

sendonce_rc rc_of(Errc code) {
  switch (code) {
    case Errc::invalid:
      return SENDONCE_E_INVALID;
    case Errc::unavailable:
      return SENDONCE_E_UNAVAILABLE;
    case Errc::exhausted:
      return SENDONCE_E_EXHAUSTED;
    case Errc::corrupt:
      return SENDONCE_E_CORRUPT;
    case Errc::denied:
      return SENDONCE_E_DENIED;
    case Errc::busy:
      return SENDONCE_E_BUSY;
    case Errc::internal:
      return SENDONCE_E_INTERNAL;
  }
  return SENDONCE_E_INTERNAL;
}

// Every entry runs inside this: nothing thrown ever reaches C.
template <class Body>
sendonce_rc guarded(sendonce_text* error, Body&& body) noexcept {
  try {
    const Result<void> result = body();
    if (result) return SENDONCE_OK;
    put(error, result.error().text);
    return rc_of(result.error().code);
  } catch (const std::exception& e) {
    put(error, e.what());
  } catch (...) {
    put(error, "unknown exception");
  }
  return SENDONCE_E_INTERNAL;
}

sendonce_rc check(const char* path, sendonce_finding_fn finding, void* ctx, sendonce_text* error) {
  return guarded(error, [&]() -> Result<void> {
    const LoadResult loaded = check_installation(path);
    for (const Finding& f : loaded.findings) {
      const std::string text = to_text(f);
      const bool bad = f.severity == Severity::error;
      if (finding != nullptr)
        finding(ctx, bad ? SENDONCE_LEVEL_ERROR : SENDONCE_LEVEL_WARN, {text.data(), text.size()});
    }
    if (!loaded.config) return std::unexpected(to_error(loaded.findings));
    return {};
  });
}

sendonce_rc open(const sendonce_host* host, const char* path, sendonce_instance** out,
                 sendonce_text* error) {
  return guarded(error, [&]() -> Result<void> {
    if (host == nullptr || path == nullptr || out == nullptr ||
        !SENDONCE_HAS(host, sendonce_host, state))
      return fail(Errc::invalid, "host table missing or too short, or no path");
    SO_TRY(auto instance, Instance::open(*host, path));
    *out = new sendonce_instance{std::move(instance)};
    return {};
  });
}

sendonce_rc start(sendonce_instance* instance, sendonce_text* error) {
  return guarded(error, [&] { return instance->self->runtime().start(); });
}

sendonce_rc reload(sendonce_instance* instance, sendonce_text* error) {
  return guarded(error, [&] { return instance->self->runtime().reload(); });
}

sendonce_rc drain(sendonce_instance* instance, uint64_t timeout_ms, sendonce_text* error) {
  return guarded(error, [&]() -> Result<void> {
    Runtime& runtime = instance->self->runtime();
    constexpr std::uint64_t kDay = 24ULL * 3600 * 1000;
    const Duration timeout = timeout_ms == SENDONCE_DRAIN_CONFIGURED
                                 ? runtime.configured_drain()
                                 : std::chrono::milliseconds(std::min(timeout_ms, kDay));
    if (runtime.drain(timeout)) return {};
    return fail(Errc::unavailable,
                "calls were still in flight: their deliveries stay claimed and are in doubt");
  });
}

sendonce_rc stop(sendonce_instance* instance, sendonce_text* error) {
  return guarded(error, [&]() -> Result<void> {
    instance->self->runtime().stop();
    return {};
  });
}

void close(sendonce_instance* instance) {
  (void)guarded(nullptr, [&]() -> Result<void> {
    delete instance;
    return {};
  });
}

sendonce_rc give(sendonce_text* out, const std::string& text) {
  put(out, text);
  return out == nullptr || text.size() < out->capacity ? SENDONCE_OK : SENDONCE_E_EXHAUSTED;
}

sendonce_rc status(sendonce_instance* instance, sendonce_text* out) {
  sendonce_rc rc = SENDONCE_OK;
  const sendonce_rc guard = guarded(nullptr, [&]() -> Result<void> {
    rc = give(out, instance->self->runtime().status_json());
    return {};
  });
  return guard == SENDONCE_OK ? rc : guard;
}

sendonce_rc metrics(sendonce_instance* instance, sendonce_text* out) {
  sendonce_rc rc = SENDONCE_OK;
  const sendonce_rc guard = guarded(nullptr, [&]() -> Result<void> {
    rc = give(out, instance->self->runtime().metrics_text());
    return {};
  });
  return guard == SENDONCE_OK ? rc : guard;
}

sendonce_rc pump(sendonce_instance* instance, uint32_t max_events) {
  bool progress = true;
  const sendonce_rc guard = guarded(nullptr, [&]() -> Result<void> {
    progress = instance->self->runtime().check();
    instance->self->events().pump(max_events);
    return {};
  });
  if (guard != SENDONCE_OK) return guard;
  return progress ? SENDONCE_OK : SENDONCE_E_STALLED;
}

constexpr sendonce_module_api kApi{
    .struct_size = sizeof(sendonce_module_api),
    .abi_minor = SENDONCE_ABI_MINOR,
    .version = SENDONCE_VERSION,
    .check = check,
    .open = open,
    .start = start,
    .reload = reload,
    .drain = drain,
    .stop = stop,
    .close = close,
    .status = status,
    .metrics = metrics,
    .pump = pump,
};

}  // namespace
}  // namespace sendonce

extern "C" const sendonce_module_api* sendonce_module_v1(uint32_t /*host_abi_minor*/) {
  return &sendonce::kApi;
}
