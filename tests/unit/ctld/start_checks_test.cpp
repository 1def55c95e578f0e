// slurmctld -t passed files with which the start failed.
#include "ctld/start_checks.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/net/address.hpp"
#include "common/protocol/query.hpp"
#include "common/auth/auth_config.hpp"
#include "common/auth/signer.hpp"
#include "common/rpc/rpc_server.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::ctld {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class StartChecks : public ::testing::Test {
 protected:
  StartChecks() {
    config_.config_path = put("slurm.conf");
    config_.auth_type = "auth/munge";
    config_.slurm_user_id = ::geteuid();
    config_.state_save_location.clear();
    config_.slurmctld_pid_file = path("slurmctld.pid");
    config_.slurmctld_log_file = path("slurmctld.log");
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string put(const std::string& name, fs::perms mode = fs::perms(0644)) const {
    std::ofstream(folder_ / name) << std::string(64, 'k');
    fs::permissions(folder_ / name, mode);
    return path(name);
  }
  test::TempFolder folder_;
  ClusterConfig config_;
};

TEST_F(StartChecks, NothingIsWrong) { EXPECT_EQ(start_findings(config_).errors, Texts{}); }

TEST_F(StartChecks, FoldersOfTheLogAndThePidFile) {
  config_.slurmctld_pid_file = path("no/slurmctld.pid");
  config_.slurmctld_log_file = path("nor/slurmctld.log");
  EXPECT_EQ(start_findings(config_).errors,
            (Texts{"SlurmctldLogFile=" + path("nor/slurmctld.log") + ": the folder is not there",
                   "SlurmctldPidFile=" + path("no/slurmctld.pid") + ": the folder is not there"}));
}

TEST_F(StartChecks, AStateThatAnybodyMayReplace) {
  config_.state_save_location = path("state");
  fs::create_directory(path("state"));
  fs::permissions(path("state"), fs::perms::all);
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"StateSaveLocation=" + path("state") +
                  " has mode 0777: any user could put a state and keys of his own in place of the "
                  "cluster's (chmod 0700 " +
                  path("state") + ")"});
  fs::permissions(path("state"), fs::perms(0775));
  EXPECT_EQ(start_findings(config_).errors, Texts{});
}

TEST_F(StartChecks, CertificatesThatHoldNone) {
  config_.values["TLSType"] = "tls/s2n";
  EXPECT_EQ(start_findings(config_).errors, Texts{}) << "the first start makes them";
  ASSERT_EQ(start_findings(config_).warnings.size(), 1U);
  EXPECT_EQ(start_findings(config_).warnings[0],
            "TLSType=tls/s2n: there are no certificates: the start makes them in " +
                folder_.path().string() + ", with a CA of this cluster's own");
  for (const char* name : {"ca_cert.pem", "ctld_cert.pem"}) (void)put(name);
  (void)put("ctld_cert_key.pem", fs::perms(0600));
  const Texts found = start_findings(config_).errors;
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].find(path("ca_cert.pem")), std::string::npos) << found[0];
}

TEST_F(StartChecks, AKeyThatIsNotThere) {
  config_.auth_type = "auth/slurm";
  config_.auth_info = "socket=" + path("sack.socket");
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"AuthType=auth/slurm: the key " + path("slurm.key") + " is not there"});
}

// The bug: with either of them the start failed.
TEST_F(StartChecks, ALockOfTheTokenSocketThatIsAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  config_.auth_type = "auth/slurm";
  config_.slurm_user_id = 1;  // daemon
  const std::string socket = path("run/sack.socket");
  config_.auth_info = "socket=" + socket;
  fs::create_directory(path("run"));
  fs::permissions(path("run"), fs::perms::all);
  std::ofstream(socket + ".lock") << "";
  const Texts errors = start_findings(config_).errors;
  EXPECT_TRUE(std::ranges::find(errors, "AuthInfo=socket=" + socket + ": " + socket +
                                            ".lock belongs to uid 0, and uid 1 cannot lock it: "
                                            "remove that file") != errors.end());
}

TEST_F(StartChecks, AJournalThatIsLost) {
  config_.state_save_location = path("state");
  fs::create_directory(path("state"));
  const std::string lost = "StateSaveLocation: " + path("state") +
                           " holds the key of a cluster that was here before, and its journal is "
                           "empty or gone: ";
  ASSERT_TRUE(net::CredentialSigner::create(path("state/credential.key")));
  const auto starts_with_lost = [&] {
    const Texts errors = start_findings(config_).errors;
    return errors.size() == 1 && errors[0].starts_with(lost);
  };
  EXPECT_TRUE(starts_with_lost());
  // a start of before made an empty one
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(journal::SqliteStore::open(path("state/journal")));
  EXPECT_TRUE(starts_with_lost());
}

