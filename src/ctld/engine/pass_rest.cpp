#include "ctld/engine/pass_rest.hpp"

#include <optional>

#include "common/base/text.hpp"

namespace sluice::engine {
namespace {

constexpr int kRestFactor = 9;
constexpr Duration kLongestRest = std::chrono::milliseconds(500);
constexpr Duration kDeferred = std::chrono::seconds(1);  // SchedulerParameters=defer

std::optional<uint32_t> number_of(const ClusterConfig& config, std::string_view option) {
  return to_number<uint32_t>(option_value(config.scheduler_parameters, option).value_or(""));
}

}  // namespace

PassRest rest_after(const sched::Plan& plan, Duration took, const ClusterConfig& config) {
  PassRest rest;
  rest.least = std::chrono::microseconds(number_of(config, "sched_min_interval").value_or(0));
  const bool in_vain = plan.starts.empty() && plan.preemptions.empty();
  if (in_vain) rest.for_submissions = std::min<Duration>(took * kRestFactor, kLongestRest);
  if (has_option(config.scheduler_parameters, "defer"))
    rest.for_submissions = std::max(rest.for_submissions, kDeferred);
  return rest;
}

Time next_pass_due(const sched::Plan& plan, const state::ClusterState& state, Time now) {
  Time due = plan.again;
  for (const Reservation& reservation : *state.reservations) {
    if ((reservation.flags & kReservationTimeFloat) != 0) continue;  // always as far away as now
    for (const Time change : {reservation.start, reservation.end}) {
      if (change > now) due = std::min(due, change);
    }
  }
  return due;
}

sched::WorkBudget budget_of_pass(const ClusterConfig& config, bool all) {
  sched::WorkBudget budget;
  const uint32_t depth = number_of(config, "default_queue_depth").value_or(0);
  if (depth != 0 && !all) budget.most_jobs = depth;
  return budget;
}

}  // namespace sluice::engine
