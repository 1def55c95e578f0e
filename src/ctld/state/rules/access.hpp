// Whom a partition lets in: RootOnly, AllowGroups, AllowAccounts, AllowQos, AllocNodes and their
// kin. Asked when a job is submitted or moved, when its start is planned, and when it starts: what
// let it in may have changed since.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "ctld/state/events/admin_events.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

// Whose job it is, and whether an administrator puts it there for him: AllowGroups and RootOnly are
// for users.
struct Submitter {
  uint32_t uid = 0;
  std::vector<std::string> groups;
  bool by_admin = false;
};

// Whether it is one of these accounts, or below one of them. Capitals do not count.
[[nodiscard]] bool is_below(const ClusterState& state, const std::vector<std::string>& accounts,
                            std::string_view account);
// AllowGroups: whether one of these groups is among them.
[[nodiscard]] bool is_open_to(const PartitionConfig& partition,
                              const std::vector<std::string>& groups);
// May the user's job enter this partition?
[[nodiscard]] Status check_access(const ClusterState& state, const Partition& partition,
                                  const JobSpec& spec, const Submitter& who);
// Why a job that waits may not start there; nullopt: it may. An administrator may have put it
// there, but the partition starts it only when it lets its user in.
[[nodiscard]] std::optional<JobReason> why_not_admitted(const ClusterState& state,
                                                        const Partition& partition,
                                                        const JobSpec& spec);

// Flags of the QOS that the job names, with which it may pass over limits of partitions.
[[nodiscard]] QosFlags qos_flags(const ClusterState& state, const JobSpec& spec);
// MinNodes and MaxNodes of the partition, for a job of this QOS.
[[nodiscard]] bool allows_node_count(const PartitionConfig& partition, const JobSpec& spec,
                                     QosFlags flags);

// When these are not those that were known.
[[nodiscard]] std::optional<UserGroupsFound> new_groups(const ClusterState& state, uint32_t uid,
                                                        const std::vector<std::string>& names);
// nullopt: nobody has looked the user's groups up, as his jobs were submitted to an earlier
// version.
[[nodiscard]] std::optional<std::vector<std::string>> known_groups(const ClusterState& state,
                                                                   uint32_t uid);

}  // namespace sluice::state
