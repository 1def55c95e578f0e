#include "stepd/usage_watch.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/names/step_names.hpp"
#include "stepd/binding/memory_bounds.hpp"

namespace sluice::stepd {

UsageWatch::UsageWatch(const StepFacts& facts, StepClock& clock, const StepProcesses& processes,
                       Reader reader, OnExcess on_excess)
    : facts_(facts),
      processes_(processes),
      reader_(std::move(reader)),
      on_excess_(std::move(on_excess)),
      alarm_(clock.make_alarm()) {}

void UsageWatch::start() {
  meter_.count(facts_.start.counted_memory);
  sample();
}

void UsageWatch::stop() {
  stopped_ = true;
  alarm_->cancel();
}

void UsageWatch::measure() {
  std::vector<ProcessUsage> processes;
  for (const pid_t pid : processes_.members()) {
    if (const auto usage = reader_(pid)) processes.push_back(*usage);
  }
  meter_.sample(processes);
}

void UsageWatch::sample() {
  if (facts_.start.sample_interval <= Duration::zero() || stopped_) return;
  measure();
  const std::string excess =
      memory_excess(meter_.memory(), memory_bounds(facts_.start, facts_.launch));
  if (!excess.empty()) {
    on_excess_(
        fmt::format("StepId={} {}, being killed", step_id_text(facts_.launch.key.id), excess));
  }
  alarm_->set(facts_.start.sample_interval, [this] { sample(); });
}

protocol::StatStepReply UsageWatch::answer() {
  measure();
  protocol::StatStepReply reply;
  reply.key = facts_.launch.key;
  reply.tasks = meter_.tasks();
  for (const pid_t pid : processes_.members()) reply.pids.push_back(static_cast<uint32_t>(pid));
  return reply;
}

}  // namespace sluice::stepd
