// How the CPUs of a step on a node are dealt to its tasks there. Pure; CPUs are numbered core by
// core.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::stepd {

// How tasks go over sockets: the second part of --distribution.
enum class SocketOrder : uint8_t { kBlock, kCyclic, kFcyclic };
enum class BindUnit : uint8_t { kThread, kCore, kSocket };

struct CpuShape {
  uint32_t threads_per_core = 1;
  uint32_t cores_per_socket = 1;
  [[nodiscard]] uint32_t core_of(uint32_t cpu) const { return cpu / threads_per_core; }
  [[nodiscard]] uint32_t socket_of(uint32_t cpu) const { return core_of(cpu) / cores_per_socket; }
};

struct CpuDemand {
  uint32_t tasks = 1;
  uint32_t each = 1;          // CPUs of a task
  uint32_t used_threads = 0;  // of a core, by tasks that are not bound to cores or sockets; 0: all
  SocketOrder order = SocketOrder::kCyclic;
  BindUnit unit = BindUnit::kThread;
};

// The CPUs of each task. Cores and sockets serve again when there are more tasks than they hold;
// with threads nothing, when they are too few for every task to have its own.
[[nodiscard]] std::vector<std::vector<uint32_t>> deal_cpus(const std::vector<uint32_t>& cpus,
                                                           const CpuShape& shape,
                                                           const CpuDemand& demand);
// Without --cpu-bind tasks are bound to what there are as many of as they need.
[[nodiscard]] bool find_unit(const std::vector<uint32_t>& cpus, const CpuShape& shape,
                             CpuDemand& demand);
[[nodiscard]] SocketOrder socket_order(std::string_view distribution);

}  // namespace sluice::stepd
