// How the tasks of a step ended, in srun's words: `n1: tasks 0-2: Exited with exit code 3`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::cli {

enum class TaskPhase : uint8_t { kStarting, kRunning, kExited, kFailed };

class StepExits {
 public:
  explicit StepExits(uint32_t tasks = 0) : phases_(tasks, TaskPhase::kStarting) {}

  void started(uint32_t task);
  // `status` as wait(2) gives it. No-op for a task that ended before.
  void exited(const std::string& node, uint32_t task, int32_t status);

  // Lines about tasks that failed since the last call; with `all`, of the others too ("Completed").
  [[nodiscard]] std::vector<std::string> take_lines(bool all);
  // sattach's: those that failed since the last call, each by itself, in their order: `task 3
  // exited with exit code 1`. It tells nothing of those that were killed.
  [[nodiscard]] std::vector<std::string> take_task_lines();
  // `StepId=5.0 tasks 0,2-3: running` …, a line for each phase that has tasks.
  [[nodiscard]] std::vector<std::string> state_lines(const std::string& step) const;

  [[nodiscard]] bool any_killed() const { return killed_; }  // by SIGTERM or SIGKILL
  [[nodiscard]] uint32_t exited_count() const { return exited_; }
  [[nodiscard]] bool all_exited() const { return exited_ == phases_.size(); }
  [[nodiscard]] bool any_failed() const { return worst_ != 0; }
  // 128 and the highest signal that ended one; where none did, the highest exit code.
  [[nodiscard]] int exit_code() const;
  // sattach's: the highest exit code of those that were not killed.
  [[nodiscard]] int highest_code() const { return highest_code_; }
  // wait(2)'s status of the task that it comes from; the job ends out of memory when a task did,
  // whatever came of the others.
  [[nodiscard]] int32_t wait_status() const;

 private:
  std::vector<TaskPhase> phases_;
  std::map<std::string, std::map<int32_t, std::vector<uint32_t>>> fresh_;  // node, status, tasks
  uint32_t exited_ = 0;
  int32_t worst_ = 0;  // as wait(2) gives it
  int highest_code_ = 0;
  bool starved_ = false;
  bool killed_ = false;
};

// `task 3`, `tasks 0-2,5`.
[[nodiscard]] std::string task_list(const std::vector<uint32_t>& tasks);

}  // namespace sluice::cli
