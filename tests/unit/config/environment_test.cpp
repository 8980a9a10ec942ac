#include "config/environment.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(FileSystem, NetworkFuseAndOverlayNever) {
  for (const std::uint32_t magic :
       {0x6969U, 0xFF534D42U, 0xFE534D42U, 0x01021997U, 0x65735546U, 0x794C7630U, 0x00C36400U}) {
    EXPECT_TRUE(refused_file_system(magic, Durability::commit)) << magic;
    EXPECT_TRUE(refused_file_system(magic, Durability::process)) << magic;
  }
  EXPECT_EQ(refused_file_system(0x6969, Durability::commit), "a network file system (NFS)");
}

TEST(FileSystem, MemoryOnlyWhenAskedFor) {
  EXPECT_TRUE(refused_file_system(0x01021994, Durability::commit));
  EXPECT_FALSE(refused_file_system(0x01021994, Durability::process));
}

TEST(FileSystem, LocalDisksAreGood) {
  for (const std::uint32_t magic : {0xEF53U, 0x58465342U, 0x9123683EU, 0x2FC12FC1U})
    EXPECT_FALSE(refused_file_system(magic, Durability::commit)) << magic;
}

struct Checked {
  Findings findings{};
  template <class Check>
  std::vector<std::string> operator()(const Config& config, Check check) {
    findings.clear();
    check(CheckInput{config, KeyPositions{}}, findings);
    return texts(findings);
  }
};

Config with_key(const std::string& text) {
  return config_of(with_line(
      good(), 7,
      "auth = { team = \"ABCDE12345\", key_id = \"FGHIJ67890\", key = \"" + text + "\" }"));
}

TEST(CheckCredentials, FilesMustBeThereAndPrivate) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("apns.p8", "secret");
  Checked checked;
  EXPECT_THAT(checked(with_key("file:" + path), check_credentials), IsEmpty());
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(checked(with_key("file:" + path), check_credentials),
              ElementsAre(HasSubstr("error: provider.apns.auth.key: file:" + path +
                                    " is open to group or others")));
  EXPECT_THAT(checked(with_key("file:/nonexistent/k"), check_credentials),
              ElementsAre(HasSubstr("cannot be opened: No such file or directory")));
}

TEST(CheckCredentials, EveryReferenceIsFollowed) {
  Config config = with_key("file:/nonexistent/a");
  config.nats.credentials = SecretRef{"file:/nonexistent/b", {}};
  config.providers.at(0).service_account = SecretRef{"file:/nonexistent/c", {}};
  config.providers.at(0).proxy_credentials = SecretRef{"file:/nonexistent/d", {}};
  EXPECT_EQ(Checked()(config, check_credentials).size(), 4U);
}

TEST(CheckCertificates, MustBeReadable) {
  const ScratchDirectory scratch;
  Config config = config_of(good());
  config.nats.ca = scratch.write("ca.pem", "pem");
  config.providers.at(0).ca = scratch.path() + "/missing.pem";
  EXPECT_THAT(Checked()(config, check_certificates),
              ElementsAre(HasSubstr("provider.apns.tls.ca: " + scratch.path() +
                                    "/missing.pem cannot be read: No such file")));
}

TEST(CheckStateDir, LooksAtWhereItWouldBeMade) {
  const ScratchDirectory scratch;
  struct statfs here{};
  ASSERT_EQ(::statfs(scratch.path().c_str(), &here), 0);
  const auto magic = static_cast<std::uint32_t>(here.f_type);
  Config config = config_of(good());
  config.instance.state_dir = scratch.path() + "/not/yet/there";
  config.ledger.map_size = 1;
  const auto found = Checked()(config, check_state_dir);
  if (refused_file_system(magic, Durability::commit))
    EXPECT_THAT(found, ElementsAre(HasSubstr("instance.state_dir: " + scratch.path() + " is on")));
  else
    EXPECT_THAT(found, IsEmpty());
}

TEST(CheckStateDir, RefusesProcOfAnyForm) {
  Config config = config_of(good());
  config.instance.state_dir = "/dev/shm/sendonce";
  EXPECT_THAT(Checked()(config, check_state_dir),
              Contains(HasSubstr("instance.state_dir: /dev/shm is on memory (tmpfs)")));
  config.ledger.durability = Durability::process;
  EXPECT_THAT(Checked()(config, check_state_dir), Not(Contains(HasSubstr("memory"))));
}

TEST(CheckStateDir, WarnsOfAMapThatTheDiskCannotHold) {
  const ScratchDirectory scratch;
  Config config = config_of(good());
  config.instance.state_dir = scratch.path();
  config.ledger.durability = Durability::process;
  config.ledger.map_size = std::uint64_t{1} << 60U;
  EXPECT_THAT(Checked()(config, check_state_dir),
              Contains(HasSubstr("does not fit the disk, which has room for")));
}

TEST(CheckOpenFiles, WarnsWhenTheLimitIsTooLow) {
  Config config = config_of(good());
  EXPECT_EQ(descriptors_needed(config), 66U);
  struct rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(Checked()(config, check_open_files), IsEmpty());
  const struct rlimit low{65, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_THAT(Checked()(config, check_open_files),
              ElementsAre(HasSubstr("up to 66 open files are needed, the limit is 65")));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace
}  // namespace sendonce::test
