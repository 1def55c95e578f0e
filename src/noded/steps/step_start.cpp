// What a step daemon is told at its start: what the configuration says of it, and of the node.
#include <algorithm>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/model/system_cores.hpp"
#include "common/net/tls_config.hpp"
#include "common/environment/gres_env.hpp"
#include "common/syntax/cpu_frequency.hpp"
#include "common/syntax/gpu_frequency.hpp"
#include "common/names/step_names.hpp"
#include "common/syntax/submit_values.hpp"
#include "noded/node/gres_devices.hpp"
#include "noded/steps/steps.hpp"
#include "noded/steps/stray_daemons.hpp"

namespace sluice::noded {
namespace {

// How the CPUs of a step are to run; empty: as they do.
std::string frequency_for(const protocol::StepLaunch& launch, const ClusterConfig& config) {
  if (launch.key.id.step == kExternStep) return {};
  const bool interactive = launch.step != nullptr && launch.step->interactive;
  if (launch.step == nullptr && !has_option(config.launch_parameters, "batch_step_set_cpu_freq"))
    return {};
  if (interactive && !has_option(config.launch_parameters, "interactive_step_set_cpu_freq"))
    return {};
  std::string asked =
      launch.step == nullptr ? launch.job_spec->cpu_freq.str() : launch.step->cpu_freq.str();
  if (asked.empty()) {
    if (config.cpu_freq_def.empty() || is_default_frequency(config.cpu_freq_def))
      return config.cpu_freq_def;
    log::error("CpuFreqDef={} is neither a number of kHz nor a governor, and is not looked at",
               config.cpu_freq_def);
    return {};
  }
  const auto wanted = parse_cpu_frequency(asked);
  if (wanted && (wanted->governor == kNoFrequency ||
                 allows_governor(config.cpu_freq_governors, wanted->governor)))
    return asked;
  log::error("{}: --cpu-freq={} is not allowed here", step_log_name(launch.key.id), asked);
  return {};
}

// How the GPUs of a step are to run; empty: as they do. It is for what srun starts, not for scripts
// and shells.
std::string gpu_frequency_for(const protocol::StepLaunch& launch, const ClusterConfig& config,
                              bool can_be_set) {
  if (launch.key.id.step == kExternStep || launch.step == nullptr || launch.step->interactive)
    return {};
  if (!launch.step->tres_freq.empty() || config.gpu_freq_def.empty())
    return launch.step->tres_freq.str();
  if (!can_be_set) return {};
  if (parse_gpu_frequency(config.gpu_freq_def)) return "gpu:" + config.gpu_freq_def;
  log::error("GpuFreqDef={} is no frequency of GPUs, and is not looked at", config.gpu_freq_def);
  return {};
}

std::vector<protocol::GresDevice> devices_for(const protocol::StepLaunch& launch,
                                              uint32_t node_index, const NodeState& node) {
  if (node.hardware.devices.empty() || node_index >= launch.layout.nodes.size()) return {};
  const StepNode& here = launch.layout.nodes[node_index];
  return list_devices(node.self.gres, node.hardware.devices, gres_of_job(launch, here), here.gres);
}

}  // namespace

protocol::StepdStart Steps::start_message(const protocol::StepLaunch& launch,
                                          uint32_t node_index) const {
  const ClusterConfig& config = *node_.config;
  const auto uses = [](const std::vector<std::string>& plugins, std::string_view name) {
    return std::any_of(plugins.begin(), plugins.end(),
                       [&](const std::string& plugin) { return plugin.ends_with(name); });
  };
  protocol::StepdStart start;
  start.title = daemon_name(launch.key.id);
  start.node_index = node_index;
  start.devices = devices_for(launch, node_index, node_);
  start.node_name = node_.name;
  start.file_host = host_in_file_names(config, node_.self);
  start.spool_dir = node_.spool_dir;
  start.config_path = node_.config_path;
  start.task_prolog = config.task_prolog;
  start.task_epilog = config.task_epilog;
  start.affinity = uses(config.task_plugin, "affinity");
  start.threads_per_core = node_.self.threads_per_core;
  start.cores_per_socket = node_.self.cores_per_socket;
  start.node_cpus = node_.self.cores() * node_.self.threads_per_core;
  const Bitmap kept = system_cores(node_.self, system_share(*launch.job_spec, config));
  start.system_cpus = static_cast<uint32_t>(kept.count()) * node_.self.threads_per_core;
  start.processors = node_.processors;
  start.mpi = config.mpi;
  start.use_pam = config.use_pam;
  start.propagate_nice = config.propagate_prio_process;
  if (has_option(config.launch_parameters, "slurmstepd_memlock"))
    start.memory_lock = protocol::MemoryLock::kPresent;
  if (has_option(config.launch_parameters, "slurmstepd_memlock_all"))
    start.memory_lock = protocol::MemoryLock::kAll;
  if (has_option(config.job_acct_gather_params, "UsePss"))
    start.counted_memory = protocol::CountedMemory::kProportional;
  else if (has_option(config.job_acct_gather_params, "NoShared"))
    start.counted_memory = protocol::CountedMemory::kUnshared;
  start.over_memory_kill = has_option(config.job_acct_gather_params, "OverMemoryKill");
  start.vsize_factor = config.v_size_factor;
  start.home_xauthority = has_option(split_list(config.x11_parameters), "home_xauthority");
  start.encrypts_io = net::uses_tls(config);
  start.append_output = config.job_file_append;
  start.cpu_freq = frequency_for(launch, config);
  start.sets_gpu_clocks = detects_by_nvml(config, node_.self);
  start.tres_freq = gpu_frequency_for(launch, config, start.sets_gpu_clocks);
  start.autobind = option_value(config.task_plugin_param, "Autobind").value_or("");
  start.oom_kill_step = has_option(config.task_plugin_param, "OOMKillStep");
  start.kill_on_bad_exit = config.kill_on_bad_exit;
  start.kill_wait = config.kill_wait;
  start.unkillable_timeout = config.unkillable_step_timeout;
  if (config.job_acct_gather_type.ends_with("linux") ||
      config.job_acct_gather_type.ends_with("cgroup")) {
    const SharedText& asked =
        launch.step == nullptr ? launch.job_spec->acctg_frequency : launch.step->acctg_frequency;
    const auto seconds = task_acctg_seconds(asked);
    start.sample_interval = std::chrono::seconds(
        seconds ? *seconds : task_acctg_seconds(config.job_acct_gather_frequency).value_or(30));
  }
  return start;
}

}  // namespace sluice::noded
