// Components of a heterogeneous job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/model/job_spec.hpp"

namespace sluice {

// The component that a job is of a heterogeneous job. The components' ids follow one another.
struct HetInfo {
  JobId leader = kNoJob;  // the first component: the id users see before the "+"
  uint32_t offset = 0;    // this one's number
  uint32_t size = 0;      // how many there are
  template <class V>
  static void describe(V&& field) {
    field(1, "leader", &HetInfo::leader);
    field(2, "offset", &HetInfo::offset);
    field(3, "size", &HetInfo::size);
  }
};

// A component that runs, as the processes of the whole job are told of it.
struct HetComponent {
  JobId job = kNoJob;
  std::shared_ptr<const JobSpec> spec;  // null where the asker has it
  std::string node_list;
  std::vector<std::string> nodes;  // names, in the order of the allocation
  std::vector<uint32_t> cpus;      // on each node
  std::string partition;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &HetComponent::job);
    field(2, "spec", &HetComponent::spec);
    field(3, "node_list", &HetComponent::node_list);
    field(4, "nodes", &HetComponent::nodes);
    field(5, "cpus", &HetComponent::cpus);
    field(6, "partition", &HetComponent::partition);
  }
};

}  // namespace sluice
