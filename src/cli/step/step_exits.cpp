#include "cli/step/step_exits.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "common/os/wait_status.hpp"
#include "common/protocol/node_reports.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::cli {
namespace {

std::string how_it_ended(int32_t status) {
  if (status == protocol::kOutOfMemoryStatus) return "Out Of Memory";
  if (WIFSIGNALED(status)) {
    return fmt::format("{}{}", signal_description(static_cast<uint32_t>(WTERMSIG(status))),
                       WCOREDUMP(status) ? " (core dumped)" : "");
  }
  if (WEXITSTATUS(status) == 0) return "Completed";
  return fmt::format("Exited with exit code {}", WEXITSTATUS(status));
}

// What a task exited with by itself; 0 for one that was killed, for want of memory too.
int own_code(int32_t status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 0; }

}  // namespace

std::string task_list(const std::vector<uint32_t>& tasks) {
  std::vector<uint32_t> sorted = tasks;
  std::sort(sorted.begin(), sorted.end());
  std::string out = sorted.size() == 1 ? "task " : "tasks ";
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (i != 0) out += ',';
    out += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return out;
}

void StepExits::started(uint32_t task) {
  if (task < phases_.size() && phases_[task] == TaskPhase::kStarting) {
    phases_[task] = TaskPhase::kRunning;
  }
}

void StepExits::exited(const std::string& node, uint32_t task, int32_t status) {
  if (task >= phases_.size() || phases_[task] >= TaskPhase::kExited) return;
  phases_[task] = status == 0 ? TaskPhase::kExited : TaskPhase::kFailed;
  ++exited_;
  fresh_[node][status].push_back(task);
  killed_ = killed_ ||
            (WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL));
  const bool starved = status == protocol::kOutOfMemoryStatus;
  starved_ = starved_ || starved;
  worst_ = worse_of_tasks(worst_, starved ? 1 << 8 : status);
  highest_code_ = std::max(highest_code_, own_code(status));
}

int StepExits::exit_code() const { return shell_code(worst_); }

int32_t StepExits::wait_status() const { return starved_ ? protocol::kOutOfMemoryStatus : worst_; }

std::vector<std::string> StepExits::take_lines(bool all) {
  std::vector<std::string> lines;
  for (const auto& [node, by_status] : std::exchange(fresh_, {})) {
    for (const auto& [status, tasks] : by_status) {
      if (status == 0 && !all) continue;
      lines.push_back(fmt::format("{}: {}: {}", node, task_list(tasks), how_it_ended(status)));
    }
  }
  return lines;
}

std::vector<std::string> StepExits::take_task_lines() {
  std::map<uint32_t, int> failed;
  for (const auto& [node, by_status] : std::exchange(fresh_, {})) {
    for (const auto& [status, tasks] : by_status) {
      const int code = own_code(status);
      for (const uint32_t task : tasks) {
        if (code != 0) failed[task] = code;
      }
    }
  }
  std::vector<std::string> lines;
  lines.reserve(failed.size());
  for (const auto& [task, code] : failed)
    lines.push_back(fmt::format("task {} exited with exit code {}", task, code));
  return lines;
}

std::vector<std::string> StepExits::state_lines(const std::string& step) const {
  constexpr std::pair<TaskPhase, const char*> kWords[] = {
      {TaskPhase::kStarting, "unknown"},
      {TaskPhase::kRunning, "running"},
      {TaskPhase::kExited, "exited"},
      {TaskPhase::kFailed, "exited abnormally"}};
  std::vector<std::string> lines;
  for (const auto& [phase, word] : kWords) {
    std::vector<uint32_t> tasks;
    for (uint32_t i = 0; i < phases_.size(); ++i) {
      if (phases_[i] == phase) tasks.push_back(i);
    }
    if (!tasks.empty())
      lines.push_back(fmt::format("StepId={} {}: {}", step, task_list(tasks), word));
  }
  return lines;
}

}  // namespace sluice::cli
