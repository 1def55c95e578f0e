// The core with the accounts of accounting_world.hpp, and limits that are enforced.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "common/names/job_states.hpp"
#include "ctld/sched/pass.hpp"
#include "support/core_fixture.hpp"
#include "unit/limits/accounting_world.hpp"

namespace sluice::state {

class AccountingTest : public CoreTest {
 protected:
  AccountingTest() {
    follow();
    enforce({"associations", "limits", "qos"});
  }
  void follow() {
    ++site_.version;
    FollowAccounting command{site_, {{"ann", kAnnUid}, {"bob", kBobUid}}};
    ASSERT_TRUE(run(command));
  }
  void enforce(std::vector<std::string> words) {
    configure([&](ClusterConfig& config) {
      config.accounting_storage_type = "accounting_storage/slurmdbd";
      config.accounting_storage_enforce = std::move(words);
      config.priority_decay_half_life = Duration(0);
    });
  }
  AssociationRecord& association(AssociationId id) {
    for (AssociationRecord& one : site_.associations) {
      if (one.id == id) return one;
    }
    throw std::out_of_range("association");
  }
  QosRecord& qos(QosId id) { return site_.qos.at(id - 1); }
  Error refusal(const JobSpec& spec) {
    JobSpec mine = spec;
    mine.uid = kAnn.uid;
    const auto reply = run(SubmitJob{kAnn, mine, {"users"}});
    EXPECT_FALSE(reply);
    return reply ? Error{} : reply.error();
  }
  void pass_time(Duration time) {
    now_ += time;
    ASSERT_TRUE(run(Tick{++tick_}));
  }
  void end(JobId id, const char* nodes) { ASSERT_TRUE(end_step(id, kBatchStep, nodes, 0, true)); }
  double used(AssociationId id) {
    const Usage* usage = state_.accounting.association_usage.find(id);
    return usage == nullptr ? 0 : usage->raw;
  }
  const Held& held(AssociationId id) {
    static const Held nothing;
    const Held* found = state_.accounting.held.associations.find(id);
    return found == nullptr ? nothing : *found;
  }
  // What a pass says of the job: its reason, or "starts".
  std::string plan(JobId id) {
    const sched::Plan plan =
        sched::plan_pass(state_, sched::make_policies(state_), now_, sched::WorkBudget());
    for (const PlannedStart& start : plan.starts) {
      if (start.job == id) return "starts";
    }
    const SchedulerHints* hints = plan.soft->find(id);
    return hints == nullptr ? "unknown" : std::string(reason_text(hints->reason));
  }

  AccountingRecords site_ = small_site();
  uint64_t tick_ = 0;
};

}  // namespace sluice::state
