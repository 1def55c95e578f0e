// Licenses over time: what running jobs hold until their time limits, and what is planned.
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
  explicit LicensePlan(const Resources& resources);

  // The first moment, `from` or later, from which the job may have its licenses for so long;
  // kNoTick: never.
  [[nodiscard]] Tick next_start(const JobSpec& spec, Tick from, Tick duration) const;
  void claim(const JobSpec& spec, Tick from, Tick to);

 private:
  std::map<std::string, timeline::CounterTimeline, std::less<>> names_;
};

}  // namespace sluice::sched