TEST_F(StartChecks, AKeyThatIsNotTaken) {
  config_.auth_type = "auth/slurm";
  config_.auth_info = "socket=" + path("sack.socket");
  const std::string key = put("slurm.key");
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"AuthType=auth/slurm: key file " + key +
                  ": its mode is 0644; only its owner may have access (0600 or 0400)"});
  fs::permissions(key, fs::perms(0600));
  EXPECT_EQ(start_findings(config_).errors, Texts{});
  std::ofstream(key) << "short";
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"AuthType=auth/slurm: key file " + key + ": it must hold 32 to 4096 bytes"});
}

// The bug: two lines told of its mode.
TEST_F(StartChecks, AKeyIsToldOfOnce) {
  const std::string key = put("slurm.key");
  std::ofstream(config_.config_path)
      << "ClusterName=c\nSlurmctldHost=localhost(127.0.0.1)\nAuthType=auth/slurm\nAuthInfo=socket="
      << path("sack.socket") << "\nStateSaveLocation=" << path("state")
      << "\nSlurmctldPidFile=" << path("pid") << "\nSlurmctldPort=1\nSlurmUser=" << ::geteuid()
      << "\nNodeName=n1 NodeAddr=127.0.0.1\nPartitionName=p Nodes=ALL\n";
  ConfigCheck check = check_config(config_.config_path);
  ASSERT_EQ(check.errors, Texts{});
  ASSERT_EQ(check.warnings.size(), 1U) << "which sluice check tells";
  add_start_checks(check);
  EXPECT_EQ(check.errors,
            Texts{"AuthType=auth/slurm: key file " + key +
                  ": its mode is 0644; only its owner may have access (0600 or 0400)"});
  EXPECT_EQ(check.warnings,
            Texts{"StateSaveLocation=" + path("state") +
                  " holds no state: the first start begins a new cluster there. If there was one "
                  "before, see that the folder is the right one, and mounted"});
}

// The bug: without munged the start waits, and nothing was said of it.
TEST_F(StartChecks, MungedIsLookedFor) {
  config_.auth_info = "socket=" + path("munge.socket");
  EXPECT_EQ(net::auth_warnings(config_),
            Texts{"AuthType=auth/munge: munged does not listen at " + path("munge.socket") +
                  ": No such file or directory"});
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("munge.socket").copy(address.sun_path, sizeof address.sun_path - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the sockets API wants it
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(fd, where, sizeof address), 0);
  EXPECT_EQ(net::auth_warnings(config_).size(), 1U) << "one that was killed leaves it";
  ASSERT_EQ(::listen(fd, 1), 0);
  std::thread silent([fd] {  // who takes connections, and says nothing
    for (int one = -1; (one = ::accept(fd, nullptr, nullptr)) >= 0;) ::close(one);
  });
  const Texts warnings = net::auth_warnings(config_);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("AuthType=auth/munge: munged at " + path("munge.socket") +
                                      " does not answer: "))
      << warnings[0];
  ::shutdown(fd, SHUT_RDWR);
  silent.join();
  ::close(fd);
  config_.auth_type = "auth/slurm";
  EXPECT_EQ(net::auth_warnings(config_), Texts{});
}

