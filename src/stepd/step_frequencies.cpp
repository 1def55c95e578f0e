// --cpu-freq and --gpu-freq: the CPUs and GPUs of the step run as it asks for while it lasts.
#include <algorithm>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "stepd/binding/frequency_plan.hpp"
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
    agent_.send(protocol::FrameType::kAgentLog,
                fmt::format("--cpu-freq={}: {}", start_.cpu_freq, problem));
  };
  const ChangedCpus changed(start_.spool_dir);
  group_cpus(input).step.for_each([&](size_t cpu) {
    const auto offer = read_cpu_offer(kCpuFolder, cpu);
    if (!offer) return tell("this host does not let frequencies be set");
    const FrequencyPlan plan = plan_frequency(*request, *offer);
    tell(plan.problem);
    if (plan.wanted == CpuSettings{}) return;
    if (const Status done = changed.set(launch_.key, cpu, plan.wanted); !done)
      tell(done.error().text);
  });
}

void StepDaemon::give_frequencies_back() {
  const auto told = [this](const Status& done) {
    if (!done) agent_.send(protocol::FrameType::kAgentLog, done.error().text);
  };
  if (!start_.cpu_freq.empty()) told(ChangedCpus(start_.spool_dir).give_back(launch_.key));
  if (start_.sets_gpu_clocks && !start_.tres_freq.empty())
    told(ChangedGpus(start_.spool_dir).give_back(launch_.key));
}

void StepDaemon::set_gpu_clocks() {
  const auto request = parse_gpu_frequency(gpu_frequency_in(start_.tres_freq));
  std::vector<std::string> files;
  for (const protocol::GresDevice& device : start_.devices) {
    if (device.of_step && device.name == "gpu") files.push_back(device.file);
  }
  if (!request || files.empty()) return;
  const auto tell = [this](const std::string& problem) {
    agent_.send(protocol::FrameType::kAgentLog,
                fmt::format("--gpu-freq={}: {}", gpu_frequency_in(start_.tres_freq), problem));
  };
  if (!start_.sets_gpu_clocks) {
    if (!launch_.step->tres_freq.empty()) gpu_message_ = "GpuFreq=control_disabled\n";
    return tell("this node's GPUs are not found by AutoDetect=nvml: nothing is set");
  }
  const auto nvml = NvmlClocks::open();
  if (!nvml) return tell(nvml.error().text);
  const ChangedGpus changed(start_.spool_dir);
  for (const std::string& file : files) {
    const auto gpu = gpu_of_file(file);
    const GpuOffer offer = gpu ? nvml->offer(*gpu) : GpuOffer();
    if (offer.empty()) {
      tell(fmt::format("the clocks of {} cannot be set", file));
      continue;
    }
    if (const Status done = changed.set(*nvml, launch_.key, *gpu, plan_gpu_clocks(*request, offer));
        !done)
      tell(done.error().text);
    const GpuClocks now = nvml->now(*gpu);
    if (request->verbose)
      gpu_message_ +=
          fmt::format("GpuFreq=memory_freq:{},graphics_freq:{}\n", now.memory, now.graphics);
  }
}

}  // namespace sluice::stepd
