#include "common/cgroup/tree_v2.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/device_program.hpp"
#include "common/cgroup/group_files.hpp"

namespace sluice::cgroup {

bool TreeV2::uses(std::string_view controller) const {
  const auto& all = setup_.controllers;
  return std::find(all.begin(), all.end(), controller) != all.end();
}

std::string TreeV2::folder(const std::string& group) const {
  return fmt::format("{}/{}/{}", setup_.mountpoint, setup_.root, group);
}

// A group's controllers are those that the one above it lists in its cgroup.subtree_control.
Status TreeV2::make(const std::string& group) {
  std::string wanted;
  for (const std::string& controller : setup_.controllers)
    wanted += (wanted.empty() ? "+" : " +") + controller;
  std::string path = setup_.mountpoint;
  for (const std::string& name : split(setup_.root + "/" + group, '/')) {
    if (!wanted.empty()) {
      if (auto ok = write_group_file(path + "/cgroup.subtree_control", wanted); !ok) return ok;
    }
    path += "/" + name;
    if (auto ok = make_group(path); !ok) return ok;
  }
  return {};
}

std::vector<std::string> TreeV2::entries(const std::string& group) const {
  return {folder(group) + "/cgroup.procs"};
}

Status TreeV2::enter(const std::string& group) {
  if (!uses(kMemory)) return {};
  if (auto ok = make(group); !ok) return ok;
  return write_group_file(folder(group) + "/cgroup.procs", "0");
}

Status TreeV2::set_cpus(const std::string& group, const Bitmap& cpus) {
  if (!uses("cpuset") || cpus.none()) return {};
  return write_group_file(folder(group) + "/cpuset.cpus", cpus.to_text());
}

// There is no swappiness of a group in v2.
Status TreeV2::set_memory(const std::string& group, const protocol::MemoryLimit& limit) {
  if (!uses(kMemory) || limit.ram_bytes == 0) return {};
  const std::string at = folder(group);
  if (auto ok = write_group_file(at + "/memory.max", std::to_string(limit.ram_bytes)); !ok)
    return ok;
  // a kernel may keep no account of swap
  if (!limit.limits_swap || !read_file(at + "/memory.swap.max")) return {};
  return write_group_file(at + "/memory.swap.max", std::to_string(limit.swap_bytes));
}

Status TreeV2::set_pids(const std::string& group, uint64_t most) {
  if (!uses(kPids) || most == 0) return {};
  return write_group_file(folder(group) + "/pids.max", std::to_string(most));
}

uint64_t TreeV2::fork_refusals(const std::string& group) const {
  return uses(kPids) ? fork_refusals_in(folder(group)) : 0;
}

Status TreeV2::close_devices(const std::string& group, const std::vector<DeviceFile>& devices) {
  if (!setup_.constrains_devices || devices.empty()) return {};
  return attach_device_program(folder(group), devices);
}

uint64_t TreeV2::oom_kills(const std::string& group) const {
  if (!uses(kMemory)) return 0;
  return number_of(read_file(folder(group) + "/memory.events").value_or(""), "oom_kill");
}

GroupUsage TreeV2::usage(const std::string& group) const {
  const std::string at = folder(group);
  const auto cpu = read_file(at + "/cpu.stat").value_or("");
  GroupUsage sum;
  sum.user_cpu = std::chrono::microseconds(number_of(cpu, "user_usec"));
  sum.system_cpu = std::chrono::microseconds(number_of(cpu, "system_usec"));
  sum.rss_kib = number_of(read_file(at + "/memory.stat").value_or(""), "anon") / 1024;
  return sum;
}

void TreeV2::freeze(const std::string& group, bool frozen) const {
  (void)write_group_file(folder(group) + "/cgroup.freeze", frozen ? "1" : "0");
}

void TreeV2::kill(const std::string& group) const {
  if (is_folder(fmt::format("{}/{}", folder(group), kDaemons))) {
    // a job's: its processes are in the groups below
    for (const std::string& name : children(group)) {
      if (name != kDaemons) kill(fmt::format("{}/{}", group, name));
    }
    return;
  }
  // before Linux 5.14 there is no such file
  if (!write_group_file(folder(group) + "/cgroup.kill", "1")) Tree::kill(group);
}

bool TreeV2::remove(const std::string& group) const { return remove_groups(folder(group)); }

}  // namespace sluice::cgroup
