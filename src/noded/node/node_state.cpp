#include "noded/node/node_state.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "common/config_files/load.hpp"
#include "common/daemon/log_setup.hpp"
#include "common/log/log.hpp"
#include "common/model/ping_interval.hpp"
#include "common/os/clock.hpp"
#include "noded/node/gres_devices.hpp"
#include "noded/node/inventory.hpp"

namespace sluice::noded {

std::string step_daemon(const NodeState& node) { return node.sbin_dir + "/slurmstepd"; }

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

Time controller_time(const NodeState& node) {
  return node.controller_clock.time(now(), net::steady_now());
}

void heard_controller(NodeState& node) {
  const Time before = std::exchange(node.last_controller_message, now());
  if (before == kNoTime || !gives_nodes_up(*node.config)) return;
  // the answer to what was heard last may have been lost; a silence of usual length means nothing
  const Duration interval = ping_interval(*node.config);
  const Duration limit = std::max(node.config->slurmd_timeout - interval, interval * 3 / 2);
  if (node.last_controller_message - before >= limit) node.launches_from = controller_time(node);
}

const NodeConfig* find_node_config(const ClusterConfig& config, std::string_view name) {
  for (const NodeConfig& node : config.nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

std::string host_in_file_names(const ClusterConfig& config, const NodeConfig& self) {
  const auto here = std::ranges::count(config.nodes, self.hostname, &NodeConfig::hostname);
  return here > 1 ? self.name : self.hostname.substr(0, self.hostname.find('.'));
}

Environment helper_environment(const NodeState& node) {
  Environment env;
  env.set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  env.set("SLURM_CONF", node.config_path);
  env.set("SLURMD_NODENAME", node.name);
  return env;
}

Environment daemon_environment(const NodeState& node) {
  Environment environment = helper_environment(node);
  environment.set(kClusterOfDaemon, node.cluster_id);
  environment.set(kSpoolOfDaemon, node.spool_id);
  return environment;
}

void adopt_config(NodeState& node, ClusterConfig config) {
  const auto before =
      std::exchange(node.config, std::make_shared<const ClusterConfig>(std::move(config)));
  if (before != nullptr) {
    if (auto ok = daemon::change_log_file(node_path(before->slurmd_log_file, node.self),
                                          node_path(node.config->slurmd_log_file, node.self));
        !ok)
      log::error("SlurmdLogFile: {}", ok.error().text);
    daemon::change_log({before->slurmd_debug, node.config->slurmd_debug}, before->debug_flags,
                       node.config->debug_flags);
  }
  if (const NodeConfig* self = find_node_config(*node.config, node.name)) node.self = *self;
  const std::string& folder = node.config->slurmd_spool_dir;
  if (before != nullptr && before->slurmd_spool_dir != folder &&
      node_path(folder, node.self) != node.spool_dir) {
    log::warning("SlurmdSpoolDir={} waits for a restart of this agent, which uses {}", folder,
                 node.spool_dir);
  }
  const Time agent_start = node.hardware.agent_start;
  const auto host_name = node.hardware.host_name;
  const auto address = node.hardware.address;
  const auto port = node.hardware.port;
  node.hardware = reported_hardware(node.real_hardware, node.self, *node.config);
  node.hardware.agent_start = agent_start;
  node.hardware.host_name = host_name;
  node.hardware.address = address;
  node.hardware.port = port;
  std::vector<std::string> problems;
  node.hardware.devices = find_gres(
      *node.config, node.self,
      [&node](std::vector<std::string>& found_out) {
        if (!node.found_gpus) node.found_gpus = nvml_gpus(found_out);
        return *node.found_gpus;
      },
      problems);
  for (const std::string& problem : problems) log::error("{}", problem);
}

void adopt_sent_config(NodeState& node, ClusterConfig config) {
  const bool lacks_gres = config.gres_lines.empty() && !config.gres_types.empty();
  std::error_code error;
  const auto own_groups = std::filesystem::path(node.config_path).parent_path() / "cgroup.conf";
  const bool lacks_groups = !config.cgroup.present && std::filesystem::exists(own_groups, error);
  if (lacks_gres || lacks_groups) {
    auto own = load_config(node.config_path);
    if (!own)
      log::error("the host's own gres.conf and cgroup.conf cannot be used: {}", own.error().text);
    if (own && lacks_gres) config.gres_lines = std::move(own->gres_lines);
    if (own && lacks_groups) config.cgroup = std::move(own->cgroup);
  }
  adopt_config(node, std::move(config));
}

}  // namespace sluice::noded
