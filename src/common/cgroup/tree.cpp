#include "common/cgroup/tree.hpp"

#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/contains.hpp"
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

bool Tree::uses(std::string_view controller) const {
  return contains(setup_.controllers, controller);
}

Status Tree::enter(const std::string& group) {
  if (!uses(kMemory)) return {};
  if (auto ok = make_for(kMemory, group); !ok) return ok;
  return write_group_file(place(kMemory, group) + "/cgroup.procs", "0");
}

Status Tree::set_cpus(const std::string& group, const Bitmap& cpus) {
  if (!uses(kCpuset) || cpus.none()) return {};
  return write_group_file(place(kCpuset, group) + "/cpuset.cpus", cpus.to_text());
}

Status Tree::set_memory(const std::string& group, const protocol::MemoryLimit& limit) {
  if (!uses(kMemory)) return {};
  const std::string at = place(kMemory, group) + "/";
  const std::string swap_limit = at + memory_.swap_limit;
  const auto write = [](const std::string& file, uint64_t value) {
    return write_group_file(file, std::to_string(value));
  };
  if (limit.swappiness && memory_.swappiness != nullptr) {
    if (auto ok = write(at + memory_.swappiness, *limit.swappiness); !ok) return ok;
  }
  if (limit.ram_bytes == 0) return {};
  const bool both = memory_.swap_limit_is_of_both;
  // that of both may never be below the one of memory: a group that had other limits is opened
  // first
  if (both && limit.limits_swap && read_file(swap_limit)) (void)write_group_file(swap_limit, "-1");
  if (auto ok = write(at + memory_.limit, limit.ram_bytes); !ok) return ok;
  if (!limit.limits_swap || !read_file(swap_limit)) return {};
  return write(swap_limit, (both ? limit.ram_bytes : 0) + limit.swap_bytes);
}

Status Tree::set_pids(const std::string& group, uint64_t most) {
  if (!uses(kPids) || most == 0) return {};
  return write_group_file(place(kPids, group) + "/pids.max", std::to_string(most));
}

uint64_t Tree::fork_refusals(const std::string& group) const {
  return uses(kPids) ? fork_refusals_in(place(kPids, group)) : 0;
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
