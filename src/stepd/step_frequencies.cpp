// --cpu-freq: the CPUs of the step run as it asks for while it lasts.
#include <algorithm>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "stepd/frequency_plan.hpp"
#include "stepd/step_daemon.hpp"

namespace sluice::stepd {

void StepDaemon::set_frequencies(const PlanInput& input) {
  // tasks that may run anywhere would gain nothing
  const bool confined = start_.affinity || contains(start_.cgroup.controllers, "cpuset");
  const auto request = parse_cpu_frequency(start_.cpu_freq);
  if (!confined || !request) return;
  std::string told;  // once, where it is the same for all CPUs
  const auto tell = [&](const std::string& problem) {
    if (problem.empty() || problem == told) return;
    told = problem;
    agent_.send(protocol::FrameType::kAgentLog, fmt::format("--cpu-freq={}: {}", start_.cpu_freq, problem));
  };
  const ChangedCpus changed(start_.spool_dir);
  group_cpus(input).step.for_each([&](size_t cpu) {
    const auto offer = read_cpu_offer(kCpuFolder, cpu);
    if (!offer) return tell("this host does not let frequencies be set");
    const FrequencyPlan plan = plan_frequency(*request, *offer);
    tell(plan.problem);
    if (plan.wanted == CpuSettings{}) return;
    if (const Status done = changed.set(launch_.key, cpu, plan.wanted); !done) tell(done.error().text);
  });
}

void StepDaemon::give_frequencies_back() {
  if (start_.cpu_freq.empty()) return;
  const Status done = ChangedCpus(start_.spool_dir).give_back(launch_.key);
  if (!done) agent_.send(protocol::FrameType::kAgentLog, done.error().text);
}

}  // namespace sluice::stepd
