// Licenses over time: what running jobs hold until their time limits, what is planned, and what
// reservations keep for theirs.
#pragma once

#include <map>
#include <string>

#include "common/model/job_spec.hpp"
#include "common/syntax/licenses.hpp"
#include "ctld/sched/resources.hpp"
#include "ctld/timeline/counter_timeline.hpp"

namespace sluice::sched {

class LicensePlan {
 public:
  // `resources` outlives this.
  explicit LicensePlan(const Resources& resources);

  // The first moment, `from` or later, from which the job may have its licenses for so long (or as
  // long as the reservation lasts in which it would run; null: in none); kNoTick: never.
  [[nodiscard]] Tick next_start(const JobSpec& spec, const Reservation* own, Tick from,
                                Tick duration) const;
  // Until when the job may have its licenses if it starts now; kNoTick: as long as it lasts.
  [[nodiscard]] Tick free_until(const JobSpec& spec, const Reservation* own) const;
  void claim(const JobSpec& spec, const Reservation* own, Tick from, Tick to);

 private:
  [[nodiscard]] Tick end_of(const Reservation* own) const;

  const Resources& resources_;
  std::map<std::string, timeline::CounterTimeline, std::less<>> names_;
};

}  // namespace sluice::sched
