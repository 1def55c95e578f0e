// What a job finds at its turn, tried out: nothing is claimed.
#include "ctld/sched/pass_run.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {

using state::Partition;

std::optional<PassRun::OverLimit> PassRun::over_limit(const Job& job, const Partition& partition,
                                                      const Reservation* reservation) {
  if (!limits_.acts()) return std::nullopt;
  Demand& demand = demand_of(job, partition, reservation);
  if (!demand.request) return std::nullopt;
  const Minutes limit = least_limit(job, partition);
  if (limit_on(job, partition, demand, limit)) {
    const auto hit = limits_.hit(job, partition, *demand.asked, limit);
    if (!hit) return std::nullopt;  // it is no limit
    return OverLimit{*hit, limits_.next_start(job, partition, *demand.asked, limit)};
  }
  StartFinder::Wanted wanted = wanted_by(job, demand, limit);
  wanted.latest = 0;
  auto found = find_start(demand, job, wanted);
  if (!found) return std::nullopt;
  const auto limited = fit_limits(job, partition, {demand, wanted, limit}, found->nodes);
  if (!limited || !fitting_.hit) return std::nullopt;
  return OverLimit{*fitting_.hit,
                   limits_.next_start(job, partition, allocation_of(found->nodes), limit)};
}

std::optional<bool> PassRun::would_start(const Job& job, const Partition& partition) {
  const auto at = static_cast<uint32_t>(&partition - state_.partitions->data());
  const uint64_t rank = rank_of(job, *partition.config, priority_in(job, *partition.config));
  if (!turn_ || rank != *turn_) return std::nullopt;
  if (why_partition_refuses(state_, job, partition) || state::is_too_late(job, now_)) return false;
  if (is_closed({.rank = rank, .entry = 0, .partition = at})) return false;
  if (state_.reservations->empty() && job.spec->reservation.empty())
    return would_start_in(job, partition, nullptr);
  const state::ReservationChoice choice = state::choose_reservations(state_, job, now_);
  for (const Reservation* reservation : choice.usable) {
    if (would_start_in(job, partition, reservation)) return true;
  }
  return !choice.named && would_start_in(job, partition, nullptr);
}

bool PassRun::would_start_in(const Job& job, const Partition& partition,
                             const Reservation* reservation) {
  Demand demand(request_in(state_, resources_.rules(), job, partition, reservation));
  if (!demand.request) return false;
  // others would learn from it, and it is gone soon
  demand.finder = std::make_unique<StartFinder>(resources_, *demand.request);
  return find_now(job, partition, demand).has_value();
}

}  // namespace sluice::sched
