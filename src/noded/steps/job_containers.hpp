// JobContainerType=job_container/tmpfs: a job's processes on this node have a /tmp and a /dev/shm
// of their own, in a mount namespace that all of its steps share and that goes with the job. All on
// the agent's thread; the mounting is done by programs (slurmstepd --make-namespace …), because an
// agent has threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "noded/process/child_processes.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

class JobContainers {
 public:
  // The namespace's file; empty where jobs have none of their own.
  using Ready = std::function<void(const Result<std::string>&)>;
  JobContainers(NodeState& node, ChildProcesses& children);
  JobContainers(const JobContainers&) = delete;
  JobContainers& operator=(const JobContainers&) = delete;
  ~JobContainers();

  // Makes the job's namespace, once; `ready` is called at once where there is nothing to do.
  void prepare(JobId job, uint32_t uid, Ready ready);
  // The job is over: its folders go. No-op without any.
  void remove(JobId job);
  // Those that an agent before this one made are taken over; what is left of others goes.
  void adopt_all();
  // Jobs that have one: the controller is asked whether they still run.
  [[nodiscard]] std::vector<JobId> jobs() const;

 private:
  struct Container;
  using ContainerPtr = std::shared_ptr<Container>;
  [[nodiscard]] std::string base_path() const;
  void make(const ContainerPtr& container);
  void made(const ContainerPtr& container, int status);
  void clear(const ContainerPtr& container);
  void cleared(const ContainerPtr& container, int status);

  NodeState& node_;
  ChildProcesses& children_;
  // a pipe; by its end those who work in folders see that this agent is gone
  int alive_ = -1, held_ = -1;
  std::map<JobId, std::shared_ptr<Container>> containers_;
};

}  // namespace sluice::noded
