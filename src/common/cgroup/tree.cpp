#include "common/cgroup/tree.hpp"

#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/group_files.hpp"
#include "common/cgroup/tree_v1.hpp"
#include "common/cgroup/tree_v2.hpp"
#include "common/names/step_names.hpp"

namespace sluice::cgroup {
namespace {

void collect(const std::string& folder, std::vector<pid_t>& pids) {
  for (const uint64_t pid : numbers_in(read_file(folder + "/cgroup.procs").value_or(""))) {
    // 0 stands for a process of another PID namespace
    if (pid > 1 && static_cast<pid_t>(pid) != ::getpid()) pids.push_back(static_cast<pid_t>(pid));
  }
  for (const std::string& name : folders_in(folder))
    collect(fmt::format("{}/{}", folder, name), pids);
}

}  // namespace

std::unique_ptr<Tree> Tree::open(const protocol::CgroupSetup& setup) {
  if (setup.version == 1) return std::make_unique<TreeV1>(setup);
  if (setup.version == 2) return std::make_unique<TreeV2>(setup);
  return nullptr;
}

std::vector<pid_t> Tree::processes(const std::string& group) const {
  std::vector<pid_t> pids;
  collect(folder(group), pids);
  return pids;
}

std::vector<std::string> Tree::children(const std::string& group) const {
  return folders_in(folder(group));
}

void Tree::kill(const std::string& group) const {
  if (processes(group).empty()) return;
  freeze(group, true);
  for (const pid_t pid : processes(group)) ::kill(pid, SIGKILL);
  freeze(group, false);
}

std::string Tree::kernel_name(const std::string& group) const {
  return fmt::format("/{}/{}", setup_.root, group);
}

std::string job_group(uint32_t uid, JobId job) { return fmt::format("uid_{}/job_{}", uid, job); }

std::string daemons_group(uint32_t uid, JobId job) {
  return fmt::format("{}/{}", job_group(uid, job), kDaemons);
}

std::string step_group(uint32_t uid, const StepId& id) {
  return fmt::format("{}/step_{}", job_group(uid, id.job), step_number_text(id.step));
}

std::optional<JobId> job_of_group(std::string_view name) {
  constexpr std::string_view kStart = "job_";
  if (!name.starts_with(kStart)) return std::nullopt;
  return to_number<JobId>(name.substr(kStart.size()));
}

}  // namespace sluice::cgroup
