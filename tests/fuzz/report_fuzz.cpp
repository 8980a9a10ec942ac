// Any bytes give a device report or `invalid`, and what was accepted names one device.
// Seeds: tests/unit/message/report_examples/valid and invalid.
#include <cstddef>
#include <cstdint>

#include "plugin/core/assert.hpp"
#include "plugin/message/device_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static sendonce::DeviceReportDecoder decoder;
  const auto report = decoder.decode({reinterpret_cast<const char*>(data), size});
  if (report) {
    SO_ASSERT(report->hash.has_value() != report->form.has_value());
    SO_ASSERT(report->hash.has_value() == report->target.destination.empty());
    SO_ASSERT(report->target.provider.empty() == report->target.kind.has_value());
    SO_ASSERT(report->reason.size() <= 120);
    return 0;
  }
  SO_ASSERT(report.error().code == sendonce::Errc::invalid);
  SO_ASSERT(report.error().text.starts_with("$"));
  for (const char c : report.error().text) SO_ASSERT(c >= ' ' && c <= '~');  // safe to log
  return 0;
}
