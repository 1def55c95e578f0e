// Which host a job is taken to come from: not the one that its command names, unless that fits.
#include "ctld/rpc/submit_hosts.hpp"

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

class SubmitHost : public ::testing::Test {
 protected:
  static net::CallContext from(const std::string& peer, const std::string& credential = "",
                               const std::string& host = "") {
    net::CallContext context;
    context.peer = peer;
    context.identity.authenticated = true;
    context.identity.address = credential;
    context.identity.host = host;
    return context;
  }
  int asked = 0;
  SubmitHosts hosts{"ctl",
                    {[this](const std::string& name) -> std::vector<std::string> {
                       ++asked;
                       if (name == "login1" || name == "login1-ib") return {"10.0.0.1", "10.1.0.1"};
                       if (name == "login2") return {"10.0.0.2"};
                       if (name == "login1.evil.org") return {"10.6.6.6"};
                       return {};
                     },
                     [this](const std::string& address) -> std::string {
                       ++asked;
                       return address == "10.0.0.1"   ? "login1.site.org"
                              : address == "10.0.0.2" ? "login2.site.org"
                              : address == "10.6.6.6" ? "login1.evil.org"
                              : address == "10.0.0.3" ? "login3.site.org"
                                                      : "";
                     }}};
};

TEST_F(SubmitHost, IsNotWhatAnotherHostClaims) {
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000"), "login1"), "login2");
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000"), "login2"), "login2");
  EXPECT_EQ(hosts.name_of(from("10.0.0.9:4000"), "login1"), "10.0.0.9");
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000"), "login1;rm"), "login2");
}

// The bug: who has the names of his own address in hand was taken for a host of the site.
TEST_F(SubmitHost, IsNotWhatItsOwnDnsSaysAlone) {
  EXPECT_EQ(hosts.name_of(from("10.6.6.6:4000"), "login1"), "login1.evil.org");
  EXPECT_EQ(hosts.name_of(from("10.0.0.3:4000"), "login1"), "10.0.0.3") << "nothing leads back";
}

TEST_F(SubmitHost, MayCallItselfByAnyOfItsNames) {
  EXPECT_EQ(hosts.name_of(from("10.1.0.1:4000"), "login1"), "login1") << "its second address";
  EXPECT_EQ(hosts.name_of(from("10.0.0.1:4000"), "login1-ib"), "login1-ib");
}

TEST_F(SubmitHost, OfACredentialComesBeforeThatOfTheConnection) {
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000", "10.0.0.1"), "login2"), "login1");
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000", "127.0.1.1"), "login2"), "login2")
      << "a munged that knows no address";
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000", "", "login7.site.org"), "login1"), "login7")
      << "signed with the cluster's key";
}

TEST_F(SubmitHost, OnTheControllersHostIsThatOne) {
  for (const char* peer : {"127.0.0.1:5", "[::1]:5", "unix:", "local", ""})
    EXPECT_EQ(hosts.name_of(from(peer), "login1"), "ctl") << peer;
  EXPECT_EQ(asked, 0);
}

TEST_F(SubmitHost, IsLookedUpOnceInAWhile) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(hosts.name_of(from("10.0.0.1:4000"), "login1"), "login1");
  EXPECT_EQ(asked, 1);
}

// Else a user has the controller ask DNS as often as he submits.
TEST_F(SubmitHost, IsNotLookedUpForEachNameThatSomebodyMakesUp) {
  EXPECT_EQ(hosts.name_of(from("10.0.0.1:4000"), "login1"), "login1");
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(hosts.name_of(from("10.0.0.1:4000"), "made-up-" + std::to_string(i)), "login1");
  EXPECT_EQ(asked, 10) << "a few names, and the address once";
  EXPECT_EQ(hosts.name_of(from("10.0.0.1:4000"), "login1"), "login1");
  EXPECT_EQ(hosts.name_of(from("10.0.0.2:4000"), "login2"), "login2") << "another host has its own";
}

}  // namespace
}  // namespace sluice::ctld
