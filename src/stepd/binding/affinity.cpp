// Which CPUs a task is bound to (TaskPlugin=task/affinity, --cpu-bind).
#include <algorithm>

#include <fmt/format.h>
#include <sched.h>

#include "common/base/bitmap.hpp"
#include "stepd/binding/numa_nodes.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {
namespace {

// The real CPUs of this host that this process may use, in the order in which configured ones are
// numbered.
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

// The real CPUs, and whether they are as many as were configured. Where they are not, as with
// several nodes on one host, CPUs are known by their place in the node and several may have the
// same real one.
struct HostCpus {
  std::vector<int> real;
  bool as_configured = false;
};

HostCpus host_cpus(const PlanInput& input) {
  HostCpus host{own_cpus(input), false};
  host.as_configured = host.real.size() == input.start.node_cpus;
  return host;
}

// The locality domains of the host; of a node that is not as configured, its sockets.
std::vector<Bitmap> locality_domains(const PlanInput& input, const HostCpus& host) {
  std::vector<Bitmap> domains;
  if (host.as_configured) {
    numa_nodes().for_each([&](size_t node) {
      Bitmap cpus = cpus_of_numa_node(node);
      if (cpus.any()) domains.push_back(std::move(cpus));
    });
  }
  if (!domains.empty()) return domains;
  const size_t each = size_t{std::max(input.start.cores_per_socket, 1U)} *
                      std::max(input.start.threads_per_core, 1U);
  for (size_t first = 0; first < input.start.node_cpus; first += each) {
    domains.emplace_back().set_range(first, first + each);
  }
  return domains;
}

BindRequest bind_request(const PlanInput& input, const HostCpus& host) {
  BindRequest request;
  request.shape = {std::max(input.start.threads_per_core, 1U),
                   std::max(input.start.cores_per_socket, 1U)};
  request.node_cpus = input.start.node_cpus;
  request.system_cpus = input.start.system_cpus;
  request.cpus = step_cpus(input);
  if (host.as_configured) request.numbers.assign(host.real.begin(), host.real.end());
  if (input.launch.step == nullptr) return request;
  const StepSpec& step = *input.launch.step;
  request.bind = step.cpu_bind.view();
  request.autobind = input.start.autobind;
  request.demand.tasks =
      static_cast<uint32_t>(input.launch.layout.nodes[input.start.node_index].tasks.size());
  request.demand.each = std::max(step.cpus_per_task, 1U);
  request.demand.used_threads = step.threads_per_core;
  request.demand.order = socket_order(step.distribution);
  request.ntasks_per_core = step.ntasks_per_core;
  request.ntasks_per_socket = step.ntasks_per_socket;
  request.says_threads = step.threads_per_core > 0;
  if (names_domains(request.bind)) request.domains = locality_domains(input, host);
  return request;
}

}  // namespace

Result<TaskBinding> binding_of(const PlanInput& input) {
  if (!input.start.affinity) return TaskBinding{};
  return bind_tasks(bind_request(input, host_cpus(input)));
}

std::optional<cpu_set_t> cpus_of_task(const PlanInput& input, const TaskBinding& binding,
                                      uint32_t local_task) {
  const Bitmap* mask = binding.mask_of(local_task);
  const HostCpus host = host_cpus(input);
  if (mask == nullptr || host.real.empty()) return std::nullopt;
  cpu_set_t set;
  CPU_ZERO(&set);
  mask->for_each([&](size_t cpu) {
    const size_t real =
        host.as_configured ? cpu : static_cast<size_t>(host.real[cpu % host.real.size()]);
    if (real < CPU_SETSIZE) CPU_SET(real, &set);
  });
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

std::string binding_report(const PlanInput& input, const TaskBinding& binding,
                           uint32_t local_task) {
  if (!input.start.affinity || !binding.verbose) return {};
  const Bitmap* mask = binding.mask_of(local_task);
  const StepNode& here = input.launch.layout.nodes[input.start.node_index];
  Bitmap all;  // of an unbound task
  for (const int cpu : own_cpus(input)) all.set(static_cast<size_t>(cpu));
  return fmt::format("cpu-bind={} - {}, task {:2} {:2} [{{}}]: mask {}{}\n", binding.report,
                     input.start.node_name, here.tasks[local_task], local_task,
                     hex_mask(mask == nullptr ? all : *mask, 0, false),
                     mask == nullptr ? "" : " set");
}

void set_binding_variables(const PlanInput& input, const TaskBinding& bound, Environment& out) {
  std::optional<TaskBinding> binding;
  if (input.start.affinity) binding = bound;
  else if (input.launch.step != nullptr)
    binding = asked_binding(input.launch.step->cpu_bind.view());
  if (!binding) return;
  const std::string_view verbosity = binding->verbose ? "verbose" : "quiet";
  out.set("SLURM_CPU_BIND_VERBOSE", verbosity);
  out.set("SLURM_CPU_BIND_TYPE", binding->type);
  out.set("SLURM_CPU_BIND_LIST", binding->list);
  out.set("SLURM_CPU_BIND", fmt::format("{}{}{}{}", verbosity, binding->type.empty() ? "" : ",",
                                        binding->type, binding->list));
}

}  // namespace sluice::stepd
