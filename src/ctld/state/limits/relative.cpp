#include "ctld/state/limits/relative.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "ctld/state/limits/billing.hpp"

namespace sluice::state {
namespace {

// All that these nodes have; of all where there is no partition.
TresAmounts total_of(const ClusterState& state, const Partition* partition) {
  TresCounts counts;
  state.nodes.for_each([&](const Node& node) {
    if (node.removed || node.config == nullptr) return;
    if (partition != nullptr && !partition->nodes.test(node.id)) return;
    ++counts.nodes;
    counts.cpus += node.config->cpus;
    counts.memory_mib += node.config->real_memory_mib;
    if (node.gres != nullptr) add_shares(counts.gres, all_of(*node.gres));
  });
  TresAmounts total = tres_amounts(state.accounting, counts, state.config->licenses);
  const auto at = std::ranges::lower_bound(total, kTresBilling, {}, &TresAmount::id);
  total.insert(at, {kTresBilling, counts.cpus});
  return total;
}

void scale(TresAmounts& limits, const TresAmounts& total) {
  constexpr uint64_t kPercent = 100;
  for (TresAmount& limit : limits) {
    const auto at = std::ranges::lower_bound(total, limit.id, {}, &TresAmount::id);
    const uint64_t all = at != total.end() && at->id == limit.id ? at->count : 0;
    limit.count = all * limit.count / kPercent;
  }
}

// nullopt: the account has no such QOS.
std::optional<Accounting> with_numbers(const ClusterState& state, const JobAccount& account) {
  std::optional<Accounting> out;
  for (const QosId id : {account.qos, account.partition_qos}) {
    const QosRecord* qos = id == 0 ? nullptr : state.accounting.qos.find(id);
    if (qos == nullptr || (qos->flags & kQosRelative) == 0) continue;
    if (out && account.qos == account.partition_qos) break;
    const Partition* of = nullptr;
    for (const Partition& partition : *state.partitions) {
      if (iequals(partition.config->qos, qos->name)) of = &partition;
    }
    const TresAmounts total = total_of(state, of);
    if (!out) out = state.accounting;
    QosRecord& scaled = out->qos.edit(id);
    for (TresAmounts* limits : {&scaled.group.tres, &scaled.user.tres, &scaled.account.tres,
                                &scaled.job.tres, &scaled.job.tres_node, &scaled.job.min_tres}) {
      scale(*limits, total);
    }
  }
  return out;
}

}  // namespace

const Accounting& RelativeNumbers::accounting_for(const JobAccount& account) {
  const auto [at, is_new] = known_.try_emplace({account.qos, account.partition_qos});
  if (is_new) at->second = with_numbers(state_, account);
  return at->second ? *at->second : state_.accounting;
}

}  // namespace sluice::state
