#include "common/cgroup/tree_v1.hpp"

#include <fmt/format.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/group_files.hpp"

namespace sluice::cgroup {
namespace {

// Each group from the top to this one: "a", "a/b", "a/b/c".
std::vector<std::string> levels(const std::string& path) {
  std::vector<std::string> all;
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
    all.push_back(path.substr(0, at));
  all.push_back(path);
  return all;
}

// A new cpuset is empty and takes no process: it has what the one above it has.
Status fill_cpuset(const std::string& folder, const std::string& above) {
  for (const char* name : {"/cpuset.cpus", "/cpuset.mems"}) {
    const auto own = read_file(folder + name);
    if (!own || !trim(*own).empty()) continue;
    const auto given = read_file(above + name);
    if (!given || trim(*given).empty()) continue;
    if (auto ok = write_group_file(folder + name, trim(*given)); !ok) return ok;
  }
  return {};
}

}  // namespace

std::string TreeV1::place(std::string_view controller, const std::string& group) const {
  return fmt::format("{}/{}/{}/{}", setup_.mountpoint, controller, setup_.root, group);
}

Status TreeV1::make_for(const std::string& controller, const std::string& group) {
  std::string above = fmt::format("{}/{}", setup_.mountpoint, controller);
  for (const std::string& level : levels(setup_.root + "/" + group)) {
    const std::string path = fmt::format("{}/{}/{}", setup_.mountpoint, controller, level);
    if (auto ok = make_group(path); !ok) return ok;
    if (controller == kCpuset) {
      if (auto ok = fill_cpuset(path, above); !ok) return ok;
    }
    above = path;
  }
  return {};
}

Status TreeV1::make(const std::string& group) {
  for (const std::string& controller : setup_.controllers) {
    if (auto ok = make_for(controller, group); !ok) return ok;
  }
  return {};
}

std::vector<std::string> TreeV1::entries(const std::string& group) const {
  std::vector<std::string> files;
  for (const std::string& controller : setup_.controllers)
    files.push_back(place(controller, group) + "/cgroup.procs");
  return files;
}

Status TreeV1::close_devices(const std::string& group, const std::vector<DeviceFile>& devices) {
  if (!uses(kDevices)) return {};
  for (const DeviceFile& device : devices) {
    const std::string rule =
        fmt::format("{} {}:{} rwm", device.block ? 'b' : 'c', device.major, device.minor);
    if (auto ok = write_group_file(place(kDevices, group) + "/devices.deny", rule); !ok) return ok;
  }
  return {};
}

// The kernel counts in the group that the process was in, not in those above.
uint64_t TreeV1::oom_kills(const std::string& group) const {
  if (!uses(kMemory)) return 0;
  const std::string at = place(kMemory, group);
  uint64_t sum = number_of(read_file(at + "/memory.oom_control").value_or(""), "oom_kill");
  for (const std::string& name : folders_in(at))
    sum += oom_kills(fmt::format("{}/{}", group, name));
  return sum;
}

// The sum is exact; user and system time are counted by the ticks of a clock, which misses some,
// most of all in virtual machines: they only say how the sum is divided.
void TreeV1::add_cpu(const std::string& group, GroupUsage& sum) const {
  const auto number = [&](const char* file) {
    return static_cast<double>(number_in(place("cpuacct", group) + file));
  };
  const double user = number("/cpuacct.usage_user"), system = number("/cpuacct.usage_sys");
  const std::chrono::duration<double, std::nano> all(number("/cpuacct.usage"));
  const double part = user + system > 0 ? user / (user + system) : 1;
  sum.user_cpu = std::chrono::duration_cast<Duration>(all * part);
  sum.system_cpu = std::chrono::duration_cast<Duration>(all) - sum.user_cpu;
}

GroupUsage TreeV1::usage(const std::string& group) const {
  GroupUsage sum;
  if (uses("cpuacct")) add_cpu(group, sum);
  if (uses(kMemory)) {
    const auto text = read_file(place(kMemory, group) + "/memory.stat").value_or("");
    sum.rss_kib = number_of(text, "total_rss") / 1024;
  }
  return sum;
}

void TreeV1::freeze(const std::string& group, bool frozen) const {
  // it takes effect in the kernel's own time; who is missed meanwhile is met at the next kill
  (void)write_group_file(folder(group) + "/freezer.state", frozen ? "FROZEN" : "THAWED");
  if (frozen) return;
  // a group that was frozen itself stays so
  for (const std::string& below : children(group))
    freeze(fmt::format("{}/{}", group, below), false);
}

// The tracker's goes last: whoever looks for what is left looks there.
bool TreeV1::remove(const std::string& group) const {
  bool gone = true;
  for (const std::string& controller : setup_.controllers) {
    if (controller != kTracker) gone = remove_groups(place(controller, group)) && gone;
  }
  return gone && remove_groups(place(kTracker, group));
}

}  // namespace sluice::cgroup
