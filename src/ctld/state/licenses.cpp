#include "ctld/state/licenses.hpp"

#include <algorithm>

#include "common/tables/licenses.hpp"

namespace sluice::state {

LicensePool::LicensePool(const ClusterState& state) {
  if (state.config->licenses.empty()) return;
  for (const LicenseCount& license : parse_licenses(state.config->licenses).value_or(std::vector<LicenseCount>())) {
    counts_[license.name].total += license.count;
  }
  state.active.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (holds_licenses(job)) take(*job.spec);
  });
}

std::vector<LicensePool::Lack> LicensePool::lacking(const JobSpec& spec) const {
  std::vector<Lack> out;
  if (spec.licenses.empty()) return out;
  const auto wanted = parse_licenses(spec.licenses.view()).value_or(std::vector<LicenseCount>());
  for (const LicenseCount& license : wanted) {
    const auto at = counts_.find(license.name);
    const Count has = at == counts_.end() ? Count{} : at->second;
    Lack lack{license.name, licenses_of(wanted, license.name), has.total - std::min(has.total, has.used), has.total};
    const bool known = std::ranges::any_of(out, [&](const Lack& other) { return other.name == lack.name; });
    if (lack.wanted > lack.free && !known) out.push_back(std::move(lack));
  }
  return out;
}

void LicensePool::take(const JobSpec& spec) {
  if (spec.licenses.empty()) return;
  for (const LicenseCount& license : parse_licenses(spec.licenses.view()).value_or(std::vector<LicenseCount>())) {
    counts_[license.name].used += license.count;
  }
}

Status check_licenses(const ClusterConfig& config, const JobSpec& spec) {
  if (spec.licenses.empty()) return {};
  const auto wanted = parse_licenses(spec.licenses.view());
  if (!wanted) return failure(ErrorCode::kInvalidLicense);
  const auto all = parse_licenses(config.licenses).value_or(std::vector<LicenseCount>());
  for (const LicenseCount& license : *wanted) {
    const bool known = std::ranges::any_of(all, [&](const LicenseCount& other) { return other.name == license.name; });
    if (!known || licenses_of(*wanted, license.name) > licenses_of(all, license.name)) {
      return failure(ErrorCode::kInvalidLicense);
    }
  }
  return {};
}

}  // namespace sluice::state
