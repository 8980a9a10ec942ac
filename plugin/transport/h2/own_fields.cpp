#include "plugin/transport/h2/own_fields.hpp"

#include <nghttp2/nghttp2.h>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kCredential = "authorization";
constexpr char kNeverIndexed = 0x10;  // RFC 7541 6.2.3, the name follows

// RFC 7541 5.2 and 5.1, without Huffman's code: what differs from call to call is short.
void append_text(std::string& out, std::string_view text) {
  constexpr std::size_t kInPrefix = 127;
  if (text.size() < kInPrefix) {
    out.push_back(static_cast<char>(text.size()));
  } else {
    out.push_back(static_cast<char>(kInPrefix));
    std::size_t rest = text.size() - kInPrefix;
    for (; rest >= 128; rest /= 128) out.push_back(static_cast<char>(rest % 128 + 128));
    out.push_back(static_cast<char>(rest));
  }
  out.append(text);
}

nghttp2_hd_deflater* make_packer() {
  nghttp2_hd_deflater* packer = nullptr;
  // With the table's default size, of which the peer is told nothing. It stays empty.
  SO_ASSERT(nghttp2_hd_deflate_new(&packer, NGHTTP2_DEFAULT_HEADER_TABLE_SIZE) == 0);
  return packer;
}

}  // namespace

OwnFields::OwnFields() : packer_(make_packer(), nghttp2_hd_deflate_del) {}

OwnFields::~OwnFields() = default;

bool OwnFields::takes(const Headers::View& field) {
  return field.never_index || field.name == kCredential;
}

void OwnFields::add(const Headers::View& field) {
  if (field.name == kCredential) {
    if (field.value != credential_) pack_credential(field.value);
    packed_.append(packed_credential_);
    return;
  }
  packed_.push_back(kNeverIndexed);
  append_text(packed_, field.name);
  append_text(packed_, field.value);
}

// By nghttp2, with Huffman's code: a token is long and the same for an hour.
void OwnFields::pack_credential(std::string_view value) {
  credential_ = value;
  std::string name(kCredential);
  const nghttp2_nv field{reinterpret_cast<std::uint8_t*>(name.data()),
                         reinterpret_cast<std::uint8_t*>(credential_.data()), name.size(),
                         credential_.size(), NGHTTP2_NV_FLAG_NO_INDEX};
  packed_credential_.resize(nghttp2_hd_deflate_bound(packer_.get(), &field, 1));
  const ssize_t size = nghttp2_hd_deflate_hd(
      packer_.get(), reinterpret_cast<std::uint8_t*>(packed_credential_.data()),
      packed_credential_.size(), &field, 1);
  SO_ASSERT(size > 0);
  packed_credential_.resize(static_cast<std::size_t>(size));
}

}  // namespace sendonce
