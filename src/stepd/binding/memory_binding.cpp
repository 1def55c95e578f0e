#include "stepd/binding/memory_binding.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <linux/mempolicy.h>

#include "common/base/bitmap.hpp"
#include "common/base/text.hpp"
#include "common/environment/memory_bind.hpp"
#include "stepd/binding/bind_list.hpp"
#include "stepd/binding/numa_nodes.hpp"

namespace sluice::stepd {
namespace {

constexpr uint32_t kLastNode = 0xFFFF;  // the bits of a number beyond it would only cost memory

Bitmap nodes_of_cpus(const std::optional<cpu_set_t>& cpus, const Bitmap& host) {
  if (!cpus) return host;
  Bitmap near;
  host.for_each([&](size_t node) {
    const Bitmap own = cpus_of_numa_node(node);
    bool touches = false;
    own.for_each(
        [&](size_t cpu) { touches = touches || (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &*cpus)); });
    if (touches) near.set(node);
  });
  return near.none() ? host : near;
}

Bitmap wanted_nodes(const MemoryBind& bind, uint32_t local, const Bitmap& near) {
  Bitmap nodes;
  const std::string list = join(bind.list, ",");
  switch (bind.kind) {
    case MemoryBindKind::kRank: nodes.set(local); break;
    case MemoryBindKind::kMap:
      nodes.set(std::min(to_number<uint32_t>(list_item(list, local)).value_or(0), kLastNode));
      break;
    case MemoryBindKind::kMask:
      for (const uint32_t node : bits_of_mask(list_item(list, local))) nodes.set(node);
      break;
    default: nodes = near; break;
  }
  return nodes;
}

std::string_view report_name(MemoryBindKind kind) {
  switch (kind) {
    case MemoryBindKind::kNone: return "NONE";
    case MemoryBindKind::kRank: return "RANK";
    case MemoryBindKind::kLocal: return "LOC";
    case MemoryBindKind::kMap: return "MAP";
    case MemoryBindKind::kMask: return "MASK";
    default: return "NULL";
  }
}

uint64_t mask_of(const Bitmap& nodes) {
  uint64_t mask = 0;
  nodes.for_each([&](size_t node) { mask |= node < 64 ? uint64_t{1} << node : 0; });
  return mask;
}

}  // namespace

std::optional<MemoryBind> memory_bind_of(const PlanInput& input) {
  const auto& step = input.launch.step;
  if (!input.start.affinity || step == nullptr || step->mem_bind.empty()) return std::nullopt;
  return parse_memory_bind(step->mem_bind.view());
}

void plan_memory(const PlanInput& input, const MemoryBind& bind, uint32_t local_task,
                 TaskSetup& setup) {
  const Bitmap host = numa_nodes();
  const Bitmap nodes = wanted_nodes(bind, local_task, nodes_of_cpus(setup.cpus, host));
  const bool binds = bind.kind != MemoryBindKind::kNotSaid && bind.kind != MemoryBindKind::kNone;
  std::optional<size_t> missing;
  nodes.for_each([&](size_t node) {
    if (!missing && !host.test(node)) missing = node;
  });
  if (binds && (missing || nodes.none())) {
    const std::string_view type = memory_bind_type(bind.kind);
    setup.memory_complaint =
        fmt::format("NUMA node {} does not exist; cannot bind local task {} to it (--mem-bind={})",
                    missing.value_or(0), local_task, type.substr(0, type.find(':')));
  } else if (binds) {
    setup.memory_nodes = mask_of(nodes);
    setup.memory_policy = !bind.prefer         ? MPOL_BIND
                          : nodes.count() == 1 ? MPOL_PREFERRED
                                               : MPOL_PREFERRED_MANY;
  }
  if (!bind.verbose) return;
  const auto& here = input.launch.layout.nodes[input.start.node_index];
  const uint64_t shown =
      setup.memory_complaint.empty() && binds ? setup.memory_nodes : mask_of(host);
  setup.memory_report =
      fmt::format("mem-bind{}{} - {}, task {:2} {:2} [{{}}]: mask 0x{:X}{}\n",
                  bind.prefer ? " PREFER " : "=", report_name(bind.kind), input.start.node_name,
                  here.tasks[local_task], local_task, shown, binds ? " set" : "");
}

}  // namespace sluice::stepd
