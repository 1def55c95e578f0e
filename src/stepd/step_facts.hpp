// What a step daemon was started with, and what follows from that for its step. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/protocol/stepd_start.hpp"
#include "stepd/process/user_identity.hpp"

namespace sluice::stepd {

struct StepFacts {
  StepFacts(protocol::StepdStart started_with, protocol::StepLaunch launched)
      : start(std::move(started_with)), launch(std::move(launched)) {}
  // parts of the daemon refer to it
  StepFacts(const StepFacts&) = delete;
  StepFacts& operator=(const StepFacts&) = delete;

  [[nodiscard]] bool is_batch() const { return launch.step == nullptr; }
  [[nodiscard]] bool is_extern() const { return launch.key.id.step == kExternStep; }
  [[nodiscard]] std::string work_dir() const;
  [[nodiscard]] uint32_t umask() const;
  [[nodiscard]] const std::vector<uint64_t>& sent_limits() const;
  [[nodiscard]] bool appends_output() const;
  // Of all nodes.
  [[nodiscard]] uint32_t num_tasks() const;
  // "JOB 7" or "STEP 7.0", as messages to the user name it.
  [[nodiscard]] std::string name() const;
  // This node has a display for the step's tasks.
  [[nodiscard]] bool forwards_x11() const;
  // A task that fails ends the others, by --kill-on-bad-exit or KillOnBadExit.
  [[nodiscard]] bool ends_on_bad_exit() const;
  // By --oom-kill-step, of the step or its job, or OOMKillStep.
  [[nodiscard]] bool ends_on_oom() const;
  [[nodiscard]] bool waits_for_children() const;
  // The site's epilog of tasks and the user's, in this order.
  [[nodiscard]] std::vector<std::string> task_epilogs() const;

  protocol::StepdStart start;
  protocol::StepLaunch launch;
  UserIdentity user;  // once StepSetup has found it
};

}  // namespace sluice::stepd
