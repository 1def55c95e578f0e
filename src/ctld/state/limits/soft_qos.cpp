#include "ctld/state/limits/soft_qos.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "ctld/state/limits/accounts.hpp"
#include "ctld/state/limits/limit_reasons.hpp"
#include "ctld/state/rules/preemption.hpp"

namespace sluice::state {
namespace {

bool anyone_preempts(const ClusterState& state, QosId soft) {
  bool any = false;
  state.accounting.qos.for_each(
      [&](const QosRecord& qos) { any = any || std::ranges::binary_search(qos.preempt, soft); });
  return any;
}

std::string_view why_unusable(const ClusterState& state, const QosRecord* soft) {
  if (soft == nullptr) return "the accounting database has no such QOS";
  if (!preempts_by_qos(state)) return "PreemptType is not preempt/qos";
  if (!anyone_preempts(state, soft->id)) return "no QOS may preempt it";
  if (state.partitions->empty()) return {};
  const Partition& any = state.partitions->front();
  const PreemptMode mode = preempt_mode_in(state, any, soft->id);
  if (mode != PreemptMode::kRequeue && mode != PreemptMode::kCancel)
    return "its PreemptMode is neither REQUEUE nor CANCEL";
  return preempt_exempt_in(state, any, soft->id) == kNotPreemptable
             ? "its PreemptExemptTime never ends"
             : std::string_view();
}

}  // namespace

std::string soft_limit_qos(const ClusterConfig& config) {
  if (config.sluice_parameters.empty() || !enforced(config).limits) return {};
  return option_value(config.sluice_parameters, "soft_limit_qos").value_or("");
}

const QosRecord* find_soft_qos(const ClusterState& state) {
  const std::string name = soft_limit_qos(*state.config);
  if (name.empty()) return nullptr;
  const QosRecord* soft = find_qos(state.accounting, name);
  return why_unusable(state, soft).empty() ? soft : nullptr;
}

std::string_view why_no_soft_qos(const ClusterState& state) {
  const std::string name = soft_limit_qos(*state.config);
  if (name.empty() || state.accounting.version == 0) return {};
  return why_unusable(state, find_qos(state.accounting, name));
}

bool may_be_exceeded(JobReason limit) {
  return limit != JobReason::kInvalidAccount && limit != JobReason::kInvalidQOS &&
         limit != JobReason::kQOSUsageThreshold && !is_least(limit);
}

std::string_view why_not_softly(const ClusterState& state, const Job& job,
                                const Partition& partition, const QosRecord& soft) {
  if (job.account == nullptr || job.spec->qos.empty()) return "since it has no QOS of its own";
  if (iequals(job.spec->qos.view(), soft.name)) return "since it is its own";
  if (job.het != nullptr) return "since it is heterogeneous";
  const bool again = preempt_mode_in(state, partition, soft.id) == PreemptMode::kRequeue;
  return again && !may_requeue(*state.config, job) ? "since it cannot be queued again"
                                                   : std::string_view();
}

std::shared_ptr<const JobAccount> soft_account(const Job& job, const JobAccount& own,
                                               const QosRecord& soft) {
  auto account = std::make_shared<JobAccount>(own);
  account->qos = soft.id;
  account->partition_qos = 0;
  account->own_qos = job.spec->qos;
  return account;
}

}  // namespace sluice::state
