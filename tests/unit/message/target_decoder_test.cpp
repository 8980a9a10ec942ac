#include "plugin/message/target_decoder.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sendonce {
namespace {

Target target(std::string provider, std::optional<ProviderKind> kind, std::string destination,
              std::string ref) {
  Target t;
  t.provider = std::move(provider);
  t.kind = kind;
  t.destination = Destination(std::move(destination));
  t.ref = std::move(ref);
  return t;
}

std::string refs(const std::vector<Target>& targets) {
  std::string out;
  for (const Target& t : targets) out.append(t.ref);
  return out;
}

TEST(RemoveRepeated, KeepsTheFirstInOrder) {
  std::vector<Target> targets{target("b", {}, "2", "a"), target("a", {}, "1", "b"),
                              target("b", {}, "2", "c"), target("c", {}, "3", "d"),
                              target("a", {}, "1", "e"), target("b", {}, "2", "f")};
  remove_repeated(targets);
  EXPECT_EQ(refs(targets), "abd");
  EXPECT_EQ(targets[2].destination.expose(), "3");
}

TEST(RemoveRepeated, ProviderKindAndDestinationAllCount) {
  std::vector<Target> targets{target("apns", {}, "1", "a"),
                              target("apns-2", {}, "1", "b"),
                              target("", ProviderKind::apns, "1", "c"),
                              target("", ProviderKind::fcm, "1", "d"),
                              target("apns", {}, "2", "e"),
                              target("", ProviderKind::apns, "1", "f")};
  remove_repeated(targets);
  EXPECT_EQ(refs(targets), "abcde");
}

TEST(RemoveRepeated, LeavesOneAndNoneAlone) {
  std::vector<Target> none;
  remove_repeated(none);
  EXPECT_TRUE(none.empty());
  std::vector<Target> one{target("a", {}, "1", "a")};
  remove_repeated(one);
  EXPECT_EQ(refs(one), "a");
}

TEST(RemoveRepeated, AllTheSame) {
  std::vector<Target> targets(500, target("a", {}, "1", "x"));
  targets.front().ref = "first";
  remove_repeated(targets);
  ASSERT_EQ(targets.size(), 1U);
  EXPECT_EQ(targets[0].ref, "first");
}

}  // namespace
}  // namespace sendonce
