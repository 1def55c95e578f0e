#include "ctld/engine/pass_rest.hpp"

#include <optional>

#include "common/base/text.hpp"

namespace sluice::engine {
namespace {

constexpr int kRestFactor = 9;
constexpr Duration kLongestRest = std::chrono::milliseconds(500);
// A long pass is to leave most of the time to others, and nobody without his turn for minutes.
constexpr Duration kLongestRestOfWhole = std::chrono::seconds(30);
// Where default_queue_depth bounds the others.
constexpr Duration kBetweenDeepPasses = std::chrono::seconds(30);
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

Duration longest_wait(const ClusterConfig& config, Duration usual) {
  constexpr Duration kOnlyForNews = std::chrono::hours(24);
  const auto text = option_value(config.scheduler_parameters, "sched_interval");
  if (!text) return usual;
  if (*text == "-1") return kOnlyForNews;
  const auto seconds = to_number<uint32_t>(*text);
  return seconds && *seconds > 0 ? Duration(std::chrono::seconds(*seconds)) : usual;
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
  const uint32_t of_partition = number_of(config, "partition_job_depth").value_or(0);
  if (of_partition != 0 && !all) budget.most_of_partition = of_partition;
  budget.limits_stop = has_option(config.scheduler_parameters, "assoc_limit_stop");
  const auto bound = [&](std::string_view option, uint32_t& value) {
    const uint32_t given = number_of(config, option).value_or(0);
    if (given != 0) value = given;
  };
  bound("bf_max_job_test", budget.most_tests);
  bound("bf_job_part_count_reserve", budget.most_planned);
  bound("bf_max_job_array_resv", budget.most_planned_tasks);
  bound("sched_max_job_start", budget.most_starts);
  sched::BackfillBounds& backfill = budget.backfill;
  bound("bf_max_job_part", backfill.most_of_partition);
  bound("bf_max_job_user", backfill.most_of_user);
  bound("bf_max_job_user_part", backfill.most_of_user_in_partition);
  bound("bf_max_job_assoc", backfill.most_of_association);
  bound("bf_max_job_start", backfill.most_starts);
  bound("bf_min_prio_reserve", backfill.least_priority);
  backfill.least_age = std::chrono::seconds(number_of(config, "bf_min_age_reserve").value_or(0));
  if (const auto minutes = number_of(config, "bf_window"); minutes && *minutes > 0)
    backfill.window = std::chrono::minutes(*minutes);
  return budget;
}

Duration rest_of_whole_passes(Duration took, const ClusterConfig& config) {
  const Duration asked = std::chrono::seconds(number_of(config, "bf_interval").value_or(0));
  const bool bounded = number_of(config, "default_queue_depth").value_or(0) != 0 ||
                       number_of(config, "partition_job_depth").value_or(0) != 0;
  const Duration least = std::max(asked, bounded ? kBetweenDeepPasses : Duration(0));
  const Duration longest = std::max<Duration>(took, kLongestRestOfWhole);
  return std::max(least, took > kShortPass ? std::min(took * kRestFactor, longest) : Duration(0));
}

Duration longest_pass(const ClusterConfig& config) {
  constexpr uint32_t kUsual = 30;  // seconds, as in Slurm
  const uint32_t given = number_of(config, "bf_max_time").value_or(0);
  return std::chrono::seconds(given == 0 ? kUsual : given);
}

}  // namespace sluice::engine
