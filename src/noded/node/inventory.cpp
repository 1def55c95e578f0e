#include "noded/node/inventory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/base/version.hpp"

namespace sluice::noded {
namespace {

struct TopologyCloser {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

uint32_t count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return static_cast<uint32_t>(std::max(hwloc_get_nbobjs_by_type(topology, type), 0));
}

using Topology = std::unique_ptr<hwloc_topology, TopologyCloser>;

Topology load_topology() {  // null where there is none
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

// What is counted as sockets, of a host with so many cores.
uint32_t count_sockets(hwloc_topology_t topology, uint32_t cores,
                       const std::vector<std::string>& slurmd_parameters) {
  const auto fits = [cores](uint32_t sockets) { return sockets > 0 && cores % sockets == 0; };
  if (has_option(slurmd_parameters, "l3cache_as_socket")) {
    if (const uint32_t caches = count(topology, HWLOC_OBJ_L3CACHE); fits(caches)) return caches;
  }
  if (has_option(slurmd_parameters, "numa_node_as_socket")) {
    if (const uint32_t nodes = count(topology, HWLOC_OBJ_NUMANODE); fits(nodes)) return nodes;
  }
  return std::max(count(topology, HWLOC_OBJ_PACKAGE), 1U);
}

void discover_processors(const std::vector<std::string>& slurmd_parameters,
                         NodeHardware& hardware) {
  const Topology topology = load_topology();
  if (const uint32_t threads = topology ? count(topology.get(), HWLOC_OBJ_PU) : 0; threads > 0) {
    const uint32_t known = count(topology.get(), HWLOC_OBJ_CORE);
    const uint32_t cores = known == 0 ? threads : known;
    hardware.cpus = threads;
    hardware.sockets = count_sockets(topology.get(), cores, slurmd_parameters);
    hardware.cores_per_socket = std::max(cores / hardware.sockets, 1U);
    hardware.threads_per_core =
        std::max(threads / (hardware.cores_per_socket * hardware.sockets), 1U);
    return;
  }
  hardware.cpus = static_cast<uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  hardware.sockets = 1;
  hardware.cores_per_socket = hardware.cpus;
  hardware.threads_per_core = 1;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number after `key` in a file such as /proc/meminfo.
uint64_t number_after(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace

std::vector<uint32_t> processor_order() {
  std::vector<uint32_t> order;
  const Topology topology = load_topology();
  if (!topology) return order;
  hwloc_obj_t unit = nullptr;  // in hwloc's logical order, which goes through packages and cores
  while ((unit = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr)
    order.push_back(unit->os_index);
  return order;
}

NodeHardware discover_hardware(const std::string& tmp_fs,
                               const std::vector<std::string>& slurmd_parameters) {
  NodeHardware hardware;
  discover_processors(slurmd_parameters, hardware);
  hardware.real_memory_mib = number_after("/proc/meminfo", "MemTotal:") / 1024;
  struct statvfs space {};
  if (::statvfs(tmp_fs.c_str(), &space) == 0) {
    hardware.tmp_disk_mib = static_cast<uint64_t>(space.f_blocks) * space.f_frsize >> 20;
  }
  utsname system{};
  if (::uname(&system) == 0) {
    hardware.architecture = system.machine;
    hardware.operating_system =
        fmt::format("{} {} {}", system.sysname, system.release, system.version);
  }
  hardware.version = kSlurmVersion;
  hardware.boot_id = trim(first_line("/proc/sys/kernel/random/boot_id"));
  hardware.boot_time = from_seconds(static_cast<int64_t>(number_after("/proc/stat", "btime")));
  return hardware;
}

NodeHardware reported_hardware(NodeHardware real, const NodeConfig& node,
                               const ClusterConfig& config) {
  if (!has_option(config.slurmd_parameters, "config_overrides")) return real;
  real.cpus = node.cpus;
  real.boards = node.boards;
  real.sockets = node.sockets;
  real.cores_per_socket = node.cores_per_socket;
  real.threads_per_core = node.threads_per_core;
  real.real_memory_mib = node.real_memory_mib;
  real.tmp_disk_mib = std::max(real.tmp_disk_mib, node.tmp_disk_mib);
  return real;
}

std::string node_line(const NodeHardware& hardware, Duration up) {
  const int64_t seconds = to_seconds(up);
  return fmt::format(
      "NodeName={} CPUs={} Boards={} SocketsPerBoard={} CoresPerSocket={} ThreadsPerCore={} "
      "RealMemory={}\nUpTime={}-{:02}:{:02}:{:02}\n",
      hardware.host_name, hardware.cpus, hardware.boards, hardware.sockets / hardware.boards,
      hardware.cores_per_socket, hardware.threads_per_core, hardware.real_memory_mib,
      seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
}

Duration uptime() {
  return std::chrono::seconds(std::strtoll(first_line("/proc/uptime").c_str(), nullptr, 10));
}

NodeSoft measure_load() {
  NodeSoft soft;
  double load = 0;
  if (::getloadavg(&load, 1) == 1) soft.load = load;
  soft.free_memory_mib = number_after("/proc/meminfo", "MemFree:") / 1024;
  return soft;
}

}  // namespace sluice::noded
