// Limits of associations and QOS. Where several say something of the same thing, the first counts:
// the partition's QOS, the job's (the other way round with the flag OverPartQOS), then the
// associations. Grp limits count at each association up to the root; Max limits of an association
// that has none are those of the nearest one above it.
//
// A check costs the depth of the tree, whatever the number of jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/base/time.hpp"
#include "common/model/job_account.hpp"
#include "common/model/job_reason.hpp"
#include "common/model/job_state.hpp"
#include "common/protocol/accounting_admin.hpp"
#include "ctld/state/core/accounting.hpp"

namespace sluice::state {

// A job as far as limits look at it.
struct LimitedJob {
  const JobAccount* account = nullptr;
  uint32_t uid = 0;
  std::string_view account_name;
  uint32_t count = 1;                        // tasks that are submitted at once
  std::span<const TresAmount> tres;          // asked for (no job gets less), or chosen; by id
  std::span<const TresAmount> tres_of_node;  // the most on one node
  const Allocation* allocation = nullptr;    // null: its nodes are not chosen yet
  bool on_fresh_nodes = false;               // then: on none that others of the limit use
  Minutes time_limit = 0;                    // in force; kInfiniteMinutes: none
  AdminSet admin_set = 0;                    // of these no limit holds it
  // where its tasks wait already, and are not counted against it; null: nowhere
  const JobAccount* counted_in = nullptr;
  std::string_view counted_as;  // account
};

struct LimitRules {
  bool safe = false;  // AccountingStorageEnforce=safe: what starts can run to its end
};

// Why it may not start at `now`, beside what is held; nullopt: it may. Of tres and tres_of_node
// only what is there is looked at, so that a first look before nodes were chosen can be had.
[[nodiscard]] std::optional<JobReason> start_limit(const Accounting& accounting,
                                                   const HeldTables& held, const LimitedJob& job,
                                                   const LimitRules& rules, Time now);
// The same with whose limit it is and what is used of it, so that it can be told, and found out
// when it lets the job start.
struct LimitHit {
  JobReason reason = JobReason::kNone;
  protocol::LimitField field = protocol::LimitField::kGrpJobs;
  TresId tres = 0;  // that is limited; 0: it is a limit of something else
  // one of both; a limit that users of an account inherit is that of each one's association
  AssociationId association = 0;
  QosId qos = 0;
  bool of_user = false, of_account = false;  // of the QOS
  bool passes = false;                       // when jobs that it covers end
  bool of_nodes = false;                     // nodes that its jobs use already are free of it
  // In the limit's unit, times in minutes. Asked is what the job adds.
  double limit = 0, used = 0, asked = 0;
};
[[nodiscard]] std::optional<LimitHit> start_limit_hit(const Accounting& accounting,
                                                      const HeldTables& held, const LimitedJob& job,
                                                      const LimitRules& rules, Time now);
// Why it may not go on, having started: GrpTRESMins or GrpWall are used up. Without
// AccountingStorageEnforce=safe jobs are ended then.
[[nodiscard]] std::optional<JobReason> used_up(const Accounting& accounting, const HeldTables& held,
                                               const LimitedJob& job, Time now);
// Why it may not even wait: MaxSubmitJobs and its kin, and denied_limit().
[[nodiscard]] std::optional<JobReason> submit_limit(const Accounting& accounting,
                                                    const HeldTables& held, const LimitedJob& job,
                                                    Time now);
// With DenyOnLimit: what it could not meet if it were alone.
[[nodiscard]] std::optional<JobReason> denied_limit(const Accounting& accounting,
                                                    const HeldTables& held, const LimitedJob& job,
                                                    Time now);
// How many of its tasks may begin to gain age while they wait: GrpJobsAccrue, MaxJobsAccrue.
[[nodiscard]] uint32_t may_accrue(const Accounting& accounting, const HeldTables& held,
                                  LimitedJob job);
// What a job of this account may run for that asks for no time: the shorter of MaxWall and GrpWall
// of its QOS, and of the nearest association that has what these have not; nullopt: none says so.
[[nodiscard]] std::optional<Duration> longest_wall(const Accounting& accounting,
                                                   const JobAccount& account);
// A job of less priority keeps no nodes for later (MinPrioThreshold); 0: any may.
[[nodiscard]] uint32_t least_priority_to_plan(const Accounting& accounting,
                                              const JobAccount& account);
[[nodiscard]] bool has_qos_flag(const Accounting& accounting, const JobAccount& account,
                                QosFlags flag);

}  // namespace sluice::state
