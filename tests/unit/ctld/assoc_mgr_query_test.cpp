// scontrol show assoc_mgr under PrivateData: who sees which accounts.
#include "ctld/query/assoc_mgr_query.hpp"

#include <set>

#include "unit/limits/accounting_fixture.hpp"

namespace sluice::ctld {
namespace {

using state::kAnn;
using state::kBob;

class AssocMgrTest : public state::AccountingTest {
 protected:
  void hide(std::vector<std::string> what) {
    configure([&](ClusterConfig& config) { config.private_data = std::move(what); });
  }
  // "account" and "account:user", as far as they are shown.
  std::set<std::string> shown_to(state::Identity who) {
    std::set<std::string> out;
    for (const auto& one : assoc_mgr(state_, {}, who.uid, now_).associations)
      out.insert(one.record.account + (one.record.user.empty() ? "" : ":" + one.record.user));
    return out;
  }
  std::set<std::string> accounts_of_qos(state::Identity who) {
    std::set<std::string> out;
    for (const auto& qos : assoc_mgr(state_, {}, who.uid, now_).qos) {
      for (const auto& member : qos.accounts) out.insert(member.name);
    }
    return out;
  }
};

TEST_F(AssocMgrTest, AccountsOfOthersAreHidden) {
  JobSpec spec = batch_spec();
  spec.account = "chem";
  submit(spec);
  const std::set<std::string> all{"root",        "physics", "physics:ann",
                                  "physics:bob", "chem",    "chem:ann"};
  EXPECT_EQ(shown_to(kBob), all);
  EXPECT_EQ(accounts_of_qos(kBob), (std::set<std::string>{"chem"}));
  hide({"accounts"});
  EXPECT_EQ(shown_to(kBob),
            (std::set<std::string>{"root", "physics", "physics:ann", "physics:bob"}));
  EXPECT_EQ(shown_to(kAnn), all);
  EXPECT_EQ(accounts_of_qos(kBob), (std::set<std::string>()));
  EXPECT_EQ(accounts_of_qos(kAnn), (std::set<std::string>{"chem"}));
  hide({"usage"});
  EXPECT_EQ(shown_to(kAnn), (std::set<std::string>{"physics:ann", "chem:ann"}));
  EXPECT_EQ(accounts_of_qos(kAnn), (std::set<std::string>()));
  EXPECT_EQ(shown_to(state::kRoot), all);
}

}  // namespace
}  // namespace sluice::ctld
