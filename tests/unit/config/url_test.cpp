#include "config/url.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(Url, Splits) {
  const auto url = split_url("https://api.example.net:2197/a/b?c");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "api.example.net");
  EXPECT_EQ(url->port, 2197);
  EXPECT_EQ(url->path, "/a/b?c");
  EXPECT_FALSE(url->has_user);
  EXPECT_EQ(split_url("nats://h")->port, 0);
  EXPECT_EQ(split_url("http://[::1]:80")->host, "::1");
  EXPECT_EQ(split_url("http://[::1]")->port, 0);
  EXPECT_TRUE(split_url("https://user:pass@host:1")->has_user);
  EXPECT_EQ(split_url("https://user:p@ss@host:1")->host, "host");
  EXPECT_EQ(split_url("https://host?x")->path, "?x");
}

TEST(Url, RefusesOtherForms) {
  for (const char* bad : {"", "host", "host:80", "://host", "https://", "https://:80",
                          "https://h:", "https://h:0", "https://h:65536", "https://h:8x",
                          "https://h h", "https://[::1", "https://[::1]x", "https://h:1:2"})
    EXPECT_FALSE(split_url(bad)) << bad;
}

TEST(Url, AddressesAreNumbersAndHaveAPort) {
  const auto v4 = split_address("127.0.0.1:8227");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 8227);
  EXPECT_EQ(split_address("[::1]:9")->host, "::1");
  for (const char* bad : {"", "8227", ":8227", "localhost:8227", "127.0.0.1", "127.0.0.1:0",
                          "127.0.0.1:65536", "::1:9", "[::1]", "[127.0.0.1]:9", "http://1.2.3.4:5",
                          "1.2.3:5", "1.2.3.4:5/x", "1.2.3.4:5 "})
    EXPECT_FALSE(split_address(bad)) << bad;
}

TEST(Url, KnowsLoopback) {
  for (const char* yes : {"localhost", "::1", "127.0.0.1", "127.1.2.3"})
    EXPECT_TRUE(is_loopback(yes)) << yes;
  for (const char* no : {"127.0.0.1.example.net", "127.evil.example.net", "localhost.example.net",
                         "10.0.0.1", "::2", "128.0.0.1"})
    EXPECT_FALSE(is_loopback(no)) << no;
}

}  // namespace
}  // namespace sendonce::test
