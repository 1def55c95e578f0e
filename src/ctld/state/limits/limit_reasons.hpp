// Slurm's names for limits: which reason a job waits for, by the kind of the limit and by the TRES.
#pragma once

#include "common/model/job_reason.hpp"
#include "ctld/state/core/accounting.hpp"

namespace sluice::state {

// Limits of TRES. Those of QOS and associations have reasons of their own; a QOS has all of them.
enum class TresLimit : uint8_t {
  kGroup,           // GrpTRES
  kGroupMins,       // GrpTRESMins
  kGroupRunMins,    // GrpTRESRunMins
  kJob,             // MaxTRES
  kNode,            // MaxTRESPerNode
  kJobMins,         // MaxTRESMins
  kUser,            // MaxTRESPerUser
  kAccount,         // MaxTRESPerAccount
  kUserRunMins,     // MaxTRESRunMinsPerUser
  kAccountRunMins,  // MaxTRESRunMinsPerAccount
  kLeast,           // MinTRES
};

[[nodiscard]] JobReason qos_reason(const Accounting& accounting, TresLimit limit, TresId tres);
// Of kGroup … kJobMins.
[[nodiscard]] JobReason association_reason(const Accounting& accounting, TresLimit limit,
                                           TresId tres);
// The job asks for less than it may (MinTRES).
[[nodiscard]] bool is_least(JobReason reason);

}  // namespace sluice::state
