// What the accounting daemon is told of jobs, steps, nodes and reservations, made of the state.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "common/history/job_identity.hpp"
#include "common/model/history.hpp"
#include "common/protocol/node_reports.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/requested_tres.hpp"

namespace sluice::ctld {

// By name: what AccountingStorageTRES names of generic resources, and "billing".
[[nodiscard]] NamedTresList named_tres(const state::TresCounts& counts,
                                       const ClusterConfig& config);

[[nodiscard]] JobHistory job_history(const state::ClusterState& state, const Job& job,
                                     WaitingTasks tasks = WaitingTasks::kNamed);

// A live step of the job. `job` is the record it runs in.
[[nodiscard]] StepHistory step_history(const ClusterConfig& config, const Job& job,
                                       const Step& step);

[[nodiscard]] UsageHistory usage_history(const protocol::StepUsage& usage, const Step& step);

// Whether the node counts as gone for its users: down, drained or failing; its state and reason
// then. `start` is left open.
[[nodiscard]] std::optional<NodeHistory> node_history(const Node& node,
                                                      const ClusterConfig& config);

[[nodiscard]] ClusterHistory cluster_history(const state::ClusterState& state);

[[nodiscard]] ReservationHistory reservation_history(const state::ClusterState& state,
                                                     const Reservation& reservation);

}  // namespace sluice::ctld
