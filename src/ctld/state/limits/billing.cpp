#include "ctld/state/limits/billing.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/text.hpp"
#include "common/model/priority_factors.hpp"
#include "common/syntax/licenses.hpp"

namespace sluice::state {
namespace {

constexpr std::string_view kGresPrefix = "gres/";

uint64_t gres_count(const TresCounts& counts, std::string_view name) {
  const size_t colon = std::min(name.find(':'), name.size());
  return count_of(counts.gres, name.substr(0, colon),
                  colon < name.size() ? name.substr(colon + 1) : std::string_view());
}

void add(TresAmounts& amounts, TresId id, uint64_t count) {
  if (id != 0 && count != 0) amounts.push_back({id, count});
}

double amount(const TresWeight& weight, const TresCounts& counts, const LicenseCounts& licenses) {
  std::string_view name = weight.tres;
  if (name == "cpu") return static_cast<double>(counts.cpus);
  if (name == "mem") return static_cast<double>(counts.memory_mib);
  if (name == "node") return static_cast<double>(counts.nodes);
  if (name.starts_with(kGresPrefix)) {
    name.remove_prefix(kGresPrefix.size());
    return static_cast<double>(gres_count(counts, name));
  }
  if (!name.starts_with(kLicenseKind)) return 0;
  const auto at = licenses.find(name.substr(kLicenseKind.size()));
  return at == licenses.end() ? 0 : static_cast<double>(at->second);
}

// "CPU=1.0,Mem=0.25G,GRES/gpu=2.0": memory is weighed by the MB, with a suffix by KB, GB, TB or PB.
// An item that is none is passed over; the configuration was checked when it was read.
std::vector<TresWeight> billing_weights(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  std::vector<TresWeight> weights;
  for (const std::string& item : split_list(text)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    std::string_view value = trim(std::string_view(item).substr(equals + 1));
    const size_t unit = value.empty() ? std::string::npos : kUnits.find(value.back());
    if (unit != std::string::npos) value.remove_suffix(1);
    const auto weight = to_number<double>(value);
    if (!weight || !std::isfinite(*weight)) continue;
    const int steps = unit == std::string::npos ? 0 : static_cast<int>(unit) - 1;
    weights.push_back({to_lower(trim(std::string_view(item).substr(0, equals))),
                       *weight / std::pow(1024.0, steps)});
  }
  return weights;
}

void add_billing(const ClusterState& state, const JobSpec& spec, const PartitionConfig& partition,
                 const TresCounts& counts, TresAmounts& amounts) {
  const uint64_t micro = billing_micro(*state.config, partition, counts, spec.licenses.view());
  const auto at = std::ranges::lower_bound(amounts, kTresBilling, {}, &TresAmount::id);
  amounts.insert(at, {kTresBilling, micro / kMicro});
}

}  // namespace

TresAmounts tres_amounts(const Accounting& accounting, const TresCounts& counts,
                         std::string_view licenses) {
  TresAmounts amounts;
  add(amounts, kTresCpu, counts.cpus);
  add(amounts, kTresMem, counts.memory_mib);
  add(amounts, kTresNode, counts.nodes);
  const LicenseCounts of_licenses = parse_licenses(licenses).value_or(LicenseCounts());
  for (const TresRecord& tres : *accounting.tres) {
    if (tres.id < kFirstDynamicTres) continue;
    if (tres.type == "gres") {
      add(amounts, tres.id, gres_count(counts, tres.name));
    } else if (tres.type == "license") {
      const auto at = of_licenses.find(tres.name);
      add(amounts, tres.id, at == of_licenses.end() ? 0 : at->second);
    }
  }
  return amounts;
}

uint64_t billing_micro(const ClusterConfig& config, const PartitionConfig& partition,
                       const TresCounts& counts, std::string_view licenses) {
  const std::vector<TresWeight> weights = billing_weights(partition.tres_billing_weights);
  if (weights.empty()) return counts.cpus * kMicro;
  const LicenseCounts of_licenses = parse_licenses(licenses).value_or(LicenseCounts());
  const bool largest_gres = has_option(config.priority_flags, "MAX_TRES");
  const bool largest = largest_gres || has_option(config.priority_flags, "MAX_TRES_GRES");
  double most = 0, sum = 0;
  for (const TresWeight& weight : weights) {
    const double billed = weight.weight * amount(weight, counts, of_licenses);
    const bool of_gres = std::string_view(weight.tres).starts_with(kGresPrefix);
    const bool of_cluster = std::string_view(weight.tres).starts_with(kLicenseKind);
    if (largest && !of_cluster && (largest_gres || !of_gres)) most = std::max(most, billed);
    else sum += billed;
  }
  const double billing = std::max(0.0, (most + sum) * static_cast<double>(kMicro));
  return static_cast<uint64_t>(std::llround(std::min(billing, 9e18)));
}

uint64_t shown_billing(const ClusterState& state, const Job& job, const TresCounts& counts) {
  if (job.allocation != nullptr && job.charge != nullptr) return job.charge->billing_micro / kMicro;
  return requested_billing(state, job, counts);
}

uint64_t requested_billing(const ClusterState& state, const Job& job, const TresCounts& counts) {
  const Partition* partition = find_partition(state, job.partition.view());
  if (partition == nullptr) return counts.cpus;
  return billing_micro(*state.config, *partition->config, counts, job.spec->licenses.view()) /
         kMicro;
}

TresAmounts requested_amounts(const ClusterState& state, const JobSpec& spec,
                              const PartitionConfig& partition) {
  const auto asked = requested_tres(spec, partition, *state.config);
  if (!asked) return {};
  TresAmounts amounts = tres_amounts(state.accounting, *asked, spec.licenses.view());
  add_billing(state, spec, partition, *asked, amounts);
  return amounts;
}

TresAmounts allocated_amounts(const ClusterState& state, const JobSpec& spec,
                              const PartitionConfig& partition, const Allocation& allocation) {
  const TresCounts counts = allocated_tres(allocation);
  TresAmounts amounts = tres_amounts(state.accounting, counts, spec.licenses.view());
  add_billing(state, spec, partition, counts, amounts);
  return amounts;
}

TresAmounts largest_of_nodes(const Accounting& accounting, const Allocation& allocation) {
  TresAmounts most;
  for (const NodeAllocation& node : allocation.nodes) {
    TresCounts counts;
    counts.cpus = node.cpus;
    counts.memory_mib = node.memory_mib;
    counts.gres = node.gres;
    for (const TresAmount& one : tres_amounts(accounting, counts, {})) {
      auto at = std::ranges::lower_bound(most, one.id, {}, &TresAmount::id);
      if (at == most.end() || at->id != one.id) most.insert(at, one);
      else at->count = std::max(at->count, one.count);
    }
  }
  return most;
}

std::shared_ptr<const JobCharge> charge_of(const ClusterState& state, const JobSpec& spec,
                                           const PartitionConfig& partition,
                                           const Allocation& allocation,
                                           const JobAccount& account) {
  auto charge = std::make_shared<JobCharge>();
  charge->tres = allocated_amounts(state, spec, partition, allocation);
  charge->billing_micro =
      billing_micro(*state.config, partition, allocated_tres(allocation), spec.licenses.view());
  const QosRecord* qos = state.accounting.qos.find(account.qos);
  if (account.qos != 0 && qos != nullptr)
    charge->factor_micro = static_cast<uint64_t>(
        std::llround(std::clamp(qos->usage_factor, 0.0, 1e6) * static_cast<double>(kMicro)));
  return charge;
}

}  // namespace sluice::state
