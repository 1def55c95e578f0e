// A small machine and a trace for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/run/simulator.hpp"

namespace sluice::sim {

// n1 … of `cpus` CPUs; a partition "batch" of all of them.
inline ClusterConfig machine(uint32_t nodes, uint32_t cpus) {
  ClusterConfig config;
  config.cluster_name = "test";
  config.select_type_parameters = {"CR_CORE"};
  config.priority_type = "priority/basic";
  config.max_job_count = 1'000'000;
  PartitionConfig batch;
  batch.name = "batch";
  batch.is_default = true;
  for (uint32_t i = 1; i <= nodes; ++i) {
    NodeConfig node;
    node.name = node.hostname = "n" + std::to_string(i);
    node.cpus = node.cores_per_socket = cpus;
    node.real_memory_mib = 1000;
    batch.nodes.push_back(node.name);
    config.nodes.push_back(std::move(node));
  }
  config.partitions.push_back(std::move(batch));
  return config;
}

struct Asked {
  int64_t submit_s = 0, run_s = 0;
  uint32_t cpus = 1;
  int64_t limit_s = 0;
  std::string partition = {};
};
inline Trace trace_of(const std::vector<Asked>& jobs) {
  Trace trace;
  for (const Asked& asked : jobs) {
    TraceJob job;
    job.id = std::to_string(trace.jobs.size() + 1);
    job.submit_s = asked.submit_s;
    job.run_s = asked.run_s;
    job.cpus = asked.cpus;
    job.limit_s = asked.limit_s;
    job.partition = asked.partition;
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

inline SimResult simulate(const ClusterConfig& config, const Trace& trace,
                          SimOptions options = {}) {
  return Simulator(std::make_shared<const ClusterConfig>(config), trace, std::move(options)).run();
}

// Seconds from the beginning.
inline int64_t since(const SimResult& result, Time when) {
  return when == kNoTime ? -1 : to_seconds(when - result.begin);
}
inline std::vector<int64_t> starts_of(const SimResult& result) {
  std::vector<int64_t> starts;
  for (const SimJob& job : result.jobs) starts.push_back(since(result, job.start));
  return starts;
}

}  // namespace sluice::sim
