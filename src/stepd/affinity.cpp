// Which CPUs a task is bound to (TaskPlugin=task/affinity, --cpu-bind).
#include <algorithm>

#include <fmt/format.h>
#include <sched.h>

#include "common/base/bitmap.hpp"
#include "common/base/text.hpp"
#include "stepd/bind_list.hpp"
#include "stepd/cpu_choice.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {
namespace {

// The real CPUs of this host that this process may use, in the order in which configured ones are numbered.
std::vector<int> own_cpus(const PlanInput& input) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> cpus;
  const auto take = [&](int cpu) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  };
  for (const uint32_t cpu : input.start.processors) take(static_cast<int>(cpu));
  if (cpus.empty()) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) take(cpu);
  }
  return cpus;
}

// The configured CPUs of these cores, in order.
std::vector<uint32_t> cpus_of_cores(const PlanInput& input, const Bitmap& cores) {
  std::vector<uint32_t> cpus;
  const uint32_t threads = std::max(input.start.threads_per_core, 1U);
  cores.for_each([&](size_t core) {
    for (uint32_t thread = 0; thread < threads; ++thread) {
      cpus.push_back(static_cast<uint32_t>(core) * threads + thread);
    }
  });
  return cpus;
}

// The configured CPUs (not cores) of the step on this node, in order.
std::vector<uint32_t> step_cpus(const PlanInput& input) {
  const auto& nodes = input.launch.layout.nodes;
  if (input.start.node_index >= nodes.size()) return {};
  const auto cores = Bitmap::from_text(nodes[input.start.node_index].cores);
  return cores ? cpus_of_cores(input, *cores) : std::vector<uint32_t>();
}

// The CPUs of this host that stand for configured ones; several may have the same.
Bitmap real_cpus(const std::vector<uint32_t>& wanted, const std::vector<int>& real) {
  Bitmap cpus;
  for (const uint32_t cpu : wanted) {
    if (!real.empty()) cpus.set(static_cast<size_t>(real[cpu % real.size()]));
  }
  return cpus;
}

bool has_word(std::string_view bind, std::string_view word) {
  const std::vector<std::string> words = split_list(bind);
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What each task gets of the step's CPUs when --cpu-bind names a kind of place, or nothing.
std::vector<uint32_t> dealt_cpus(const PlanInput& input,
                                 const std::vector<uint32_t>& cpus,
                                 std::string_view bind,
                                 uint32_t local) {
  const StepSpec& step = *input.launch.step;
  const CpuShape shape{std::max(input.start.threads_per_core, 1U),
                       std::max(input.start.cores_per_socket, 1U)};
  CpuDemand demand;
  const auto& here = input.launch.layout.nodes[input.start.node_index];
  demand.tasks = static_cast<uint32_t>(here.tasks.size());
  demand.each = std::max(step.cpus_per_task, 1U);
  demand.order = socket_order(step.distribution);
  if (has_word(bind, "sockets") || has_word(bind, "ldoms")) {
    demand.unit = BindUnit::kSocket;
  } else if (has_word(bind, "cores")) {
    demand.unit = BindUnit::kCore;
  } else if (!has_word(bind, "threads") && !find_unit(cpus, shape, demand)) {
    return cpus;
  }
  const auto dealt = deal_cpus(cpus, shape, demand);
  return dealt.empty() ? cpus : dealt[local];
}

// The configured CPUs a task gets by what --cpu-bind says; empty: not bound.
std::vector<uint32_t> chosen_cpus(const PlanInput& input, std::string_view bind, uint32_t local) {
  const std::vector<uint32_t> cpus = step_cpus(input);
  if (has_word(bind, "none") || has_word(bind, "no")) return {};
  if (has_word(bind, "rank") && !cpus.empty()) return {cpus[local % cpus.size()]};
  if (const size_t at = bind.find("map_cpu:"); at != std::string_view::npos) {
    const auto cpu = to_number<uint32_t>(list_item(bind.substr(at + 8), local));
    return cpu ? std::vector<uint32_t>{*cpu} : std::vector<uint32_t>{};
  }
  if (const size_t at = bind.find("mask_cpu:"); at != std::string_view::npos) {
    return bits_of_mask(list_item(bind.substr(at + 9), local));
  }
  if (input.launch.step == nullptr) return cpus;
  return dealt_cpus(input, cpus, bind, local);
}

std::string_view bind_of(const PlanInput& input) {
  return input.launch.step == nullptr ? std::string_view() : input.launch.step->cpu_bind.view();
}

std::string mask_of(const std::vector<uint32_t>& cpus) {
  std::string digits(1, '0');  // the lowest first
  for (const uint32_t cpu : cpus) {
    if (digits.size() <= cpu / 4) digits.resize(cpu / 4 + 1, '0');
    char& digit = digits[cpu / 4];
    const int value = (digit <= '9' ? digit - '0' : digit - 'A' + 10) | 1 << cpu % 4;
    digit = "0123456789ABCDEF"[value];
  }
  return "0x" + std::string(digits.rbegin(), digits.rend());
}

}  // namespace

