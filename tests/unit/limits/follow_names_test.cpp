// Numbers of associations, QOS and TRES that another database gives.
#include <algorithm>

#include "unit/limits/accounting_fixture.hpp"

namespace sluice::state {
namespace {

class FollowNamesTest : public AccountingTest {
 protected:
  // A job of ann that has run for a while and goes on.
  JobId run_a_while() {
    pass_time(std::chrono::seconds(1));
    const JobId id = submit(batch_spec());
    EXPECT_TRUE(start_job(id, "n1", 2));
    pass_time(std::chrono::minutes(10));
    return id;
  }
  // The same tree in another database: 4 and 5 swap, chemistry's are 12 and 16, QOS 1 and 2 swap.
  void renumber() {
    site_.associations[3].id = kBobPhysics;
    site_.associations[4].id = kAnnPhysics;
    site_.associations[2].id = 12;
    site_.associations[5].id = 16;
    site_.associations[5].parent = 12;
    std::swap(site_.associations[3], site_.associations[4]);
    for (AssociationRecord& record : site_.associations) record.created = from_seconds(1000);
    std::swap(site_.qos[0].name, site_.qos[1].name);
    follow();
  }
};

TEST_F(FollowNamesTest, UsageAndRunningJobsFollowTheNames) {
  const JobId id = run_a_while();
  const double before = used(kAnnPhysics);
  ASSERT_GT(before, 0);
  renumber();
  EXPECT_EQ(used(kBobPhysics), before) << "the number is ann's now";
  EXPECT_EQ(used(kAnnPhysics), 0) << "and this one is bob's";
  EXPECT_EQ(used(kPhysics), before);
  EXPECT_EQ(job(id).account->association, kBobPhysics);
  EXPECT_EQ(job(id).account->qos, kHigh) << "which is called normal there";
  EXPECT_EQ(held(kBobPhysics).jobs, 1u);
  EXPECT_EQ(held(kAnnPhysics).jobs, 0u);
  pass_time(std::chrono::minutes(10));
  EXPECT_GT(used(kBobPhysics), before);
  EXPECT_EQ(used(kAnnPhysics), 0);
}

TEST_F(FollowNamesTest, UsageIsThereAgainAfterAnEmptyDatabase) {
  const JobId id = run_a_while();
  const double before = used(kAnnPhysics);
  const AccountingRecords whole = site_;
  site_.associations.resize(1);
  follow();
  EXPECT_EQ(job(id).account->association, 0u);
  EXPECT_EQ(used(kAnnPhysics), 0);
  const AccountingImage image = make_accounting_image(state_.accounting);
  EXPECT_EQ(image.gone_associations.size(), 2u) << "ann's in physics, and physics";
  site_.associations = whole.associations;
  renumber();
  EXPECT_EQ(used(kBobPhysics), before);
  EXPECT_EQ(job(id).account->association, kBobPhysics);
  EXPECT_TRUE(state_.accounting.gone_usage->associations.empty());
}

TEST_F(FollowNamesTest, UsageOfWhoIsGoneDecays) {
  run_a_while();
  configure([](ClusterConfig& config) { config.priority_decay_half_life = std::chrono::hours(1); });
  site_.associations.resize(3);  // root and both accounts
  follow();
  ASSERT_EQ(state_.accounting.gone_usage->associations.size(), 1u);
  pass_time(std::chrono::hours(24));
  EXPECT_TRUE(state_.accounting.gone_usage->associations.empty());
}

TEST_F(FollowNamesTest, AUserWhoIsRenamedKeepsHisUsage) {
  for (AssociationRecord& record : site_.associations) record.created = from_seconds(1000);
  follow();
  run_a_while();
  const double before = used(kAnnPhysics);
  association(kAnnPhysics).user = "anna";
  follow();
  EXPECT_EQ(used(kAnnPhysics), before);
}

TEST_F(FollowNamesTest, ChargesFollowTheNamesOfTres) {
  const JobId id = run_a_while();
  auto charge = std::make_shared<JobCharge>(*job(id).charge);
  charge->tres.push_back({kGpu, 2});
  state_.jobs.edit(id).charge = charge;
  state_.accounting.association_usage.edit(kAnnPhysics).tres.push_back({kGpu, 120});
  for (TresRecord& tres : site_.tres) {
    if (tres.id == kGpu) tres.id = kMatlab;
    else if (tres.id == kMatlab) tres.id = kGpu;
  }
  std::ranges::sort(site_.tres, {}, &TresRecord::id);
  follow();
  EXPECT_EQ(job(id).charge->tres.back(), (TresAmount{kMatlab, 2}));
  EXPECT_EQ(state_.accounting.association_usage.at(kAnnPhysics).of(kMatlab), 120);
  EXPECT_EQ(tres_name(state_.accounting, kMatlab), "gres/gpu");
  EXPECT_EQ(state_.accounting.tres->size(), site_.tres.size());
}

}  // namespace
}  // namespace sluice::state
