// Provider modules from their files: what loads, what does not, and that the text says why.
#include "plugin/module/loader/provider_file.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "classifiers/foreign/module_provider.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;

std::string module_file(const std::string& name) {
  return SENDONCE_MODULES "/provider_" + name + ".so";
}

std::string refusal(const std::string& path) {
  const auto table = load_provider_file(path);
  EXPECT_FALSE(table.has_value()) << path;
  return table ? "" : table.error().text;
}

TEST(ProviderFile, TheExamplesLoad) {
  for (const char* name : {"gate", "mailer"}) {
    const auto table = load_provider_file(module_file(name));
    ASSERT_TRUE(table.has_value()) << table.error().text;
    EXPECT_EQ(table->name, name);
    EXPECT_EQ(table->version, "1.0.0");
  }
}

TEST(ProviderFile, TheSameFileIsTheSameTable) {
  const auto first = load_provider_file(module_file("gate"));
  const auto second = load_provider_file(module_file("gate"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST(ProviderFile, AModuleOfTheFirstMinorVersionWorks) {
  const auto table = load_provider_file(module_file("1_0"));
  ASSERT_TRUE(table.has_value()) << table.error().text;
  EXPECT_FALSE(has_query(*table->api)) << "its table is shorter than ours";
  auto provider = ModuleProvider::make({.table = *table,
                                        .kind = ProviderKind::http,
                                        .channel = Channel::webhook,
                                        .endpoint = "https://old.example.com"});
  ASSERT_TRUE(provider.has_value()) << provider.error().text;
  HttpAnswer answer;
  answer.status = 204;
  const Target target{};
  EXPECT_EQ((*provider)->classify(target, answer, WallTime{}).name, VerdictClass::accepted);
  answer.status = 404;
  EXPECT_EQ((*provider)->classify(target, answer, WallTime{}).name, VerdictClass::ambiguous);
}

TEST(ProviderFile, WhatIsNoModuleIsRefusedWithTheCure) {
  EXPECT_THAT(refusal("/nonexistent/gate.so"), HasSubstr("name the .so file"));
  EXPECT_THAT(refusal("gate.so"), HasSubstr("not an absolute path"));
  EXPECT_THAT(refusal(SENDONCE_MODULES), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(SENDONCE_FIXTURE), HasSubstr("does not export sendonce_provider_v1"));
  EXPECT_THAT(refusal(module_file("wrong_major")), HasSubstr("one of another major version"));
  EXPECT_THAT(refusal(module_file("too_short")), HasSubstr("ends before classify"));
  EXPECT_THAT(refusal(module_file("holes")), HasSubstr("has a NULL where"));
  EXPECT_THAT(refusal(module_file("nameless")), HasSubstr("no usable name or version"));
  EXPECT_THAT(refusal(module_file("too_new")), HasSubstr("update sendonce"));
}

TEST(ProviderFile, ATextFileIsRefusedWithTheCure) {
  const TempDir dir;
  EXPECT_THAT(refusal(dir.write("gate.so", "no library")), HasSubstr("-shared -fPIC"));
}

class ProviderFileRights : public ::testing::Test {
 protected:
  ProviderFileRights() {
    std::filesystem::create_directory(dir_ / "own");
    std::filesystem::copy_file(module_file("gate"), file());
    chmod_to(file(), 0755);
  }
  [[nodiscard]] std::string file() const { return dir_ / "own/gate.so"; }
  [[nodiscard]] std::string text() const {
    const auto checked = check_provider_file(file());
    if (checked) return "";
    EXPECT_EQ(checked.error().code, Errc::denied);
    return checked.error().text;
  }
  static void chmod_to(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  TempDir dir_{};
};

TEST_F(ProviderFileRights, AnOrdinaryFileIsTaken) {
  EXPECT_EQ(text(), "");
}

TEST_F(ProviderFileRights, AFileThatEverybodyMayWriteIsRefused) {
  chmod_to(file(), 0757);
  EXPECT_THAT(text(), HasSubstr("gate.so may be written by everybody: chmod o-w it"));
}

TEST_F(ProviderFileRights, ADirectoryThatEverybodyMayWriteIsRefused) {
  for (const mode_t mode : {0777U, 01777U}) {  // sticky: others may still put files there first
    chmod_to(dir_ / "own", mode);
    EXPECT_THAT(text(), HasSubstr("into a directory of its own"));
  }
}

TEST_F(ProviderFileRights, SoIsOneFurtherUpUnlessItIsSticky) {
  chmod_to(dir_.path(), 0777);
  EXPECT_THAT(text(), HasSubstr("may be written by everybody"));
  chmod_to(dir_.path(), 01777);
  EXPECT_EQ(text(), "");
}

TEST_F(ProviderFileRights, ALinkIsJudgedByWhatItLeadsTo) {
  std::filesystem::create_directory(dir_ / "links");
  const std::string link = dir_ / "links/gate.so";
  std::filesystem::create_symlink(file(), link);
  EXPECT_TRUE(check_provider_file(link).has_value());
  chmod_to(file(), 0757);
  EXPECT_FALSE(check_provider_file(link).has_value());
}

TEST_F(ProviderFileRights, AFileOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(file().c_str(), 65534, 65534), 0);
  EXPECT_THAT(text(), HasSubstr("belongs to another user"));
}

}  // namespace
}  // namespace sendonce::test