std::optional<cpu_set_t> cpus_of_task(const PlanInput& input, uint32_t local_task) {
  if (!input.start.affinity) return std::nullopt;
  const std::vector<uint32_t> wanted = chosen_cpus(input, bind_of(input), local_task);
  const std::vector<int> real = own_cpus(input);
  if (wanted.empty() || real.empty()) return std::nullopt;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const uint32_t cpu : wanted)
    CPU_SET(real[cpu % real.size()], &set);
  return set;
}

GroupCpus group_cpus(const PlanInput& input) {
  const std::vector<int> real = own_cpus(input);
  GroupCpus cpus;
  cpus.step = real_cpus(step_cpus(input), real);
  cpus.job = cpus.step;
  const auto& launch = input.launch;
  for (size_t i = 0; launch.allocation != nullptr && i < launch.allocation->nodes.size(); ++i) {
    if (i >= launch.allocation_nodes.size()) break;
    if (launch.allocation_nodes[i].name != input.start.node_name) continue;
    cpus.job |= real_cpus(cpus_of_cores(input, launch.allocation->nodes[i].cores), real);
  }
  return cpus;
}

std::string binding_report(const PlanInput& input, uint32_t local_task) {
  const std::string_view bind = bind_of(input);
  if (!input.start.affinity || !(has_word(bind, "verbose") || has_word(bind, "v"))) return {};
  const std::vector<uint32_t> cpus = chosen_cpus(input, bind, local_task);
  const auto& here = input.launch.layout.nodes[input.start.node_index];
  return fmt::format("cpu-bind={} - {}, task {:2} {:2} [{{}}]: mask {} set\n",
                     cpus.empty() ? "NONE" : "MASK", input.start.node_name,
                     here.tasks[local_task], local_task, mask_of(cpus));
}

void set_binding_variables(const PlanInput& input, Environment& out) {
  const std::string_view bind = bind_of(input);
  if (!input.start.affinity) return;
  const bool verbose = has_word(bind, "verbose") || has_word(bind, "v");
  const auto& here = input.launch.layout.nodes[input.start.node_index];
  std::string list;
  for (uint32_t local = 0; local < here.tasks.size(); ++local) {
    const std::vector<uint32_t> cpus = chosen_cpus(input, bind, local);
    if (cpus.empty()) break;
    list += (local == 0 ? "" : ",") + mask_of(cpus);
  }
  const std::string_view type = list.empty() ? "none" : "mask_cpu:";
  out.set("SLURM_CPU_BIND_VERBOSE", verbose ? "verbose" : "quiet");
  out.set("SLURM_CPU_BIND_TYPE", type);
  out.set("SLURM_CPU_BIND_LIST", list);
  out.set("SLURM_CPU_BIND", fmt::format("{},{}{}", verbose ? "verbose" : "quiet", type, list));
}

}  // namespace sluice::stepd
