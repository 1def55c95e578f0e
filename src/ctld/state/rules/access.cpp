#include "ctld/state/rules/access.hpp"

#include <algorithm>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "ctld/state/rules/fits.hpp"

namespace sluice::state {
namespace {

struct Refusal {
  ErrorCode code = ErrorCode::kAccessDenied;
  JobReason reason = JobReason::kPartitionConfig;
};

struct Asker {
  uint32_t uid = 0;
  bool admin = false;
  // null: they are not known, and were looked at when the job came
  const std::vector<std::string>* groups = nullptr;
  bool by_account = true;  // AllowAccounts, AllowQos and their kin count, too
};

std::optional<Refusal> refusal_by_account(const ClusterState& state, const PartitionConfig& config,
                                          const JobSpec& spec) {
  const bool allowed =
      config.allow_accounts.empty() || is_below(state, config.allow_accounts, spec.account.view());
  const bool denied = !config.deny_accounts.empty() && !spec.account.empty() &&
                      is_below(state, config.deny_accounts, spec.account.view());
  if (!allowed || denied) {
    return Refusal{ErrorCode::kInvalidAccount, JobReason::kAccountNotAllowed};
  }
  if (!spec.qos.empty() &&
      ((!config.allow_qos.empty() && !contains_iequal(config.allow_qos, spec.qos.view())) ||
       contains_iequal(config.deny_qos, spec.qos.view()))) {
    return Refusal{ErrorCode::kInvalidQos, JobReason::kQOSNotAllowed};
  }
  return std::nullopt;
}

std::optional<Refusal> refusal_of(const ClusterState& state, const PartitionConfig& config,
                                  const JobSpec& spec, const Asker& who) {
  if (config.root_only && !who.admin) return Refusal{};
  const bool no_root = config.disable_root_jobs.value_or(state.config->disable_root_jobs);
  if (no_root && who.uid == 0) return Refusal{};
  if (!who.admin && who.groups != nullptr && !is_open_to(config, *who.groups))
    return Refusal{ErrorCode::kPartitionAccess};
  if (who.by_account) {
    if (auto refused = refusal_by_account(state, config, spec)) return refused;
  }
  if (config.req_resv && spec.reservation.empty()) return Refusal{};
  if (!config.alloc_nodes.empty() && !contains(config.alloc_nodes, spec.submit_host.view()))
    return Refusal{};
  return std::nullopt;
}

}  // namespace

bool is_below(const ClusterState& state, const std::vector<std::string>& accounts,
              std::string_view account) {
  if (contains_iequal(accounts, account)) return true;
  const AssociationRecord* association = find_association(state.accounting, {}, account, {});
  bool found = false;
  for_ancestors(state.accounting, association == nullptr ? 0 : association->id,
                [&](AssociationId, const AssociationRecord* above) {
                  found = found || (above != nullptr && contains_iequal(accounts, above->account));
                });
  return found;
}

bool is_open_to(const PartitionConfig& partition, const std::vector<std::string>& groups) {
  return partition.allow_groups.empty() || std::ranges::any_of(groups, [&](const auto& group) {
           return contains(partition.allow_groups, group);
         });
}

Status check_access(const ClusterState& state, const Partition& partition, const JobSpec& spec,
                    const Submitter& who) {
  const PartitionConfig& config = *partition.config;
  if (config.state == PartitionState::kDrain || config.state == PartitionState::kInactive) {
    return failure(ErrorCode::kPartitionNotAvailable);
  }
  const bool admin = who.by_admin || is_admin(state, who.uid);
  // a job of another account or QOS waits there, but for EnforcePartLimits
  const bool by_account = state.config->enforce_part_limits != EnforcePartLimits::kNo;
  const auto refused = refusal_of(state, config, spec, {who.uid, admin, &who.groups, by_account});
  return refused ? failure(refused->code) : Status{};
}

std::optional<JobReason> why_not_admitted(const ClusterState& state, const Partition& partition,
                                          const JobSpec& spec) {
  const PartitionConfig& config = *partition.config;
  std::optional<std::vector<std::string>> groups;
  if (!config.allow_groups.empty()) groups = known_groups(state, spec.uid);
  const auto refused = refusal_of(
      state, config, spec, {spec.uid, is_admin(state, spec.uid), groups ? &*groups : nullptr});
  return refused ? std::optional(refused->reason) : std::nullopt;
}

QosFlags qos_flags(const ClusterState& state, const JobSpec& spec) {
  if (spec.qos.empty() || state.accounting.qos.empty()) return 0;
  const QosRecord* qos = find_qos(state.accounting, spec.qos.view());
  return qos == nullptr ? 0 : qos->flags;
}

bool allows_node_count(const PartitionConfig& partition, const JobSpec& spec, QosFlags flags) {
  if (allows_node_count(partition, spec)) return true;
  if (flags == 0) return false;
  PartitionConfig wider;
  wider.min_nodes = (flags & kQosPartitionMinNodes) != 0 ? 0 : partition.min_nodes;
  wider.max_nodes = (flags & kQosPartitionMaxNodes) != 0 ? kUnlimited : partition.max_nodes;
  return allows_node_count(wider, spec);
}

std::optional<UserGroupsFound> new_groups(const ClusterState& state, uint32_t uid,
                                          const std::vector<std::string>& names) {
  // nobody looked, or the system does not know him (any more)
  if (names.empty()) return std::nullopt;
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  const auto known = state.user_groups->find(uid);
  if (known != state.user_groups->end() && known->second == text) return std::nullopt;
  return UserGroupsFound{{uid, text}};
}

std::optional<std::vector<std::string>> known_groups(const ClusterState& state, uint32_t uid) {
  const auto known = state.user_groups->find(uid);
  if (known == state.user_groups->end()) return std::nullopt;
  return split_list(known->second.view());
}

}  // namespace sluice::state
