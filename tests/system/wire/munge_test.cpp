// Credentials of real mungeds that prove nothing, or not this. Skipped where no munged can be
// started.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/auth/auth_munge.hpp"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;
using net::Identity;
using net::RequestDigest;

template <class Condition>
bool wait_until(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

// A munged with a folder and a key of its own.
class Munged {
 public:
  Munged(std::filesystem::path folder, char key) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    std::ofstream(at("key")) << std::string(64, key);
    std::filesystem::permissions(at("key"), std::filesystem::perms(0600));
    const std::string options[] = {"--key-file=" + at("key"), "--socket=" + socket(),
                                   "--pid-file=" + at("pid"), "--log-file=" + at("log"),
                                   "--seed-file=" + at("seed")};
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a test that is killed leaves none behind
    ::execlp("munged", "munged", "--foreground", "--force", options[0].c_str(), options[1].c_str(),
             options[2].c_str(), options[3].c_str(), options[4].c_str(), nullptr);
    ::_exit(127);
  }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;
  ~Munged() {
    if (!ended_ && pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  // Whether it serves; false once it has ended instead.
  bool serves() {
    const bool settled = wait_until([&] {
      ended_ = ended_ || pid_ < 0 || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
      return ended_ || std::filesystem::exists(socket());
    });
    return settled && !ended_;
  }
  [[nodiscard]] std::string socket() const { return at("socket"); }

 private:
  [[nodiscard]] std::string at(const char* name) const { return folder_ / name; }
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

class MungeTokens : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("sluice-wire-munge-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    munged_.emplace(folder_ / "one", 'a');
    if (!munged_->serves()) GTEST_SKIP() << "no munged can be started here";
    auth_ = net::make_munge_auth(munged_->socket(), "c1");
  }
  void TearDown() override {
    munged_.reset();
    std::filesystem::remove_all(folder_);
  }
  // How the daemon that `auth` stands for refuses a credential; "" when it takes it.
  static std::string refusal(net::AuthProvider& auth, const std::string& credential,
                             const RequestDigest& digest) {
    const Result<Identity> identity = auth.verify(credential, digest);
    if (identity) return "";
    EXPECT_EQ(identity.error().code, ErrorCode::kAuthentication);
    return identity.error().text;
  }
  std::string refusal(const std::string& credential, const RequestDigest& digest) {
    return refusal(*auth_, credential, digest);
  }
  std::string make() {
    const auto credential = auth_->create_token(digest_);
    EXPECT_TRUE(credential) << (credential ? "" : credential.error().text);
    return credential.value_or("");
  }

  std::filesystem::path folder_;
  std::optional<Munged> munged_;
  std::shared_ptr<net::AuthProvider> auth_;
  const RequestDigest digest_ = net::digest_request("n1", "LaunchStep", "bytes");
};

TEST_F(MungeTokens, AGoodOneIsTakenOnce) {
  const std::string credential = make();
  const Result<Identity> identity = auth_->verify(credential, digest_);
  ASSERT_TRUE(identity) << identity.error().text;
  EXPECT_TRUE(identity->authenticated);
  EXPECT_EQ(identity->uid, ::geteuid());
  EXPECT_EQ(identity->gid, ::getegid());
  EXPECT_NE(refusal(credential, digest_).find("the credential was replayed: it was used before"),
            std::string::npos);
}

TEST_F(MungeTokens, OfAnotherKeyItIsRefused) {
  Munged other(folder_ / "other", 'b');
  ASSERT_TRUE(other.serves());
  const auto theirs = net::make_munge_auth(other.socket(), "c1");
  EXPECT_EQ(refusal(*theirs, make(), digest_),
            "auth/munge: the credential is invalid: it was forged, or made with another key");
}

TEST_F(MungeTokens, ForAnotherReceiverMethodOrRequestItIsRefused) {
  for (const RequestDigest& other : {net::digest_request("n2", "LaunchStep", "bytes"),
                                     net::digest_request("n1", "EndStep", "bytes"),
                                     net::digest_request("n1", "LaunchStep", "other")}) {
    EXPECT_EQ(refusal(make(), other),
              "auth/munge: the token belongs to another request, or to one to another daemon");
  }
  const auto cluster = net::make_munge_auth(munged_->socket(), "c2");
  EXPECT_EQ(refusal(*cluster, make(), digest_),
            "auth/munge: the credential is for cluster 'c1', not for 'c2': where ClusterName was "
            "changed in slurm.conf, put the old name back, or restart slurmctld and every slurmd");
}

TEST_F(MungeTokens, TheKeyOfAnAnswerIsForSlurmUser) {
  const auto ours = net::make_munge_auth(munged_->socket(), "c1", ::geteuid());
  const auto token = ours->create_keyed_token(digest_);
  ASSERT_TRUE(token) << token.error().text;
  const Result<Identity> identity = ours->verify(token->token, digest_);
  ASSERT_TRUE(identity) << identity.error().text;
  EXPECT_TRUE(identity->is_user(::geteuid()));
  EXPECT_EQ(identity->answer_key, token->answer_key);
  EXPECT_EQ(identity->answer_key.size(), 32U);
  const auto theirs =
      net::make_munge_auth(munged_->socket(), "c1", ::geteuid() + 1)->create_keyed_token(digest_);
  ASSERT_TRUE(theirs) << theirs.error().text;
  EXPECT_EQ(
      refusal(theirs->token, digest_),
      "auth/munge: the credential is for SlurmUser alone, which this process does not run as");
}

// munged looks at the time before it looks whether a credential was used: one of a second's life
// gets too old in any case.
TEST_F(MungeTokens, AnOldOneIsRefused) {
  const auto hasty = net::make_munge_auth(munged_->socket(), "c1", 0, std::chrono::seconds(1));
  const auto made = hasty->create_token(digest_);
  ASSERT_TRUE(made) << made.error().text;
  const std::string& credential = *made;
  std::string text;
  EXPECT_TRUE(wait_until([&] {
    text = refusal(credential, digest_);
    return text.find(
               "the credential has expired; check the clocks of both hosts (clock difference ") !=
           std::string::npos;
  })) << text;
}

TEST_F(MungeTokens, ItsOutageAndItsReturnAreToldOnce) {
  std::vector<bool> told;
  auth_->on_outage([&](bool away, const std::string&) { told.push_back(away); });
  const std::string credential = make();
  munged_.reset();
  for (int i = 0; i < 2; ++i) {
    const auto proof = auth_->open(credential);
    ASSERT_FALSE(proof);
    EXPECT_EQ(proof.error().code, ErrorCode::kRetry) << proof.error().text;
    EXPECT_FALSE(auth_->create_token(digest_));
  }
  EXPECT_EQ(told, (std::vector<bool>{true}));
  munged_.emplace(folder_ / "one", 'a');
  ASSERT_TRUE(munged_->serves());
  EXPECT_TRUE(wait_until([&] { return auth_->open(credential) || told.size() > 1; }));
  (void)make();
  EXPECT_EQ(told, (std::vector<bool>{true, false}));
}

TEST_F(MungeTokens, WhatIsNoCredentialIsRefused) {
  for (const char* text : {"", "x", "MUNGE:AAAA:", "MUNGE:"})
    EXPECT_NE(refusal(text, digest_), "") << text;
  std::string forged = make();
  char& byte = forged[forged.size() / 2];
  byte = byte == 'A' ? 'B' : 'A';
  EXPECT_NE(refusal(forged, digest_), "");
}

}  // namespace
}  // namespace sluice::testing
