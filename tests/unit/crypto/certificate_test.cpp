// When certificates end. Made with `openssl ca -selfsign`, to end with 2030 and with 2040.
#include "plugin/crypto/certificate.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

constexpr const char* kUntil2031 = R"(-----BEGIN CERTIFICATE-----
MIH+MIGmAgEBMAoGCCqGSM49BAMCMAwxCjAIBgNVBAMMAXgwHhcNMjYwMTAxMDAw
MDAwWhcNMzEwMTAxMDAwMDAwWjAMMQowCAYDVQQDDAF4MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAE0bFlTsp39dpPiU761y0JBpts8GghQyktshRkTtJT35yG+tV9
mgPD/mFOrw8j5cjwQ8SAZ/DxlDF7tt1d9VrcNjAKBggqhkjOPQQDAgNHADBEAiBx
HV22HTJu6Jq7VkTE8rayI5RO9rOqWY+uOrLv0KXlUAIgIhPnvpR02Gdz4GpPxCAO
gqri2qyxxbPdScgRbtymIQY=
-----END CERTIFICATE-----
)";
constexpr const char* kUntil2041 = R"(-----BEGIN CERTIFICATE-----
MIIBADCBpgIBAjAKBggqhkjOPQQDAjAMMQowCAYDVQQDDAF4MB4XDTI2MDEwMTAw
MDAwMFoXDTQxMDEwMTAwMDAwMFowDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABNGxZU7Kd/XaT4lO+tctCQabbPBoIUMpLbIUZE7SU9+chvrV
fZoDw/5hTq8PI+XI8EPEgGfw8ZQxe7bdXfVa3DYwCgYIKoZIzj0EAwIDSQAwRgIh
AOJ8syX8zQ2x7ElMNaw1Tsc3Zbf/5xszdM7WQzEj24GgAiEAytWJY+4UxMt+f9FB
XqXYrqw+yhrBk+dg1JdsKS8aO5c=
-----END CERTIFICATE-----
)";
constexpr WallTime k2031{std::chrono::seconds(1'924'992'000)};
constexpr WallTime k2041{std::chrono::seconds(2'240'611'200)};

TEST(Certificate, one) {
  const auto ends = certificate_ends(kUntil2031);
  ASSERT_TRUE(ends.has_value());
  EXPECT_EQ(ends->first, k2031);
  EXPECT_EQ(ends->last, k2031);
}

TEST(Certificate, several_with_text_around_them) {
  std::string bundle = "# the old one\n";
  bundle += kUntil2041;
  bundle += "\n# the new one\n";
  bundle += kUntil2031;
  const auto ends = certificate_ends(bundle);
  ASSERT_TRUE(ends.has_value());
  EXPECT_EQ(ends->first, k2031);
  EXPECT_EQ(ends->last, k2041);
}

TEST(Certificate, none) {
  for (const char* text : {"", "junk", "-----BEGIN CERTIFICATE-----\nAAAA\n"})
    EXPECT_FALSE(certificate_ends(text).has_value()) << text;
}

}  // namespace
}  // namespace sendonce::test
