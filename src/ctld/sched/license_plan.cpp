#include "ctld/sched/license_plan.hpp"

#include <algorithm>

#include "ctld/state/core/indexes.hpp"
#include "ctld/state/rules/licenses.hpp"

namespace sluice::sched {

using timeline::kNoTick;

namespace {

uint32_t group_of(const Reservation* own) {
  return own == nullptr ? timeline::CounterTimeline::kNoGroup : own->id;
}

}  // namespace

LicensePlan::LicensePlan(const Resources& resources) : resources_(resources) {
  const state::ClusterState& state = resources.state();
  if (state.config->licenses.empty()) return;
  for (const auto& [name, total] : parse_licenses(state.config->licenses).value_or(LicenseCounts()))
    names_.emplace(name, timeline::CounterTimeline(total));
  for (const state::LicenseHold& hold : state::license_holds(state, resources.now())) {
    for (const auto& [name, count] : hold.counts) {
      const auto found = names_.find(name);
      if (found == names_.end()) continue;
      for (const state::Period& period : hold.periods) {
        const Tick to = period.end == kNever ? timeline::kNoTick : resources.tick_from(period.end);
        found->second.keep(resources.tick_until(period.start), to, count, hold.reservation->id);
      }
    }
  }
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (!holds_licenses(job)) return;
    const state::LicenseUse use = state::license_use_of(state, job);
    claim(*job.spec, use.own, 0, std::max<Tick>(1, resources.tick_from(use.until)));
  });
}

Tick LicensePlan::end_of(const Reservation* own) const {
  const Time end = state::last_moment(own, kNever, resources_.now());
  return end == kNever ? timeline::kNoTick : resources_.tick_from(end);
}

Tick LicensePlan::next_start(const JobSpec& spec, const Reservation* own, Tick from,
                             Tick duration) const {
  if (spec.licenses.empty()) return from;
  const LicenseCounts wanted = parse_licenses(spec.licenses.view()).value_or(LicenseCounts());
  const Tick until = end_of(own);
  Tick at = from;
  for (bool moved = true; moved && at != timeline::kNoTick;) {
    moved = false;
    for (const auto& [name, count] : wanted) {
      const auto found = names_.find(name);
      const Tick next = found != names_.end()
                            ? found->second.next_start(at, duration, count, group_of(own), until)
                        : count == 0 ? at
                                     : timeline::kNoTick;
      moved = moved || next != at;
      at = next;
      if (at == timeline::kNoTick) break;
    }
  }
  return at;
}

Tick LicensePlan::free_until(const JobSpec& spec, const Reservation* own) const {
  Tick until = kNoTick;
  if (spec.licenses.empty()) return until;
  for (const auto& [name, count] : parse_licenses(spec.licenses.view()).value_or(LicenseCounts())) {
    const auto found = names_.find(name);
    if (found != names_.end())
      until = std::min(until, found->second.free_until(0, count, group_of(own), end_of(own)));
  }
  return until;
}

void LicensePlan::claim(const JobSpec& spec, const Reservation* own, Tick from, Tick to) {
  if (spec.licenses.empty()) return;
  to = std::max(from + 1, std::min(to, end_of(own)));
  for (const auto& [name, count] : parse_licenses(spec.licenses.view()).value_or(LicenseCounts())) {
    if (const auto found = names_.find(name); found != names_.end())
      found->second.add(from, to, count, group_of(own));
  }
}

}  // namespace sluice::sched
