#include "ctld/state/rules/licenses.hpp"

#include <algorithm>

namespace sluice::state {
namespace {

uint64_t count_of(const LicenseCounts& counts, const std::string& name) {
  const auto at = counts.find(name);
  return at == counts.end() ? 0 : at->second;
}

}  // namespace

LicensePool::LicensePool(const ClusterState& state) {
  if (state.config->licenses.empty()) return;
  totals_ = parse_licenses(state.config->licenses).value_or(LicenseCounts());
  state.active.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (holds_licenses(job)) take(*job.spec);
  });
}

std::vector<LicensePool::Lack> LicensePool::lacking(const JobSpec& spec) const {
  std::vector<Lack> out;
  if (spec.licenses.empty()) return out;
  for (const auto& [name, wanted] :
       parse_licenses(spec.licenses.view()).value_or(LicenseCounts())) {
    const uint64_t total = count_of(totals_, name);
    const uint64_t free = total - std::min(total, used(name));
    if (wanted > free) out.push_back({name, wanted, free, total});
  }
  return out;
}

uint64_t LicensePool::used(const std::string& name) const { return count_of(used_, name); }

void LicensePool::take(const JobSpec& spec) {
  if (spec.licenses.empty()) return;
  for (const auto& [name, count] : parse_licenses(spec.licenses.view()).value_or(LicenseCounts()))
    used_[name] += count;
}

void LicensePool::give_back(const JobSpec& spec) {
  if (spec.licenses.empty()) return;
  for (const auto& [name, count] : parse_licenses(spec.licenses.view()).value_or(LicenseCounts()))
    used_[name] -= count;
}

Status check_licenses(const ClusterConfig& config, const JobSpec& spec) {
  if (spec.licenses.empty()) return {};
  const auto wanted = parse_licenses(spec.licenses.view());
  if (!wanted) return failure(ErrorCode::kInvalidLicense);
  const LicenseCounts all = parse_licenses(config.licenses).value_or(LicenseCounts());
  // until there are as many
  const bool may_wait = has_option(config.scheduler_parameters, "allow_zero_lic");
  const bool there = std::ranges::all_of(*wanted, [&](const auto& license) {
    const auto at = all.find(license.first);
    return at != all.end() && (may_wait || license.second <= at->second);
  });
  return there ? Status{} : failure(ErrorCode::kInvalidLicense);
}

}  // namespace sluice::state
