// What jobs hold and what they are charged, kept in step with the jobs. Used by apply(), by
// rebuild_derived() and by passes, which start jobs on trial.
#pragma once

#include <memory>
#include <string_view>

#include "common/model/job.hpp"
#include "ctld/state/core/accounting.hpp"

namespace sluice::state {

struct ClusterState;

// A user's or account's part of a QOS.
struct MemberKey {
  QosId qos = 0;
  uint32_t uid = UINT32_MAX;  // UINT32_MAX: an account
  std::string_view account;
};
[[nodiscard]] const Held* find_member(const HeldTables& held, const MemberKey& key);

// What a job counts for accounting, as it is at a moment. It outlives changes of the job.
struct Counted {
  std::shared_ptr<const JobAccount> account;  // null: nothing
  std::shared_ptr<const JobCharge> charge;
  std::shared_ptr<const Allocation> allocation;  // null: its nodes are not known
  uint32_t uid = 0;
  SharedText account_name;
  uint32_t jobs = 0, accruing = 0, submit = 0;
  Time end = kNoTime, since = kNoTime;
  bool is_charged = false;
  bool operator==(const Counted&) const = default;
};
[[nodiscard]] Counted counted(const Job& job);

// Adds it to all that cover it, or takes it away again.
void hold(HeldTables& held, const Accounting& accounting, const Counted& counted);
void release(HeldTables& held, const Accounting& accounting, const Counted& counted);

// The job ran until then: its associations and QOS are charged.
void charge_run(ClusterState& state, const Job& job, Time until);
// All running jobs are charged, and usage so far is multiplied before.
void charge_all(ClusterState& state, Time until, double factor);
// From the jobs.
void rebuild_held(ClusterState& state);
// From the usage, by the rules of the configuration.
void refresh_shares(ClusterState& state);

}  // namespace sluice::state
