#include "cli/usage/report.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include <fmt/format.h>

#include "cli/usage/limits.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/gres.hpp"

namespace sluice::cli {
namespace {

using protocol::AssociationInUse;
using protocol::AssocMgrReply;

constexpr double kHour = 3600, kYear = 8760 * kHour;

// The shorter one of what usage fades in and of what it is forgotten in.
void set_period(const ClusterConfig& config, UsageReport& report) {
  constexpr std::pair<std::string_view, int> kDays[] = {
      {"DAILY", 1}, {"WEEKLY", 7}, {"MONTHLY", 30}, {"QUARTERLY", 91}, {"YEARLY", 365}};
  const auto half_life = static_cast<double>(to_seconds(config.priority_decay_half_life));
  if (half_life > 0) {
    // usage that goes on and on comes to that of so many seconds
    report.period = std::chrono::seconds(std::lround(half_life / std::numbers::ln2));
    report.period_text = fmt::format("PriorityDecayHalfLife={}: older usage counts less",
                                     format_span(config.priority_decay_half_life));
  }
  for (const auto& [name, days] : kDays) {
    if (!iequals(name, config.priority_usage_reset_period)) continue;
    const Duration reset = std::chrono::hours(24 * days);
    if (half_life > 0 && report.period <= reset) continue;
    report.period = reset;
    report.period_text = fmt::format("PriorityUsageResetPeriod={}: then usage begins anew", name);
  }
}

class Reporter {
 public:
  Reporter(const AssocMgrReply& all, const ClusterSize& size, UsageReport& report)
      : all_(all), size_(size), report_(report) {
    for (const AssociationInUse& one : all.associations) by_id_.emplace(one.record.id, &one);
    for (const TresRecord& tres : all.tres) {
      if (tres.type == "gres" && tres.name == "gpu") gpu_ = tres.id;
    }
    report.tracks_gpus = gpu_ != 0;
    report.shows_cluster = size.cores > 0;
  }

  // With the accounts above it.
  AssociationChain chain_of(const AssociationInUse& mine) const {
    AssociationChain chain{&mine};
    while (chain.size() < static_cast<size_t>(kDeepestTree)) {
      const auto above = by_id_.find(chain.back()->record.parent);
      if (above == by_id_.end()) break;
      chain.push_back(above->second);
    }
    return chain;
  }

  void add(const AssociationChain& chain) {
    const AssociationInUse& mine = *chain.front();
    UsageAssociation& out = report_.associations.emplace_back();
    out.account = mine.record.account;
    out.partition = mine.record.partition;
    out.raw_shares =
        uses_parents(mine) ? std::string("parent") : std::to_string(mine.record.shares);
    out.norm_shares = mine.norm_shares;
    out.effective_usage = mine.effective_usage;
    out.factor = mine.factor;
    out.used = used(mine);
    // with PrivateData=usage the accounts above are not shown, and what its share of them is of
    // the cluster is not known
    const bool whole = chain.back()->depth == 0;
    if (report_.period > Duration(0) && report_.shows_cluster && whole) out.target = target(chain);
  }

 private:
  static bool uses_parents(const AssociationInUse& one) {
    return one.record.shares == kSharesOfParent;
  }

  [[nodiscard]] UsedResources used(const AssociationInUse& one) const {
    const auto seconds = [&](TresId id) {
      const auto at = std::ranges::find(one.use.tres, id, &protocol::TresInUse::id);
      return id == 0 || at == one.use.tres.end() ? 0 : at->seconds_used;
    };
    const double cpu = seconds(kTresCpu), gpu = seconds(gpu_);
    const double cores_of_cpu =
        size_.cpus > 0 ? static_cast<double>(size_.cores) / static_cast<double>(size_.cpus) : 1;
    return {cpu / kHour, gpu / kHour, cpu * cores_of_cpu / kYear, gpu / kYear};
  }

  [[nodiscard]] UsageTarget target(const AssociationChain& chain) const {
    UsageTarget out;
    size_t owner = 0;  // whose share it is
    while (owner + 1 < chain.size() && uses_parents(*chain[owner])) ++owner;
    if (owner > 0) out.account = chain[owner]->record.account;
    out.cluster_share = 1;
    // with the fair tree a share is one of its level, with the classic formula of the cluster
    for (size_t at = owner; at < chain.size(); ++at) {
      const AssociationInUse& one = *chain[at];
      if (one.depth == 0 || uses_parents(one)) continue;
      out.cluster_share *= one.norm_shares;
      if (!all_.fair_tree) break;
    }
    const double period = static_cast<double>(to_seconds(report_.period)) / kYear;  // years
    out.cores = out.cluster_share * static_cast<double>(size_.cores);
    out.gpus = out.cluster_share * static_cast<double>(size_.gpus);
    out.core_years = out.cores * period;
    out.gpu_years = out.gpus * period;
    out.used = used(*chain[owner]);
    out.average_cores = out.used.core_years / period;
    out.average_gpus = out.used.gpu_years / period;
    return out;
  }

  const AssocMgrReply& all_;
  const ClusterSize& size_;
  UsageReport& report_;
  std::unordered_map<AssociationId, const AssociationInUse*> by_id_;
  TresId gpu_ = 0;
};

}  // namespace

ClusterSize cluster_size(const std::vector<protocol::NodeRecord>& nodes) {
  ClusterSize size;
  for (const protocol::NodeRecord& record : nodes) {
    if (record.node.removed || !record.node.config) continue;
    const NodeConfig& config = *record.node.config;
    size.cpus += config.cpus;
    size.cores += config.cores();
    for (const GresItem& item : gres_items(config.gres).value_or(std::vector<GresItem>())) {
      if (item.name == "gpu") size.gpus += item.count;
    }
  }
  return size;
}

UsageReport usage_report(const std::string& user, const ClusterConfig& config,
                         const AssocMgrReply& all, const ClusterSize& size,
                         const std::vector<protocol::PartitionRecord>& partitions) {
  UsageReport report;
  report.user = user;
  report.cluster = config.cluster_name;
  report.in_priority =
      config.priority_type == "priority/multifactor" && config.priority_weight_fair_share > 0;
  set_period(config, report);
  Reporter reporter(all, size, report);
  std::vector<AssociationChain> chains;
  for (const AssociationInUse& one : all.associations) {
    if (one.record.user != user) continue;
    chains.push_back(reporter.chain_of(one));
    reporter.add(chains.back());
  }
  report.limits = usage_limits(user, all, chains, partitions);
  return report;
}

UsageJob usage_job(const protocol::HistoryJob& record, const SacctContext& context) {
  return {sacct_job_id(record.job), record.job.name, sacct_job_state(record.job, false),
          job_efficiency(record, context)};
}

}  // namespace sluice::cli
