// Whom a job is charged to: its association, QOS and wckey, as AccountingStorageEnforce has it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/job_account.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/limits/limits.hpp"
#include "ctld/state/limits/relative.hpp"

namespace sluice::state {

// AccountingStorageEnforce, where there is accounting; what a word implies was filled in when the
// configuration was read.
struct Enforced {
  bool associations = false;
  bool limits = false;
  bool qos = false;
  bool safe = false;
  bool wckeys = false;
};
[[nodiscard]] Enforced enforced(const ClusterConfig& config);

// The partition's QOS is not there: it was never made, or deleted.
[[nodiscard]] bool lacks_qos(const ClusterState& state, const PartitionConfig& partition);

// Fills in account, QOS and wckey that the job does not name; null: accounting knows nothing of it,
// and need not. Errors: kInvalidAccount, kInvalidQos, a wckey that is not there. `partitions`:
// those that it asks for, in order; one of them at least must be open to its account.
// `by_operator`: any QOS may be used.
[[nodiscard]] Result<std::shared_ptr<const JobAccount>> resolve_account(
    const ClusterState& state, JobSpec& spec, const std::vector<const Partition*>& partitions,
    bool by_operator = false);

// The account as it is in that partition; `reason`: why it may not start there (kInvalidAccount,
// kInvalidQOS).
struct AccountIn {
  std::shared_ptr<const JobAccount> account;
  std::optional<JobReason> reason;
};
[[nodiscard]] AccountIn account_in(const ClusterState& state, const Job& job,
                                   const Partition& partition, const Enforced& rules);

// A job that is to wait in an account.
struct Submission {
  const JobAccount* account = nullptr;
  std::span<const Partition* const> partitions;  // that it asks for, in order; at least one
  uint32_t count = 1;                            // tasks
  const Job* moved = nullptr;  // that waits already: it is not counted where it was
  AdminSet admin_set = 0;
};
// MaxSubmitJobs and its kin, DenyOnLimit, and a time limit of MaxWall where it asks for none.
// kMaxSubmitLimit with the limit's name. In no partition that it asks for may it be beyond them.
[[nodiscard]] Status check_submit_limits(const ClusterState& state, const Submission& submission,
                                         JobSpec& spec, Time now);
// DenyOnLimit for what the components of a heterogeneous job that are charged to one account ask
// for together. kMaxSubmitLimit with the limit's name.
[[nodiscard]] Status check_component_limits(const ClusterState& state,
                                            std::span<const Job* const> components, Time now);
// How many of a pending job's tasks may begin to gain age: all of them where limits are not
// enforced, and with PriorityFlags=ACCRUE_ALWAYS.
[[nodiscard]] uint32_t tasks_that_may_age(const ClusterState& state, const Job& job);
// A job that is to start.
struct StartToCheck {
  const Job* job = nullptr;
  const JobAccount* account = nullptr;        // as account_in() gives it
  const TresAmounts* tres = nullptr;          // that it asks for or gets; null: not looked at
  const TresAmounts* tres_of_node = nullptr;  // the most on one node; likewise
  Minutes time_limit = 0;
  const Allocation* allocation = nullptr;  // null: its nodes are not chosen yet
  bool on_fresh_nodes = false;             // then: on none that others of a limit use
  RelativeNumbers* numbers = nullptr;      // of the state, where many are checked
};
// By which limit it may not start beside what `held` says; nullopt: it may. Limits act only where
// they are enforced.
[[nodiscard]] std::optional<JobReason> why_limited(const ClusterState& state,
                                                   const HeldTables& held,
                                                   const StartToCheck& start, const Enforced& rules,
                                                   Time now);

// The same with what is limited.
[[nodiscard]] std::optional<LimitHit> limit_hit(const ClusterState& state, const HeldTables& held,
                                                const StartToCheck& start, const Enforced& rules,
                                                Time now);

}  // namespace sluice::state
