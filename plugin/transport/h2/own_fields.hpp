// Header fields of a request that we pack ourselves (RFC 7541), because nghttp2 would do it at a
// cost: it codes a bearer token with Huffman's code for every request anew, a third of all that it
// does. Fields that are never indexed leave both tables alone, so they may follow, in the same
// header block, whatever nghttp2 has packed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plugin/transport/transport.hpp"

struct nghttp2_hd_deflater;

namespace sendonce {

class OwnFields {
 public:
  OwnFields();
  ~OwnFields();

  // Whether a field is one of these: secret, or another for every request.
  [[nodiscard]] static bool takes(const Headers::View& field);
  // More than so many bytes of names and values are better left to nghttp2, which can make several
  // frames of them.
  static constexpr std::size_t kMostBytes = 8 * 1024;

  void clear() noexcept { packed_.clear(); }
  void add(const Headers::View& field);
  [[nodiscard]] std::span<const std::uint8_t> packed() const noexcept {
    return {reinterpret_cast<const std::uint8_t*>(packed_.data()), packed_.size()};
  }

 private:
  void pack_credential(std::string_view value);

  std::string packed_{};
  // The last credential, and how it was packed.
  std::string credential_{};
  std::string packed_credential_{};
  std::unique_ptr<nghttp2_hd_deflater, void (*)(nghttp2_hd_deflater*)> packer_;
};

}  // namespace sendonce
