#include "ctld/sched/license_plan.hpp"

#include <algorithm>

#include "ctld/state/core/indexes.hpp"

namespace sluice::sched {

LicensePlan::LicensePlan(const Resources& resources) {
  const state::ClusterState& state = resources.state();
  if (state.config->licenses.empty()) return;
  for (const auto& [name, total] : parse_licenses(state.config->licenses).value_or(LicenseCounts()))
    names_.emplace(name, timeline::CounterTimeline(total));
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (!holds_licenses(job)) return;
    const Time end = job.end == kNoTime ? kNever : job.end;
    claim(*job.spec, 0, std::max<Tick>(1, resources.tick_from(end)));
  });
}

Tick LicensePlan::next_start(const JobSpec& spec, Tick from, Tick duration) const {
  if (spec.licenses.empty()) return from;
  const LicenseCounts wanted = parse_licenses(spec.licenses.view()).value_or(LicenseCounts());
  Tick at = from;
  for (bool moved = true; moved && at != timeline::kNoTick;) {
    moved = false;
    for (const auto& [name, count] : wanted) {
      const auto found = names_.find(name);
      const Tick next = found != names_.end() ? found->second.next_start(at, duration, count)
                        : count == 0          ? at
                                              : timeline::kNoTick;
      moved = moved || next != at;
      at = next;
      if (at == timeline::kNoTick) break;
    }
  }
  return at;
}

void LicensePlan::claim(const JobSpec& spec, Tick from, Tick to) {
  if (spec.licenses.empty()) return;
  for (const auto& [name, count] : parse_licenses(spec.licenses.view()).value_or(LicenseCounts())) {
    if (const auto found = names_.find(name); found != names_.end())
      found->second.add(from, to, count);
  }
}

}  // namespace sluice::sched
