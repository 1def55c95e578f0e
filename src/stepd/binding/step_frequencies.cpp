#include "stepd/binding/step_frequencies.hpp"

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "stepd/binding/frequency_plan.hpp"

namespace sluice::stepd {

void StepFrequencies::set_cpus() const {
  const protocol::StepdStart& start = input_.start;
  // tasks that may run anywhere would gain nothing
  const bool confined = start.affinity || contains(start.cgroup.controllers, "cpuset");
  const auto request = parse_cpu_frequency(start.cpu_freq);
  if (!confined || !request) return;
  std::string told;  // once, where it is the same for all CPUs
  const auto tell = [&](const std::string& problem) {
    if (problem.empty() || problem == told) return;
    told = problem;
    log_(fmt::format("--cpu-freq={}: {}", start.cpu_freq, problem));
  };
  const ChangedCpus changed(start.spool_dir);
  group_cpus(input_).step.for_each([&](size_t cpu) {
    const auto offer = read_cpu_offer(kCpuFolder, cpu);
    if (!offer) return tell("this host does not let frequencies be set");
    const FrequencyPlan plan = plan_frequency(*request, *offer);
    tell(plan.problem);
    if (plan.wanted == CpuSettings{}) return;
    if (const Status done = changed.set(input_.launch.key, cpu, plan.wanted); !done)
      tell(done.error().text);
  });
}

void StepFrequencies::give_back() const {
  const protocol::StepdStart& start = input_.start;
  const auto told = [this](const Status& done) {
    if (!done) log_(done.error().text);
  };
  if (!start.cpu_freq.empty()) told(ChangedCpus(start.spool_dir).give_back(input_.launch.key));
  if (start.sets_gpu_clocks && !start.tres_freq.empty())
    told(ChangedGpus(start.spool_dir).give_back(input_.launch.key));
}

std::string StepFrequencies::set_gpus() const {
  const protocol::StepdStart& start = input_.start;
  std::string message;
  const auto request = parse_gpu_frequency(gpu_frequency_in(start.tres_freq));
  std::vector<std::string> files;
  for (const protocol::GresDevice& device : start.devices) {
    if (device.of_step && device.name == "gpu") files.push_back(device.file);
  }
  if (!request || files.empty()) return message;
  const auto tell = [&](const std::string& problem) {
    log_(fmt::format("--gpu-freq={}: {}", gpu_frequency_in(start.tres_freq), problem));
  };
  if (!start.sets_gpu_clocks) {
    if (!input_.launch.step->tres_freq.empty()) message = "GpuFreq=control_disabled\n";
    tell("this node's GPUs are not found by AutoDetect=nvml: nothing is set");
    return message;
  }
  const auto nvml = NvmlClocks::open();
  if (!nvml) {
    tell(nvml.error().text);
    return message;
  }
  const ChangedGpus changed(start.spool_dir);
  for (const std::string& file : files) {
    const auto gpu = gpu_of_file(file);
    const GpuOffer offer = gpu ? nvml->offer(*gpu) : GpuOffer();
    if (offer.empty()) {
      tell(fmt::format("the clocks of {} cannot be set", file));
      continue;
    }
    if (const Status done =
            changed.set(*nvml, input_.launch.key, *gpu, plan_gpu_clocks(*request, offer));
        !done)
      tell(done.error().text);
    const GpuClocks now = nvml->now(*gpu);
    if (request->verbose)
      message += fmt::format("GpuFreq=memory_freq:{},graphics_freq:{}\n", now.memory, now.graphics);
  }
  return message;
}

}  // namespace sluice::stepd
