// SluiceParameters=soft_limit_qos=NAME: a job that a limit holds back runs in that QOS as long as
// nobody else needs its nodes. There it is in the limits of that QOS alone; what it uses is charged
// to that QOS and to its association. Whoever may preempt the QOS takes its nodes back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/model/job_account.hpp"
#include "common/model/job_reason.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// As it is configured; empty: limits are hard.
[[nodiscard]] std::string soft_limit_qos(const ClusterConfig& config);

// Null: none is configured, or jobs cannot run in it.
[[nodiscard]] const QosRecord* find_soft_qos(const ClusterState& state);
// Why they cannot, where one is configured ("the accounting database has no such QOS"); empty: they
// can, or nothing is configured.
[[nodiscard]] std::string_view why_no_soft_qos(const ClusterState& state);

// Whether it is a limit of what may be used at most, which a job may exceed there.
[[nodiscard]] bool may_be_exceeded(JobReason limit);
// Why the job does not run there, whatever its limits: an ending of "it does not run in QOS x, ";
// empty: it may.
[[nodiscard]] std::string_view why_not_softly(const ClusterState& state, const Job& job,
                                              const Partition& partition, const QosRecord& soft);
// `own`, as account_in() gives it, while the job runs there.
[[nodiscard]] std::shared_ptr<const JobAccount> soft_account(const Job& job, const JobAccount& own,
                                                             const QosRecord& soft);

}  // namespace sluice::state
