// A provider whose requests name their origin.
#include <algorithm>

#include "tests/unit/transport/rig.hpp"

namespace sendonce::test {
namespace {

class OriginsRig : public Driver {
 public:
  OriginsRig() { add(options()); }
  [[nodiscard]] static H2Options options() {
    H2Options o;
    o.name = "test";
    o.ca_file = Pki::get().ca();
    o.many_origins = true;
    return o;
  }
  [[nodiscard]] static std::string at(const FaultServer& server) {
    return "localhost:" + std::to_string(server.port());
  }
  bool submit_to(const std::string& authority, const std::string& path, std::uint64_t ticket,
                 Duration timeout = 10s) {
    HttpRequest r = request(path, ticket);
    r.authority = authority;
    return transport->submit(Ticket(ticket), kProvider, std::move(r), timeout);
  }
  bool connected_to(const std::string& authority) {
    transport->warm_up_at(kProvider, authority);
    return until([&] { return transport->room_at(kProvider, authority) > 0; });
  }
};

TEST(H2Origins, each_request_goes_where_it_says) {
  FaultServer one;
  FaultServer other;
  OriginsRig rig;
  ASSERT_TRUE(rig.submit_to(rig.at(one), "/ok", 1));
  ASSERT_TRUE(rig.submit_to(rig.at(other), "/ok", 2));
  ASSERT_TRUE(rig.submit_to(rig.at(one), "/ok", 3));
  ASSERT_TRUE(rig.all_ended(3));
  for (const std::uint64_t ticket : {1U, 2U, 3U}) rig.expect_answered(ticket, 200);
  EXPECT_EQ(one.seen(1).times + one.seen(3).times, 2);
  EXPECT_EQ(other.seen(2).times, 1);
  EXPECT_EQ(one.totals().accepted, 1);
  EXPECT_EQ(other.totals().accepted, 1);
  EXPECT_EQ(rig.state().connections, 2U);
}

TEST(H2Origins, one_that_is_away_or_full_is_nothing_to_the_others) {
  FaultServer full({.max_streams = 1});
  FaultServer well;
  OriginsRig rig;
  ASSERT_TRUE(rig.connected_to(rig.at(full)));
  ASSERT_TRUE(rig.connected_to(rig.at(well)));
  ASSERT_TRUE(rig.submit_to(rig.at(full), "/silent", 1));
  ASSERT_TRUE(rig.until([&] { return full.seen(1).end_stream; }));
  EXPECT_EQ(rig.transport->room_at(Driver::kProvider, rig.at(full)), 0U);
  EXPECT_GT(rig.transport->room_at(Driver::kProvider, rig.at(well)), 0U);
  const std::string nobody = "localhost:1";
  ASSERT_TRUE(rig.submit_to(nobody, "/ok", 2));
  ASSERT_TRUE(rig.submit_to(rig.at(well), "/ok", 3));
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_failed(2, Effect::not_sent, Cause::connect);
  rig.expect_answered(3, 200);
  EXPECT_FALSE(rig.state().last_cause) << "some are connected";
  for (const auto& [authority, pool] : rig.transport->origins(Driver::kProvider))
    EXPECT_EQ(pool.last_cause.has_value(), authority == nobody) << authority;
  full.answer_all("200");
  ASSERT_TRUE(rig.all_ended(3));
  rig.expect_answered(1, 200);
}

// The name on the certificate is the origin's, whatever other names it has.
TEST(H2Origins, each_is_verified_by_its_own_name) {
  FaultServer server({.identity = "wrong"});
  OriginsRig rig;
  ASSERT_TRUE(rig.submit_to(rig.at(server), "/ok", 1));
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_failed(1, Effect::not_sent, Cause::tls);
  EXPECT_FALSE(server.seen(1).headers);
}

TEST(H2Origins, what_is_no_authority_is_not_taken) {
  OriginsRig rig;
  for (const char* authority : {"", "a/b", "user@localhost", "localhost:0", "localhost:x"})
    EXPECT_FALSE(rig.submit_to(authority, "/ok", 1)) << authority;
  EXPECT_EQ(rig.transport->room_at(Driver::kProvider, "never.example"), 0U);
  EXPECT_TRUE(rig.transport->origins(Driver::kProvider).empty());
}

TEST(H2Origins, their_number_is_bounded_and_the_forgotten_give_way) {
  FaultServer server;
  OriginsRig rig;
  ASSERT_TRUE(rig.submit_to(rig.at(server), "/silent", 1, 5min));
  ASSERT_TRUE(rig.until([&] { return server.seen(1).end_stream; }));
  const auto name = [](std::size_t i) { return "localhost:" + std::to_string(i); };
  for (std::size_t i = 1; i < H2Origins::kMax; ++i)
    rig.transport->warm_up_at(Driver::kProvider, name(i));
  EXPECT_EQ(rig.transport->origins(Driver::kProvider).size(), H2Origins::kMax);
  EXPECT_FALSE(rig.submit_to("127.0.0.1:1", "/ok", 2)) << "all have just been asked for";
  rig.clock.push(61s);
  rig.step();
  ASSERT_TRUE(rig.submit_to("127.0.0.1:1", "/ok", 3));
  const auto all = rig.transport->origins(Driver::kProvider);
  EXPECT_EQ(all.size(), H2Origins::kMax);
  EXPECT_TRUE(std::ranges::any_of(all, [&](const auto& o) { return o.first == rig.at(server); }))
      << "one with a call under way stays";
}

TEST(H2Origins, new_options_take_over_what_waits) {
  FaultServer server({.max_streams = 1});
  OriginsRig rig;
  ASSERT_TRUE(rig.submit_to(rig.at(server), "/silent", 1));
  ASSERT_TRUE(rig.submit_to(rig.at(server), "/ok", 2));
  ASSERT_TRUE(rig.until([&] { return server.seen(1).end_stream; }));
  H2Options changed = rig.options();
  changed.connections = 2;
  rig.add(changed);
  ASSERT_TRUE(rig.all_ended(1));
  rig.expect_answered(2, 200);
  server.answer_all("200");
  ASSERT_TRUE(rig.all_ended(2));
  rig.expect_answered(1, 200);
  EXPECT_EQ(server.seen(1).times, 1);
  EXPECT_EQ(server.seen(2).times, 1);
}

}  // namespace
}  // namespace sendonce::test