TEST_F(StartChecks, FoldersThatSlurmUserMayNotWriteIn) {
  const passwd* nobody = ::getpwnam("nobody");  // NOLINT(concurrency-mt-unsafe): one thread
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "needs root, and a user who is not";
  config_.slurm_user_id = nobody->pw_uid;
  fs::permissions(path("."), fs::perms(0755));
  config_.auth_type = "auth/slurm";
  config_.auth_info = "socket=" + path("run/sack.socket");
  const std::string key = put("slurm.key", fs::perms(0600));
  ASSERT_EQ(::chown(key.c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  for (const char* name : {"run", "state"}) fs::create_directory(path(name));
  config_.state_save_location = path("state");
  EXPECT_EQ(start_findings(config_).errors,
            (Texts{"AuthInfo=socket=" + path("run/sack.socket") +
                       ": user nobody may not write in " + path("run"),
                   "StateSaveLocation=" + path("state") + ": user nobody may not write in " +
                       path("state")}));
  for (const char* name : {"run", "state"})
    ASSERT_EQ(::chown(path(name).c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  EXPECT_EQ(start_findings(config_).errors, Texts{});
}

TEST_F(StartChecks, FilesThatSlurmUserMayNotRead) {
  const passwd* nobody = ::getpwnam("nobody");  // NOLINT(concurrency-mt-unsafe): one thread
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "needs root, and a user who is not";
  config_.slurm_user_id = nobody->pw_uid;
  config_.auth_type = "auth/slurm";
  config_.auth_info = "socket=/tmp/sack.socket";
  fs::permissions(path("."), fs::perms(0755));
  const std::string key = put("slurm.key", fs::perms(0600));
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"AuthType=auth/slurm: user nobody may not read " + key});
  ASSERT_EQ(::chown(key.c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  EXPECT_EQ(start_findings(config_).errors, Texts{});
  fs::permissions(config_.config_path, fs::perms(0600));
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"SlurmUser: user nobody may not read " + config_.config_path});
  fs::permissions(path("."), fs::perms(0700));
  EXPECT_EQ(start_findings(config_).errors.size(), 3U) << "nor come to it, and to the log";
}

// Only the start told of it.
TEST_F(StartChecks, TheFolderOfTheSocketIsNotThere) {
  config_.auth_type = "auth/slurm";
  config_.auth_info = "socket=" + path("no/sack.socket");
  (void)put("slurm.key", fs::perms(0600));
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"AuthInfo=socket=" + path("no/sack.socket") + ": the folder is not there"});
}

// Nor were they looked at: `scontrol reconfigure` failed then, or a file was passed over in
// silence.
TEST_F(StartChecks, IncludedFilesThatSlurmUserMayNotRead) {
  const passwd* nobody = ::getpwnam("nobody");  // NOLINT(concurrency-mt-unsafe): one thread
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "needs root, and a user who is not";
  config_.slurm_user_id = nobody->pw_uid;
  fs::permissions(path("."), fs::perms(0755));
  fs::create_directory(path("nodes"));
  const auto write = [this](const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms(0644));
  };
  write("slurm.conf", "ClusterName=c\nInclude site.conf\nInclude nodes/*.conf\n");
  write("site.conf", "Include deeper.conf\n");
  write("deeper.conf", "# nothing\n");
  write("nodes/a.conf", "# nothing\n");
  write("gres.conf", "# nothing\n");
  EXPECT_EQ(start_findings(config_).errors, Texts{});
  for (const char* name : {"deeper.conf", "nodes/a.conf", "gres.conf"}) {
    fs::permissions(path(name), fs::perms(0600));
    EXPECT_EQ(start_findings(config_).errors,
              Texts{"SlurmUser: user nobody may not read " + path(name)});
    fs::permissions(path(name), fs::perms(0644));
  }
  fs::permissions(path("nodes"), fs::perms(0711));
  EXPECT_EQ(start_findings(config_).errors,
            Texts{"SlurmUser: user nobody may not read " + path("nodes")});
}

TEST_F(StartChecks, APortThatAnotherProgramHas) {
  const auto taken = net::listen_at(*net::resolve("0.0.0.0:0"), "0.0.0.0:0");
  ASSERT_TRUE(taken) << taken.error().text;
  config_.slurmctld_port = static_cast<uint32_t>(taken->port);
  config_.tcp_timeout = std::chrono::milliseconds(100);
  EXPECT_EQ(start_findings(config_).errors,
            Texts{fmt::format("SlurmctldPort: cannot listen on 0.0.0.0:{}: another process listens "
                              "there (`ss -ltnp` says which)",
                              taken->port)});
  // The bug: one that TLS files which are missing keep from being asked was taken for another.
  std::ofstream(config_.slurmctld_pid_file) << ::getpid() << '\n';
  EXPECT_EQ(start_findings(config_).errors.size(), 1U) << "this is no controller";
  char own_name[16] = {};
  ::prctl(PR_GET_NAME, own_name);
  ::prctl(PR_SET_NAME, "slurmctld");
  EXPECT_EQ(start_findings(config_).errors, Texts{});
  ::prctl(PR_SET_NAME, own_name);
  ::close(taken->fd);
}

TEST_F(StartChecks, ThePortOfTheControllerThatRuns) {
  net::RpcServer server({.addresses = {"0.0.0.0:0"}});
  server.handle<protocol::PingRequest, protocol::PingReply>(
      [](const net::CallContext&, protocol::PingRequest,
         net::Responder<protocol::PingReply> responder) { responder.reply({}); },
      net::kForAnyone);
  ASSERT_TRUE(server.start());
  config_.slurmctld_port = static_cast<uint32_t>(server.port());
  EXPECT_EQ(start_findings(config_).errors, Texts{});
}

}  // namespace
}  // namespace sluice::ctld
