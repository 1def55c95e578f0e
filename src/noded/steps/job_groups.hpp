// The control groups of this node: whether they are used, what limits a step gets, and that nothing
// is left in them when a job is over or its step daemon died. All on the agent's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/cgroup/tree.hpp"
#include "common/protocol/stepd_start.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

class JobGroups {
 public:
  // `in_use` says whether the job has steps or scripts here that run.
  JobGroups(NodeState& node, std::function<bool(JobId)> in_use);

  // For a step daemon: the groups and limits of its step.
  [[nodiscard]] protocol::CgroupSetup setup_for(const protocol::StepLaunch& launch,
                                                uint32_t node_index);
  // For Prolog and Epilog of a job whose group is there, a group of their own in it: a process that
  // writes 0 into each of these files is held to the job's limits. It is not a step's: who cancels
  // the extern step ends no prolog. Empty when no groups are used.
  [[nodiscard]] std::vector<std::string> for_scripts(JobId job);

  // Kills what is in the group of a job without running steps and scripts, and removes it; goes on
  // until it is gone. No-op if there is none.
  void remove_job(JobId job);
  // Whether processes of steps are in control groups.
  [[nodiscard]] bool are_used() {
    refresh();
    return tree_ != nullptr;
  }
  // As remove_job(), of a step whose daemon died.
  void remove_step(const StepId& id);
  // Of a step whose daemon does not do it; as cgroup::Tree has it. No-op if there is no group.
  void freeze_step(const StepId& id, bool frozen);
  // Whether the kernel killed a step daemon of the job for want of memory: it alone held all that
  // the job may.
  [[nodiscard]] bool starved_daemon(JobId job);
  // The groups of all jobs without running steps and scripts, which an agent before this one left.
  void remove_unused();
  // Before the agent ends: groups of jobs that have just ended go, and the node's own one when
  // nothing runs. Blocks for a second where what was killed there is slow to end.
  void leave();

 private:
  void refresh();
  [[nodiscard]] std::string user_group(JobId job) const;
  [[nodiscard]] std::string step_group(const StepId& id);
  [[nodiscard]] bool remove_now(const std::string& group);
  void remove_soon(JobId job, const std::string& group,
                   std::chrono::steady_clock::time_point give_up);

  NodeState& node_;
  std::function<bool(JobId)> in_use_;
  std::shared_ptr<const ClusterConfig> seen_;  // the configuration that `setup_` was made from
  protocol::CgroupSetup setup_;
  std::unique_ptr<cgroup::Tree> tree_;  // null: no groups are used
};

}  // namespace sluice::noded
