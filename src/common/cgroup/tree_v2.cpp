#include "common/cgroup/tree_v2.hpp"

#include <fmt/format.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/device_program.hpp"
#include "common/cgroup/group_files.hpp"

namespace sluice::cgroup {

std::string TreeV2::place(std::string_view /*controller*/, const std::string& group) const {
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
