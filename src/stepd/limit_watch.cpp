#include "stepd/limit_watch.hpp"

#include <fmt/format.h>

#include "common/names/step_names.hpp"

namespace sluice::stepd {
namespace {

constexpr auto kMemoryInterval = std::chrono::milliseconds(250);

}  // namespace

void LimitWatch::start() {
  if (!stopped_ && groups_.exists() && facts_.ends_on_oom()) look();
}

void LimitWatch::stop() {
  stopped_ = true;
  alarm_->cancel();
}

void LimitWatch::look() {
  if (groups_.oom_kills() > 0) return end_step_();
  alarm_->set(kMemoryInterval, [this] { look(); });
}

std::string LimitWatch::oom_text() const {
  const uint64_t kills = groups_.oom_kills();
  if (kills == 0) return {};
  std::string text = fmt::format(
      "slurmstepd: error: Detected {} oom_kill event{} in StepId={}. Some of the step tasks have "
      "been OOM Killed.\n",
      kills, kills == 1 ? "" : "s", step_id_text(facts_.launch.key.id));
  for (const std::string& victim : groups_.oom_victims())
    text += fmt::format("slurmstepd: error: out of memory: {} was killed\n", victim);
  return text;
}

std::string LimitWatch::refused_forks_text() const {
  const uint64_t refusals = groups_.fork_refusals();
  if (refusals == 0) return {};
  return fmt::format(
      "slurmstepd: error: StepId={}: {} fork{} refused, the job's limit of {} processes and "
      "threads on this node was reached\n",
      step_id_text(facts_.launch.key.id), refusals, refusals == 1 ? "" : "s", groups_.most_pids());
}

}  // namespace sluice::stepd
