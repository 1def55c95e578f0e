// What one node gives a request, by its free CPUs and memory alone: no placement is on a node that
// gives nothing here.
#pragma once

#include "ctld/sched/resources.hpp"

namespace sluice::sched {

class NodeShare : public timeline::NodeDemand {
 public:
  // Both outlive this.
  NodeShare(const Resources& resources, const Request& request)
      : resources_(resources), request_(request) {}
  // Tasks.
  [[nodiscard]] uint32_t units(NodeId node, const timeline::Free& free) const override;

 private:
  const Resources& resources_;
  const Request& request_;
};

}  // namespace sluice::sched
