#include "config/credentials.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config/fixture.hpp"

namespace sendonce::test {
namespace {

using testing::HasSubstr;
using testing::Not;

SecretRef file_ref(const std::string& path) {
  return {"file:" + path, {}};
}

Error refused(const SecretRef& ref, std::string_view directory = {}) {
  const Result<Credential> read = read_credential(ref, directory);
  EXPECT_FALSE(read);
  return read ? Error{} : read.error();
}

TEST(Credentials, ReadsAPrivateFile) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("key", "line one\nline two\r\n\n");
  EXPECT_EQ(read_credential(file_ref(path), "").value().expose(), "line one\nline two");
}

TEST(Credentials, ReadsBelowTheCredentialsDirectory) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("apns.p8", "secret");
  // systemd may give group access to its own ramfs.
  ASSERT_EQ(::chmod(path.c_str(), 0440), 0);
  EXPECT_EQ(read_credential({"cred:apns.p8", {}}, scratch.path()).value().expose(), "secret");
  EXPECT_EQ(read_credential(file_ref(path), scratch.path()).value().expose(), "secret");
  EXPECT_EQ(refused(file_ref(path)).code, Errc::denied);
  EXPECT_EQ(refused(file_ref(path), scratch.path() + "/apns").code, Errc::denied);
}

TEST(Credentials, NamesTheMissingDirectory) {
  EXPECT_EQ(refused({"cred:apns.p8", {}}).text,
            "cred:apns.p8 needs $CREDENTIALS_DIRECTORY: run under systemd with "
            "LoadCredential=apns.p8:/path, or write file:/path");
}

TEST(Credentials, RefusesFilesOpenToOthers) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("key", "hunter2");
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0644U, 0777U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const Error error = refused(file_ref(path));
    EXPECT_EQ(error.code, Errc::denied);
    EXPECT_EQ(error.text, "file:" + path +
                              " is open to group or others: chmod 0600 it, as the user that runs "
                              "this process");
  }
}

TEST(Credentials, RefusesWhatIsNoCredential) {
  const ScratchDirectory scratch;
  EXPECT_THAT(refused(file_ref(scratch.path() + "/missing")).text,
              HasSubstr("cannot be opened: No such file or directory"));
  EXPECT_THAT(refused({"cred:missing", {}}, scratch.path()).text,
              HasSubstr("cred:missing (" + scratch.path() + "/missing) cannot be opened"));
  EXPECT_THAT(refused(file_ref(scratch.path())).text, HasSubstr("is not a regular file"));
  EXPECT_THAT(refused(file_ref(scratch.write("empty", ""))).text, HasSubstr("is empty"));
  EXPECT_THAT(refused(file_ref(scratch.write("blank", "\n\n"))).text, HasSubstr("is empty"));
  const std::string big = "hunter2" + std::string(kCredentialBytesMax, 'x');
  const Error error = refused(file_ref(scratch.write("big", big)));
  EXPECT_THAT(error.text, HasSubstr("larger than 64 KiB"));
  EXPECT_THAT(error.text, Not(HasSubstr("hunter2")));
}

TEST(Credentials, DoesNotWaitForAPipe) {
  const ScratchDirectory scratch;
  const std::string pipe = scratch.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refused(file_ref(pipe)).text, HasSubstr("is not a regular file"));
}

TEST(Credentials, FollowsLinks) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("real", "secret");
  const std::string link = scratch.path() + "/link";
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_EQ(read_credential(file_ref(link), "").value().expose(), "secret");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(refused(file_ref(link)).code, Errc::denied);
}

TEST(Credentials, PathsForLibrariesThatWantOne) {
  EXPECT_EQ(credential_path({"cred:nats.creds", {}}, "/run/credentials/x").value(),
            "/run/credentials/x/nats.creds");
  EXPECT_EQ(credential_path(file_ref("/k"), "").value(), "/k");
  EXPECT_FALSE(credential_path({"cred:nats.creds", {}}, ""));
}

}  // namespace
}  // namespace sendonce::test
