// The launch of a batch script that tests sign themselves, in the place of a controller.
#pragma once

#include <memory>
#include <string>

#include <unistd.h>

#include "common/os/clock.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::testing {

// One task on n1, for whoever runs the test.
inline protocol::StepLaunch batch_launch_of(JobId job, const std::string& cluster_id, JobSpec spec,
                                            const std::string& script) {
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  protocol::StepLaunch launch;
  launch.key.id = {job, kBatchStep};
  launch.cluster_id = cluster_id;
  launch.uid = spec.uid;
  launch.gid = spec.gid;
  launch.job_spec = std::make_shared<const JobSpec>(std::move(spec));
  launch.allocation_nodes = {{"n1", "127.0.0.1", 0}};
  launch.allocation_cpus = {1};
  StepNode here;
  here.name = "n1";
  here.tasks = {0};
  launch.layout.nodes = {here};
  launch.layout.num_tasks = 1;
  launch.script = script;
  launch.environment = std::string("PATH=/usr/bin:/bin\0", 19);
  launch.issued = net::now();
  return launch;
}

}  // namespace sluice::testing
