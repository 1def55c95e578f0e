#include "ctld/state/decide/job/held_licenses.hpp"

#include <algorithm>

namespace sluice::state {
namespace {

bool takes_more(std::string_view before, std::string_view after) {
  if (after.empty() || after == before) return false;
  const auto had = parse_licenses(before), wanted = parse_licenses(after);
  if (!had || !wanted) return true;
  return std::ranges::any_of(*wanted, [&](const auto& license) {
    const auto at = had->find(license.first);
    return at == had->end() || license.second > at->second;
  });
}

}  // namespace

Status HeldLicenses::check(const ClusterState& state, const Job& job, const JobSpec& spec,
                           Time now) {
  if (!takes_more(job.spec->licenses.view(), spec.licenses.view())) return {};
  if (!pool_) pool_.emplace(state, now);
  const LicenseUse use = license_use_of(state, job);
  pool_->give_back(*job.spec, use);
  const bool there = pool_->lacking(spec, use).empty();
  pool_->take(*job.spec, use);
  return there ? Status{}
               : failure(ErrorCode::kInvalidLicense, "Requested licenses are not available");
}

void HeldLicenses::follow(const ClusterState& state, const Job& before, const Job& after,
                          const JobSpec& spec) {
  if (!pool_ || !holds_licenses(before)) return;
  pool_->give_back(*before.spec, license_use_of(state, before));
  pool_->take(spec, license_use_of(state, after));
}

}  // namespace sluice::state
