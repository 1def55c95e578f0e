#include "ctld/state/rules/licenses.hpp"

#include <algorithm>
#include <set>

namespace sluice::state {
namespace {

uint64_t count_of(const LicenseCounts& counts, const std::string& name) {
  const auto at = counts.find(name);
  return at == counts.end() ? 0 : at->second;
}

LicenseCounts counts_of(std::string_view text) {
  return parse_licenses(text).value_or(LicenseCounts());
}

bool holds_at(const LicenseHold& hold, Time when) {
  const auto after = std::ranges::upper_bound(hold.periods, when, {}, &Period::start);
  return after != hold.periods.begin() && when < std::prev(after)->end;
}

}  // namespace

std::vector<LicenseHold> license_holds(const ClusterState& state, Time now) {
  std::vector<LicenseHold> holds;
  for (const Reservation& one : *state.reservations) {
    if (one.licenses.empty()) continue;
    LicenseHold hold{&one, counts_of(one.licenses), {}};
    const bool floats = (one.flags & kReservationTimeFloat) != 0;
    for (Period period : planned_periods(one, now)) {
      if (floats) period.end = kNever;
      if (period.end > now) hold.periods.push_back(period);
    }
    if (!hold.periods.empty()) holds.push_back(std::move(hold));
  }
  return holds;
}

LicenseUse license_use_of(const ClusterState& state, const Job& job) {
  return {find_reservation(state, job.reservation.view()), job.end == kNoTime ? kNever : job.end};
}

LicensePool::LicensePool(const ClusterState& state, Time now) : now_(now), moments_(1) {
  moments_.front().at = now;
  if (state.config->licenses.empty()) return;
  totals_ = counts_of(state.config->licenses);
  const std::vector<LicenseHold> holds = license_holds(state, now);
  std::set<Time> starts;
  for (const LicenseHold& hold : holds) {
    for (const Period& period : hold.periods) {
      if (period.start > now) starts.insert(period.start);
    }
  }
  for (const Time at : starts) moments_.push_back({at, {}});
  for (Moment& moment : moments_) {
    for (const LicenseHold& hold : holds) {
      if (!holds_at(hold, moment.at)) continue;
      for (const auto& [name, count] : hold.counts)
        share_of(moment, name, hold.reservation).kept += count;
    }
  }
  state.active.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    if (holds_licenses(job)) take(*job.spec, license_use_of(state, job));
  });
}

LicensePool::Share& LicensePool::share_of(Moment& moment, const std::string& name,
                                          const Reservation* reservation) {
  const uint32_t id = reservation == nullptr ? 0 : reservation->id;
  Shares& shares = moment.names[name];
  const auto at = std::ranges::find(shares, id, &Share::reservation);
  return at != shares.end() ? *at : shares.emplace_back(Share{.reservation = id});
}

const LicensePool::Shares& LicensePool::shares_of(const Moment& moment, const std::string& name) {
  static const Shares no_shares;
  const auto at = moment.names.find(name);
  return at == moment.names.end() ? no_shares : at->second;
}

std::vector<LicensePool::Lack> LicensePool::lacking(const JobSpec& spec,
                                                    const LicenseUse& use) const {
  std::vector<Lack> out;
  if (spec.licenses.empty()) return out;
  const uint32_t own = use.own == nullptr ? 0 : use.own->id;
  const Time until = last_moment(use.own, use.until, now_);
  for (const auto& [name, wanted] : counts_of(spec.licenses.view())) {
    Lack worst{name, wanted, UINT64_MAX, count_of(totals_, name)};
    for (const Moment& moment : moments_) {
      if (moment.at > now_ && moment.at >= until) break;
      uint64_t taken = 0, kept = 0;
      for (const Share& share : shares_of(moment, name)) {
        taken += share.used;
        if (share.reservation != own && share.kept > share.used) kept += share.kept - share.used;
      }
      const uint64_t free = worst.total - std::min(worst.total, taken + kept);
      if (free >= worst.free) continue;
      worst.free = free;
      worst.kept = kept;
    }
    if (wanted > worst.free) out.push_back(std::move(worst));
  }
  return out;
}

uint64_t LicensePool::used(const std::string& name) const {
  uint64_t used = 0;
  for (const Share& share : shares_of(moments_.front(), name)) used += share.used;
  return used;
}

uint64_t LicensePool::reserved(const std::string& name) const {
  uint64_t kept = 0;
  for (const Share& share : shares_of(moments_.front(), name)) kept += share.kept;
  return kept;
}

void LicensePool::change(const JobSpec& spec, const LicenseUse& use, bool give_back) {
  if (spec.licenses.empty()) return;
  const Time until = last_moment(use.own, use.until, now_);
  for (const auto& [name, count] : counts_of(spec.licenses.view())) {
    for (Moment& moment : moments_) {
      if (moment.at > now_ && moment.at >= until) break;
      uint64_t& used = share_of(moment, name, use.own).used;
      used = give_back ? used - count : used + count;
    }
  }
}

void LicensePool::take(const JobSpec& spec, const LicenseUse& use) { change(spec, use, false); }

void LicensePool::give_back(const JobSpec& spec, const LicenseUse& use) { change(spec, use, true); }

Status check_licenses(const ClusterConfig& config, const JobSpec& spec) {
  if (spec.licenses.empty()) return {};
  const auto wanted = parse_licenses(spec.licenses.view());
  if (!wanted) return failure(ErrorCode::kInvalidLicense);
  const LicenseCounts all = counts_of(config.licenses);
  // until there are as many
  const bool may_wait = has_option(config.scheduler_parameters, "allow_zero_lic");
  const bool there = std::ranges::all_of(*wanted, [&](const auto& license) {
    const auto at = all.find(license.first);
    return at != all.end() && (may_wait || license.second <= at->second);
  });
  return there ? Status{} : failure(ErrorCode::kInvalidLicense);
}

Status check_reserved_licenses(const ClusterState& state, const Reservation& reservation,
                               Time now) {
  if (reservation.licenses.empty()) return {};
  auto wanted = parse_licenses(reservation.licenses);
  if (!wanted) return failure(ErrorCode::kInvalidLicense);
  for (const Reservation& other : *state.reservations) {
    if (other.id == reservation.id || other.licenses.empty() || !ever_meet(reservation, other, now))
      continue;
    for (const auto& [name, count] : counts_of(other.licenses)) {
      if (const auto at = wanted->find(name); at != wanted->end()) at->second += count;
    }
  }
  const LicenseCounts all = counts_of(state.config->licenses);
  const bool there = std::ranges::all_of(*wanted, [&](const auto& license) {
    const auto at = all.find(license.first);
    return at != all.end() && license.second <= at->second;
  });
  return there ? Status{} : failure(ErrorCode::kInvalidLicense);
}

}  // namespace sluice::state
