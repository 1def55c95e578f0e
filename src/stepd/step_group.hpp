// The control groups of one step on one node: made before its tasks start, emptied and removed when
// it ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/bitmap.hpp"
#include "common/base/result.hpp"
#include "common/cgroup/tree.hpp"
#include "common/protocol/stepd_start.hpp"
#include "stepd/group_counts.hpp"

namespace sluice::stepd {

// The CPUs of this host for the job and for its step.
struct GroupCpus {
  Bitmap job;
  Bitmap step;
};

// Nothing happens, and nothing is counted, where no control groups are used.
class StepGroup final : public GroupCounts {
 public:
  // Makes it, where control groups are used. The error's text is for the user.
  [[nodiscard]] Status make(const protocol::StepdStart& start, const protocol::StepLaunch& launch,
                            const GroupCpus& cpus);
  [[nodiscard]] bool exists() const override { return tree_ != nullptr; }

  // A process that writes 0 into each of these files is one of the task's.
  [[nodiscard]] Result<std::vector<std::string>> add_task(uint32_t local_task);
  [[nodiscard]] std::vector<pid_t> processes() const;
  [[nodiscard]] std::vector<pid_t> processes_of(uint32_t local_task) const override;
  void kill() const;
  // As cgroup::Tree has it.
  void freeze(bool frozen) const;
  // The job's own group stays, for it may have other steps: the agent removes it.
  void remove() const;

  // From now on what this process, the step's daemon, holds counts as memory of the job, up to
  // whose limit: the kernel ends tasks for want of it, and the daemon only when there is nobody
  // else. No-op where the setup does not say so.
  [[nodiscard]] Status charge_daemon();
  // Takes it out again, so that the job's group can go. No-op where it is not charged.
  [[nodiscard]] Status release_daemon();
  // What the kernel thought of this process before, as its tasks are to have it
  // (/proc/PID/oom_score_adj); empty: as they have it.
  [[nodiscard]] const std::string& oom_score_of_tasks() const { return oom_score_of_tasks_; }

  // True when memory use is read from the groups.
  [[nodiscard]] bool gathers() const { return gathers_; }
  [[nodiscard]] cgroup::GroupUsage usage_of(uint32_t local_task) const;

  [[nodiscard]] uint64_t oom_kills() const override;
  [[nodiscard]] uint64_t oom_kills_of(uint32_t local_task) const override;
  [[nodiscard]] uint64_t fork_refusals() const override;
  [[nodiscard]] uint64_t most_pids() const override { return most_pids_; }
  [[nodiscard]] std::vector<std::string> oom_victims() const override;

 private:
  void name_groups(const protocol::StepdStart& start, const protocol::StepLaunch& launch);
  [[nodiscard]] Status make_all(const protocol::StepdStart& start,
                                const protocol::StepLaunch& launch, const GroupCpus& cpus);
  [[nodiscard]] std::string task(uint32_t local_task) const;

  std::unique_ptr<cgroup::Tree> tree_;  // null: none are used
  std::string job_;
  std::string step_;
  std::string daemons_;
  bool charges_ = false;
  bool charged_ = false;
  std::string oom_score_of_tasks_;
  std::vector<uint32_t> ranks_;  // of the local tasks
  bool gathers_ = false;
  uint64_t most_pids_ = 0;  // of the job on this node; 0: no limit
  uint64_t refusals_before_ = 0;
};

}  // namespace sluice::stepd
