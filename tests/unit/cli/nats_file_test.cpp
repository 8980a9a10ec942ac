// What a nats-server's arguments and file say about the place of its streams.
#include "plugin/cli/doctor/nats_file.hpp"

#include <gtest/gtest.h>

#include "plugin/cli/doctor/local_server.hpp"

namespace sendonce::cli {
namespace {

TEST(NatsFile, forms_of_jetstream) {
  struct Case {
    const char* text;
    bool on;
    const char* store;
  };
  const Case cases[] = {
      {"", false, ""},
      {"listen: 127.0.0.1:4222\n", false, ""},
      {"jetstream {}", true, ""},
      {"jetstream: {}", true, ""},
      {"jetstream: enabled\nhttp: 8222\n", true, ""},
      {"JetStream = true", true, ""},
      {"jetstream: false", false, ""},
      {"jetstream { store_dir: \"/var/lib/nats\" }", true, "/var/lib/nats"},
      {"jetstream {\n  storedir = '/data'\n  max_mem: 1GB\n}\n", true, "/data"},
      {"jetstream {\n # store_dir: \"/no\"\n // store_dir: /no\n store_dir /data\n}", true,
       "/data"},
      {"jetstream {}\njetstream { store_dir: \"/later\" }", true, "/later"},
      {"jetstream { store_dir: /first }\njetstream {}", true, ""},
      {"jetstream { store_dir: /x }\njetstream: disabled", false, ""},
      {"accounts { A { jetstream: enabled, store_dir: /no } }", false, ""},
      {"cluster { routes: [ nats://a:1, \"nats://b:2\" ] }\njetstream { store_dir: /x}", true,
       "/x"},
      {"a: [ { b: [1, 2] }, 3 ]\njetstream {store_dir: /x}", true, "/x"},
  };
  for (const Case& c : cases) {
    const NatsFile file = read_nats_file(c.text);
    EXPECT_EQ(file.jetstream, c.on) << c.text;
    EXPECT_EQ(file.store_dir.value_or(""), c.store) << c.text;
    EXPECT_FALSE(file.unclear) << c.text;
  }
}

TEST(NatsFile, says_when_the_answer_stands_elsewhere) {
  EXPECT_TRUE(read_nats_file("jetstream { store_dir: $DIR }").unclear);
  EXPECT_TRUE(read_nats_file("include \"js.conf\"\n").unclear);
  EXPECT_TRUE(read_nats_file("jetstream: $ON").unclear);
}

TEST(NatsFile, monitoring_port) {
  EXPECT_EQ(read_nats_file("http: 8222").http_port, 8222);
  EXPECT_EQ(read_nats_file("http_port: 9000\n").http_port, 9000);
  EXPECT_EQ(read_nats_file("http: \"127.0.0.1:8223\"").http_port, 8223);
  EXPECT_EQ(read_nats_file("http: nonsense").http_port, std::nullopt);
}

TEST(NatsFile, any_bytes_end) {
  for (const char* text : {"{", "}}}}", "[", "\"", "jetstream", "jetstream {", "jetstream: [",
                           "a:", ":::", "'", "#", "//", "{[}]", ",;,;", "a\n\n}b{"})
    static_cast<void>(read_nats_file(text));
}

TEST(NatsFile, places_that_do_not_last) {
  for (const char* gone : {"/tmp", "/tmp/nats/jetstream", "/var/tmp/x", "/dev/shm/a", "/run/nats"})
    EXPECT_TRUE(is_volatile(gone)) << gone;
  for (const char* stays : {"/var/lib/nats", "/tmpfs-not", "/data/tmp", "/"})
    EXPECT_FALSE(is_volatile(stays)) << stays;
}

TEST(LocalServer, natural_configuration_of_debian_stores_in_tmp) {
  const LocalServer s = server_from({"/usr/sbin/nats-server", "-c", "/etc/nats-server.conf"},
                                    "jetstream {}\n", "/tmp");
  EXPECT_TRUE(s.jetstream);
  EXPECT_EQ(s.store_dir, "/tmp/nats/jetstream");
}

TEST(LocalServer, arguments_win_over_the_file) {
  const std::vector<std::string> args{"nats-server", "--config=x.conf", "-js", "-sd", "/data", "-m",
                                      "8333"};
  EXPECT_EQ(config_argument(args), "x.conf");
  const LocalServer s = server_from(args, "jetstream { store_dir: /file }", "/tmp");
  EXPECT_EQ(s.store_dir, "/data/jetstream");
  EXPECT_EQ(s.http_port, 8333);
  EXPECT_EQ(server_from({"nats-server", "-js"}, "", "/tmp").store_dir, "/tmp/nats/jetstream");
}

TEST(LocalServer, does_not_guess) {
  EXPECT_EQ(server_from({"nats-server"}, "", "/tmp").store_dir, "");
  EXPECT_EQ(server_from({"nats-server"}, "jetstream { store_dir: $X }", "/tmp").store_dir, "");
  EXPECT_EQ(server_from({"nats-server", "-c"}, "", "/tmp").store_dir, "");
}

TEST(LocalServer, addresses) {
  EXPECT_TRUE(server_address("nats://127.0.0.1:4222")->is_local());
  EXPECT_TRUE(server_address("nats://localhost:4222")->is_local());
  EXPECT_TRUE(server_address("tls://[::1]:4222")->is_local());
  EXPECT_FALSE(server_address("nats://nats.example.com:4222")->is_local());
  EXPECT_EQ(server_address("nats://h:4222")->port, 4222);
  EXPECT_FALSE(server_address("nats").has_value());
}

// Two servers with one port, on addresses of their own.
TEST(LocalServer, listens_on_the_address_and_not_only_on_the_port) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:107E 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 11 1\n"
      "   1: 0200007F:107E 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12 1\n"
      "   2: 0100007F:107F 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 13 1\n"
      "   3: 0100007F:107E 0100007F:9999 01 00000000:00000000 00:00000000 00000000 0 0 14 1\n"
      "   4: 00000000:1080 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 15 1\n"
      "   0: 00000000000000000000000001000000:107E 0:0 0A 0:0 00:0 0 0 0 16 1\n";
  const auto at = [&](const char* host, std::uint16_t port) {
    return listeners_in(table, proc_addresses(host), port);
  };
  using Sockets = std::set<std::string>;
  EXPECT_EQ(at("127.0.0.1", 4222), Sockets{"socket:[11]"});
  EXPECT_EQ(at("127.0.0.2", 4222), Sockets{"socket:[12]"});
  EXPECT_EQ(at("127.0.0.3", 4222), Sockets{});
  EXPECT_EQ(at("[::1]", 4222), Sockets{"socket:[16]"});
  EXPECT_EQ(at("127.0.0.3", 4224), Sockets{"socket:[15]"}) << "on every address";
  EXPECT_EQ(at("127.0.0.1", 4225), Sockets{});
}

TEST(LocalServer, store_from_the_system_account) {
  EXPECT_EQ(store_in_jsz(R"({"server":{},"data":{"config":{"store_dir":"/d/jetstream"}}})"),
            "/d/jetstream");
  EXPECT_EQ(store_in_jsz("nonsense"), std::nullopt);
  EXPECT_EQ(store_in_jsz(R"({"data":{"config":{"store_dir":7}}})"), std::nullopt);
}

}  // namespace
}  // namespace sendonce::cli
