#include "ctld/sched/policy/cluster_sizes.hpp"

#include <algorithm>

#include "common/syntax/licenses.hpp"

namespace sluice::sched {

ClusterSize size_of(const state::ClusterState& state) {
  ClusterSize size;
  state.nodes.for_each([&](const Node& node) {
    if (node.removed || node.config == nullptr) return;
    ++size.nodes;
    size.cpus += node.config->cpus;
  });
  return size;
}

TresAmounts amounts_of(const std::vector<TresWeight>& weights, const state::TresCounts& counts,
                       std::string_view licenses) {
  constexpr std::string_view kGres = "gres/", kLicense = "license/";
  const LicenseCounts by_name = parse_licenses(licenses).value_or(LicenseCounts());
  const auto amount = [&](const TresWeight& one) -> uint64_t {
    std::string_view tres = one.tres;
    if (tres == "cpu" || tres == "billing") return counts.cpus;
    if (tres == "mem") return counts.memory_mib;
    if (tres == "node") return counts.nodes;
    if (tres.starts_with(kGres)) {
      tres.remove_prefix(kGres.size());
      const size_t colon = std::min(tres.find(':'), tres.size());
      const std::string_view type = colon < tres.size() ? tres.substr(colon + 1) : "";
      return count_of(counts.gres, tres.substr(0, colon), type);
    }
    if (!tres.starts_with(kLicense)) return 0;
    const auto at = by_name.find(tres.substr(kLicense.size()));
    return at == by_name.end() ? 0 : at->second;
  };
  TresAmounts out;
  for (const TresWeight& one : weights) out.push_back(static_cast<double>(amount(one)));
  return out;
}

PartitionSizes::PartitionSizes(const state::ClusterState& state,
                               const std::vector<TresWeight>& weights) {
  if (weights.empty()) return;
  for (const state::Partition& partition : *state.partitions) {
    state::TresCounts counts;
    partition.nodes.for_each([&](size_t id) {
      const Node& node = state.nodes.at(static_cast<NodeId>(id));
      ++counts.nodes;
      counts.cpus += node.config->cpus;
      counts.memory_mib += node.config->real_memory_mib;
      if (node.gres != nullptr) add_shares(counts.gres, all_of(*node.gres));
    });
    sizes_.push_back({partition.config->name, amounts_of(weights, counts, state.config->licenses),
                      partition.max_node_memory_mib});
  }
}

const PartitionSizes::Size* PartitionSizes::find(std::string_view partition) const {
  const auto at = std::ranges::find(sizes_, partition, &Size::name);
  return at == sizes_.end() ? nullptr : &*at;
}

}  // namespace sluice::sched
