// What lies in StateSaveLocation and cannot be used: slurmctld -t passed it, and the start told to
// throw it away.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "common/auth/signer.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/saved_state.hpp"
#include "ctld/start_checks.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::ctld {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class StateChecks : public ::testing::Test {
 protected:
  StateChecks() {
    config_.config_path = path("slurm.conf");
    config_.auth_type = "auth/munge";
    config_.slurm_user_id = ::geteuid();
    config_.state_save_location = path("state");
    config_.slurmctld_pid_file = path("slurmctld.pid");
    config_.slurmctld_log_file = path("slurmctld.log");
    std::ofstream(path("slurm.conf")) << "";
    fs::create_directory(path("state"));
    // in this order: beside an older key it would be one that a refused start left
    EXPECT_TRUE(journal::SqliteStore::open(path("state/journal")));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(net::CredentialSigner::create(key_));
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] Texts found() const { return start_findings(config_).errors; }
  void give_state_to(const passwd& user) const {
    fs::permissions(path("."), fs::perms(0755));
    ASSERT_EQ(::chown(path("state").c_str(), user.pw_uid, user.pw_gid), 0);
    for (const auto& entry : fs::recursive_directory_iterator(path("state")))
      ASSERT_EQ(::chown(entry.path().c_str(), user.pw_uid, user.pw_gid), 0);
    ASSERT_EQ(::chown(path("slurmctld.log").c_str(), user.pw_uid, user.pw_gid), 0);
  }
  const test::TempFolder folder_;
  const std::string key_ = (folder_ / "state/credential.key").string();
  ClusterConfig config_;
};

TEST_F(StateChecks, AKeyThatIsNotTaken) {
  EXPECT_EQ(found(), Texts{});
  fs::permissions(key_, fs::perms(0640));
  EXPECT_EQ(found(), Texts{"StateSaveLocation: key file " + key_ +
                           ": its mode is 0640; only its owner may have access (0600 or 0400)"});
  fs::permissions(key_, fs::perms(0600));
  for (const size_t bytes : {size_t{0}, size_t{31}, size_t{64}}) {
    std::ofstream(key_) << std::string(bytes, 'k');
    EXPECT_EQ(found(),
              Texts{"StateSaveLocation: key file " + key_ + ": it must hold 32 to 32 bytes"});
  }
}

TEST_F(StateChecks, FilesOfAnotherUser) {
  const passwd* nobody = ::getpwnam("nobody");  // NOLINT(concurrency-mt-unsafe): one thread
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "needs root, and a user who is not";
  config_.slurm_user_id = nobody->pw_uid;
  std::ofstream(path("slurmctld.log")) << "";
  give_state_to(*nobody);
  EXPECT_EQ(found(), Texts{});
  for (const char* name : {"state/journal/journal.db", "state/journal/lock"}) {
    ASSERT_EQ(::chown(path(name).c_str(), 0, 0), 0);
    fs::permissions(path(name), fs::perms(0644));
    EXPECT_EQ(found(), Texts{"StateSaveLocation: user nobody may not write " + path(name)});
    fs::permissions(path(name), fs::perms(0600));
    EXPECT_EQ(found(), Texts{"StateSaveLocation: user nobody may not read " + path(name)});
    ASSERT_EQ(::chown(path(name).c_str(), nobody->pw_uid, nobody->pw_gid), 0);
    for (const char* end : {"-wal", "-shm"}) fs::remove(path("state/journal/journal.db") + end);
  }
  ASSERT_EQ(::chown(key_.c_str(), 0, 0), 0);
  EXPECT_EQ(found(), Texts{"StateSaveLocation: user nobody may not read " + key_});
  ASSERT_EQ(::chown(key_.c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  ASSERT_EQ(::chown(path("state/journal").c_str(), 0, 0), 0);
  fs::permissions(path("state/journal"), fs::perms(0755));
  EXPECT_EQ(found(),
            Texts{"StateSaveLocation: user nobody may not write in " + path("state/journal")});
  fs::permissions(path("state/journal"), fs::perms(0700));
  EXPECT_EQ(found(),
            Texts{"StateSaveLocation: user nobody may not enter " + path("state/journal")});
}

// The bug: it was said to be gone, and slurmctld -c to be the way out.
TEST_F(StateChecks, AJournalThatCannotBeSeenIsNotGone) {
  const passwd* nobody = ::getpwnam("nobody");  // NOLINT(concurrency-mt-unsafe): one thread
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "needs root, and a user who is not";
  std::ofstream(path("slurmctld.log")) << "";
  give_state_to(*nobody);
  ASSERT_EQ(::chown(path("state/journal").c_str(), 0, 0), 0);
  fs::permissions(path("state/journal"), fs::perms(0700));
  ASSERT_EQ(::seteuid(nobody->pw_uid), 0);
  const Status refused = check_journal_file(config_);
  config_.slurm_user_id = nobody->pw_uid;
  const bool holds_none = holds_no_state(config_);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            path("state/journal") +
                ": Permission denied: it is root's with mode 0700, and slurmctld runs as nobody");
  EXPECT_FALSE(holds_none);
}

}  // namespace
}  // namespace sluice::ctld
