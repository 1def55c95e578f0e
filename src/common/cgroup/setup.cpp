#include "common/cgroup/setup.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/contains.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/device_program.hpp"
#include "common/cgroup/group_files.hpp"
#include "common/cgroup/tree_v1.hpp"

namespace sluice::cgroup {
namespace {

bool is_cgroup(const std::string& plugin) { return plugin.ends_with("/cgroup"); }

bool constrains(const ClusterConfig& config) {
  return std::any_of(config.task_plugin.begin(), config.task_plugin.end(), is_cgroup);
}

// From the kernel's OOM killer. Step daemons that cannot be would be killed for what tasks use.
bool may_protect_processes() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capget, &header, sets) == 0 &&
         (sets[0].effective >> CAP_SYS_RESOURCE & 1U) != 0;
}

bool limits_pids(const ClusterConfig& config) {
  return constrains(config) && config.cgroup.max_pids != 0;
}

bool closes_devices(const ClusterConfig& config) {
  return constrains(config) && config.cgroup.constrain_devices;
}

// Where another program owns the top of the tree (systemd), groups are made below the one that it
// has left to us.
std::string top_of(const CgroupConfig& config, uint32_t version) {
  const char* delegated = version == 2 ? std::getenv(kDelegatedGroup) : nullptr;
  if (delegated == nullptr || *delegated != '/') return config.mountpoint;
  const std::string folder = config.mountpoint + delegated;
  return is_folder(folder) ? folder : config.mountpoint;
}

// Below the top there is either one tree or a folder for each controller.
Result<uint32_t> version_of(const CgroupConfig& config) {
  if (config.plugin == "cgroup/v1") return 1;
  if (config.plugin == "cgroup/v2") return 2;
  if (read_file(config.mountpoint + "/cgroup.controllers")) return 2;
  if (is_folder(config.mountpoint + "/" + kTracker)) return 1;
  return failure(fmt::format("no control groups are mounted at {}", config.mountpoint));
}

std::vector<std::string> wanted_controllers(const ClusterConfig& config, uint32_t version) {
  const bool gathers = is_cgroup(config.job_acct_gather_type);
  std::vector<std::string> names;
  if (constrains(config) && config.cgroup.constrain_cores) names.emplace_back(kCpuset);
  if (limits_memory(config) || gathers) names.emplace_back(kMemory);
  if (limits_pids(config)) names.emplace_back(kPids);
  if (gathers) names.emplace_back(version == 1 ? "cpuacct" : "cpu");
  if (version == 1 && closes_devices(config)) names.emplace_back(kDevices);
  return names;
}

// Makes the node's group with these controllers, and one below it for a moment.
Status try_controllers(const protocol::CgroupSetup& setup, const std::vector<std::string>& names) {
  protocol::CgroupSetup part = setup;
  part.controllers = names;
  const auto tree = Tree::open(part);
  Status made = tree->make("try");
  if (made) (void)tree->remove("try");
  return made;
}

// EnableControllers: all that the top of the tree has, in it and in the node's group (which is
// there), for whoever looks for them below. In one go, or, when the kernel refuses one of them,
// those that it does not.
void enable_all(const protocol::CgroupSetup& setup) {
  const auto there = read_file(setup.mountpoint + "/cgroup.controllers");
  std::vector<std::string> words;
  for (const std::string& name : split_list(there.value_or(""), ' ')) words.push_back("+" + name);
  if (words.empty()) return;
  for (const std::string& group : {setup.mountpoint, setup.mountpoint + "/" + setup.root}) {
    const std::string file = group + "/cgroup.subtree_control";
    if (write_group_file(file, join(words, " "))) continue;
    for (const std::string& word : words) (void)write_group_file(file, word);
  }
}

}  // namespace

bool limits_memory(const ClusterConfig& config) {
  return constrains(config) &&
         (config.cgroup.constrain_ram_space || config.cgroup.constrain_swap_space);
}

bool is_wanted(const ClusterConfig& config) {
  if (config.cgroup.plugin == "disabled") return false;
  return is_cgroup(config.proctrack_type) || constrains(config) ||
         is_cgroup(config.job_acct_gather_type);
}

Result<protocol::CgroupSetup> prepare(const ClusterConfig& config, const std::string& root,
                                      std::string& missing) {
  const auto version = version_of(config.cgroup);
  if (!version) return tl::unexpected<Error>(version.error());
  protocol::CgroupSetup setup;
  setup.version = *version;
  setup.mountpoint = top_of(config.cgroup, *version);
  setup.root = root;
  setup.gathers = is_cgroup(config.job_acct_gather_type);
  if (*version == 1) setup.controllers.emplace_back(kTracker);
  if (auto ok = try_controllers(setup, setup.controllers); !ok) {
    return tl::unexpected<Error>(ok.error());
  }
  if (*version == 2 && config.cgroup.enable_controllers) enable_all(setup);
  for (const std::string& name : wanted_controllers(config, *version)) {
    if (try_controllers(setup, {name})) {
      setup.controllers.push_back(name);
    } else {
      missing += (missing.empty() ? "" : " ") + name;
    }
  }
  setup.charges_daemons =
      limits_memory(config) && contains(setup.controllers, kMemory) && may_protect_processes();
  if (closes_devices(config)) {
    const bool can = *version == 1 || device_programs_work();
    if (!can) missing += (missing.empty() ? "" : " ") + std::string("devices (eBPF)");
    setup.constrains_devices = can;
  }
  return setup;
}

std::string root_name(const std::string& node, const std::string& spool_dir) {
  uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : spool_dir) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("slurm_{}.{:08x}", node, hash);
}

protocol::MemoryLimit memory_limit(const CgroupConfig& config, uint64_t wanted_mib,
                                   uint64_t host_mib) {
  constexpr double kMib = 1024 * 1024;
  protocol::MemoryLimit limit;
  limit.swappiness = config.memory_swappiness;
  if (host_mib == 0) return limit;
  const auto host = static_cast<double>(host_mib);
  const double base = wanted_mib != 0 ? static_cast<double>(wanted_mib) : host;
  const auto least = static_cast<double>(config.min_ram_mib);
  const double most = std::max(host * config.max_ram_percent / 100, least);
  const double ram = std::clamp(base * config.allowed_ram_percent / 100, least, most);
  if (config.constrain_ram_space || config.constrain_swap_space) {
    limit.ram_bytes = static_cast<uint64_t>(ram * kMib);
  }
  if (config.constrain_swap_space) {
    const double swap =
        std::min(base * config.allowed_swap_percent / 100, host * config.max_swap_percent / 100);
    limit.limits_swap = true;
    limit.swap_bytes = static_cast<uint64_t>(swap * kMib);
  }
  return limit;
}

}  // namespace sluice::cgroup
