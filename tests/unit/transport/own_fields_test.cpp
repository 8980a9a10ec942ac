// Header fields that are packed without nghttp2's session, read by nghttp2's own inflater.
#include "plugin/transport/h2/own_fields.hpp"

#include <nghttp2/nghttp2.h>

#include "tests/unit/transport/rig.hpp"

namespace sendonce::test {
namespace {

struct Field {
  std::string name{};
  std::string value{};
  bool never_index = false;
  friend bool operator==(const Field&, const Field&) = default;
};

class Inflater {
 public:
  Inflater() { SO_ASSERT(nghttp2_hd_inflate_new(&inflater_) == 0); }
  ~Inflater() { nghttp2_hd_inflate_del(inflater_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // A header block; empty when it is none.
  std::vector<Field> read(std::span<const std::uint8_t> block) {
    std::vector<Field> fields;
    int flags = 0;
    while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
      nghttp2_nv nv{};
      const ssize_t n =
          nghttp2_hd_inflate_hd2(inflater_, &nv, &flags, block.data(), block.size(), 1);
      if (n < 0) return {};
      block = block.subspan(static_cast<std::size_t>(n));
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        fields.push_back({std::string(reinterpret_cast<char*>(nv.name), nv.namelen),
                          std::string(reinterpret_cast<char*>(nv.value), nv.valuelen),
                          (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0});
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && block.empty()) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    return fields;
  }
  [[nodiscard]] std::size_t entries() const {
    return nghttp2_hd_inflate_get_num_table_entries(inflater_);
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

std::vector<Field> packed_and_read(OwnFields& own, const std::vector<Field>& fields,
                                   Inflater& inflater) {
  own.clear();
  for (const Field& f : fields) own.add({f.name, f.value, f.never_index});
  return inflater.read(own.packed());
}

TEST(OwnFields, are_those_that_are_secret_or_unique) {
  EXPECT_TRUE(OwnFields::takes({"authorization", "bearer x", false}));
  EXPECT_TRUE(OwnFields::takes({"apns-id", "x", true}));
  EXPECT_FALSE(OwnFields::takes({"apns-topic", "x", false}));
}

// Lengths on both sides of what fits into one byte, and into two.
TEST(OwnFields, say_what_was_given_whatever_its_length) {
  OwnFields own;
  Inflater inflater;
  for (const std::size_t n : {0U, 1U, 126U, 127U, 128U, 254U, 255U, 4096U}) {
    const std::vector<Field> fields{{"x-unique", std::string(n, 'v'), true},
                                    {"authorization", "bearer " + std::string(n, 't'), true},
                                    {std::string(n + 1, 'n'), "v", true}};
    EXPECT_EQ(packed_and_read(own, fields, inflater), fields) << n;
  }
}

TEST(OwnFields, leave_the_peers_table_as_it_is) {
  OwnFields own;
  Inflater inflater;
  const std::size_t before = inflater.entries();
  for (int i = 0; i < 3; ++i) {
    const std::vector<Field> fields{{"authorization", "bearer secret", true},
                                    {"apns-id", std::to_string(i), true}};
    EXPECT_EQ(packed_and_read(own, fields, inflater), fields);
  }
  EXPECT_EQ(inflater.entries(), before);
}

TEST(OwnFields, change_with_the_credential) {
  OwnFields own;
  Inflater inflater;
  for (const char* token : {"bearer one", "bearer two", "bearer two", "bearer one", ""}) {
    const std::vector<Field> fields{{"authorization", token, true}};
    EXPECT_EQ(packed_and_read(own, fields, inflater), fields);
  }
}

// Among requests that nghttp2 packs alone, since they are too large for one frame, and behind one
// that was given up: each gets its own, and the tables of both sides stay in step.
TEST(OwnFields, of_each_request_arrive_with_it) {
  Rig rig;
  ASSERT_TRUE(rig.connected());
  constexpr std::uint64_t kCalls = 12;
  const auto own_of = [](std::uint64_t t) {
    return std::to_string(t) + std::string(t % 3 == 0 ? 9000 : 20, 'u');
  };
  for (std::uint64_t t = 1; t <= kCalls; ++t) {
    HttpRequest r = Driver::request("/ok", t);
    r.headers.add("x-unique", own_of(t), true);
    r.headers.add("x-same", "same");
    if (t == 5) r.not_after_wall = rig.clock.wall() - 1ms;
    ASSERT_TRUE(rig.transport->submit(Ticket(t), Driver::kProvider, std::move(r), 5s));
    if (t == 7) rig.transport->cancel(Ticket(7));
  }
  ASSERT_TRUE(rig.all_ended(kCalls));
  for (std::uint64_t t = 1; t <= kCalls; ++t) {
    if (t == 5 || t == 7) continue;
    rig.expect_answered(t, 200);
    const auto fields = rig.server.headers_of(t);
    EXPECT_EQ(fields.at("x-unique"), own_of(t));
    EXPECT_EQ(fields.at("x-same"), "same");
    EXPECT_EQ(fields.at("authorization"), "bearer secret");
  }
  rig.hold_against_witness();
}

}  // namespace
}  // namespace sendonce::test
