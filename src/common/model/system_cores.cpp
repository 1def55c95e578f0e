#include "common/model/system_cores.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace sluice {
namespace {

// The cores of CPUSpecList; nothing when it is no list of the node's CPUs.
std::optional<Bitmap> listed_cores(const NodeConfig& config) {
  const auto cpus = Bitmap::from_text(config.cpu_spec_list);
  if (!cpus || (cpus->any() && cpus->find_last() >= config.cpus)) return std::nullopt;
  Bitmap cores;
  cpus->for_each([&](size_t cpu) { cores.set(cpu / cpus_of_core(config)); });
  return cores;
}

// `count` cores of those that are not in `taken` yet, beside these.
Bitmap add_in_turn(const NodeConfig& config, Bitmap taken, uint32_t count) {
  const uint32_t sockets = config.sockets, each = config.cores_per_socket;
  for (uint32_t depth = 0; depth < each; ++depth) {
    for (uint32_t turn = 0; turn < sockets && count > 0; ++turn) {
      const uint32_t socket = config.system_cores_first ? turn : sockets - 1 - turn;
      const uint32_t core = config.system_cores_first ? depth : each - 1 - depth;
      const size_t number = size_t{socket} * each + core;
      if (taken.test(number)) continue;
      taken.set(number);
      --count;
    }
  }
  return taken;
}

Bitmap cores_for_system(const NodeConfig& config, uint32_t count) {
  const Bitmap listed = listed_cores(config).value_or(Bitmap());
  const auto there = static_cast<uint32_t>(listed.count());
  return there >= count ? listed.take_first(count) : add_in_turn(config, listed, count - there);
}

}  // namespace

uint32_t cpus_of_core(const NodeConfig& config) {
  const uint32_t cores = config.cores();
  return cores == 0 || config.cpus <= cores ? 1 : config.cpus / cores;
}

Bitmap system_cores(const NodeConfig& config) {
  if (!config.cpu_spec_list.empty()) return listed_cores(config).value_or(Bitmap());
  return config.core_spec_count == 0 ? Bitmap() : add_in_turn(config, {}, config.core_spec_count);
}

std::string system_cpu_list(const NodeConfig& config) {
  const size_t each = cpus_of_core(config);
  Bitmap cpus;
  system_cores(config).for_each(
      [&](size_t core) { cpus.set_range(core * each, (core + 1) * each); });
  return cpus.to_text();
}

uint32_t effective_cpus(const NodeConfig& config) {
  const auto kept = static_cast<uint32_t>(system_cores(config).count()) * cpus_of_core(config);
  return config.cpus - std::min(config.cpus, kept);
}

void follow_core_order(const ClusterConfig& config, NodeConfig& node) {
  node.system_cores_first = has_option(config.scheduler_parameters, "spec_cores_first");
}

Status check_system_cores(const NodeConfig& config) {
  if (config.core_spec_count != 0 && !config.cpu_spec_list.empty()) {
    return failure("CoreSpecCount and CPUSpecList exclude each other");
  }
  if (!listed_cores(config)) {
    return failure(fmt::format(
        "CPUSpecList=\"{}\" is not valid; allowed: numbers and ranges of them from 0 to {}",
        config.cpu_spec_list, config.cpus - 1));
  }
  if (config.core_spec_count != 0 && config.core_spec_count >= config.cores()) {
    return failure(fmt::format("CoreSpecCount={} leaves none of the {} cores to jobs",
                               config.core_spec_count, config.cores()));
  }
  if (effective_cpus(config) == 0) {
    return failure(fmt::format("CPUSpecList={} leaves none of the {} cores to jobs",
                               config.cpu_spec_list, config.cores()));
  }
  return {};
}

SystemShare system_share(const JobSpec& spec, const ClusterConfig& config) {
  return config.allow_spec_resources_usage ? SystemShare{spec.core_spec, spec.thread_spec}
                                           : SystemShare{};
}

Bitmap system_cores(const NodeConfig& config, const SystemShare& share) {
  if (!share.given()) return system_cores(config);
  const uint32_t each = cpus_of_core(config);
  const uint32_t cores =
      share.cores != UINT32_MAX ? share.cores : share.threads / each + (share.threads % each != 0);
  return cores_for_system(config, std::min(cores, config.cores()));
}

}  // namespace sluice
