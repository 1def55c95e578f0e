// The whole configuration as one value: what slurm.conf (and cgroup.conf and gres.conf beside it)
// says, checked and with defaults filled in. It is journaled (ConfigReplaced) and sent to node
// agents. The table of keys (tables/conf_keys.hpp) binds each key to its member here; a test holds
// the defaults of table and struct equal, except for lists, which are empty until loaded (the codec
// adds to what is there).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/time.hpp"
#include "common/model/helpers_config.hpp"
#include "common/model/mpi_config.hpp"
#include "common/model/node_config.hpp"
#include "common/model/partition_config.hpp"

namespace sluice {

// INFINITE and "no limit" of a span; adding it to any real Time does not overflow.
inline constexpr Duration kNoLimit{INT64_C(1) << 60};

// SlurmctldDebug and its kin, as numbers 0 … 9.
enum class DebugLevel : uint32_t {
  kQuiet = 0,
  kFatal = 1,
  kError = 2,
  kInfo = 3,
  kVerbose = 4,
  kDebug = 5,
  kDebug2 = 6,
  kDebug3 = 7,
  kDebug4 = 8,
  kDebug5 = 9,
};

enum class EnforcePartLimits : uint32_t { kNo = 0, kAny = 1, kAll = 2 };

// One SlurmctldHost: "name(address)"; the address is the name when not given.
struct ControllerHost {
  std::string name;
  std::string address;
  friend bool operator==(const ControllerHost&, const ControllerHost&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &ControllerHost::name);
    field(2, "address", &ControllerHost::address);
  }
};

// cgroup.conf; percentages are of the job's allocated memory.
struct CgroupConfig {
  bool present = false;  // the file was there
  std::string mountpoint = "/sys/fs/cgroup";
  std::string plugin = "autodetect";
  bool constrain_cores = false;
  bool constrain_ram_space = false;
  bool constrain_swap_space = false;
  bool constrain_devices = false;
  bool ignore_systemd = false;
  bool enable_controllers = false;
  double allowed_ram_percent = 100;
  double allowed_swap_percent = 0;
  double max_ram_percent = 100;
  double max_swap_percent = 100;
  uint64_t min_ram_mib = 30;
  std::optional<uint64_t> memory_swappiness;
  uint64_t max_pids = 0;  // processes and threads of a job on a node; 0: no limit
  Duration systemd_timeout = std::chrono::seconds(1);
  std::map<std::string, std::string> values;  // every key as set
  friend bool operator==(const CgroupConfig&, const CgroupConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "present", &CgroupConfig::present);
    field(2, "mountpoint", &CgroupConfig::mountpoint);
    field(3, "plugin", &CgroupConfig::plugin);
    field(4, "constrain_cores", &CgroupConfig::constrain_cores);
    field(5, "constrain_ram_space", &CgroupConfig::constrain_ram_space);
    field(6, "constrain_swap_space", &CgroupConfig::constrain_swap_space);
    field(7, "constrain_devices", &CgroupConfig::constrain_devices);
    field(8, "ignore_systemd", &CgroupConfig::ignore_systemd);
    field(9, "enable_controllers", &CgroupConfig::enable_controllers);
    field(10, "allowed_ram_percent", &CgroupConfig::allowed_ram_percent);
    field(11, "allowed_swap_percent", &CgroupConfig::allowed_swap_percent);
    field(12, "max_ram_percent", &CgroupConfig::max_ram_percent);
    field(13, "max_swap_percent", &CgroupConfig::max_swap_percent);
    field(14, "min_ram_mib", &CgroupConfig::min_ram_mib);
    field(15, "memory_swappiness", &CgroupConfig::memory_swappiness);
    field(16, "systemd_timeout", &CgroupConfig::systemd_timeout);
    field(17, "values", &CgroupConfig::values);
    field(380, "max_pids", &CgroupConfig::max_pids);
  }
};

// job_container.conf: where a node keeps what its jobs see as their own /tmp and /dev/shm.
struct JobContainerLine {
  std::vector<std::string> nodes;    // empty: every node
  std::string base_path;             // "none": no folders of their own there
  bool auto_base_path = false;       // it is made when it is missing
  std::vector<std::string> folders;  // Dirs; empty: those of the line for all, or /tmp and /dev/shm
  std::string init_script;
  bool shared = false;  // what the host mounts later is seen inside
  friend bool operator==(const JobContainerLine&, const JobContainerLine&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &JobContainerLine::nodes);
    field(2, "base_path", &JobContainerLine::base_path);
    field(3, "auto_base_path", &JobContainerLine::auto_base_path);
    field(4, "folders", &JobContainerLine::folders);
    field(5, "init_script", &JobContainerLine::init_script);
    field(610, "shared", &JobContainerLine::shared);
  }
};

// One line of gres.conf: some devices of one generic resource.
struct GresConfigLine {
  std::vector<std::string> nodes;  // empty: every node that reads the file
  std::string name;                // "gpu"
  std::string type;                // "a100"
  uint64_t count = 0;              // 0 with files: one a file
  std::vector<std::string> files;  // expanded: "/dev/nvidia0", …
  std::vector<std::string> multiple_files;
  std::string cores;  // "0-7"
  std::string links;
  std::vector<std::string> flags;
  std::string auto_detect;  // "nvml", "off", …; empty: not said
  friend bool operator==(const GresConfigLine&, const GresConfigLine&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &GresConfigLine::nodes);
    field(2, "name", &GresConfigLine::name);
    field(3, "type", &GresConfigLine::type);
    field(4, "count", &GresConfigLine::count);
    field(5, "files", &GresConfigLine::files);
    field(6, "multiple_files", &GresConfigLine::multiple_files);
    field(7, "cores", &GresConfigLine::cores);
    field(8, "links", &GresConfigLine::links);
    field(9, "flags", &GresConfigLine::flags);
    field(10, "auto_detect", &GresConfigLine::auto_detect);
  }
};

// One line of topology.conf: a switch with nodes or with switches below it, or a block of nodes.
struct SwitchConfig {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
  std::string link_speed;
  friend bool operator==(const SwitchConfig&, const SwitchConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &SwitchConfig::name);
    field(2, "nodes", &SwitchConfig::nodes);
    field(3, "switches", &SwitchConfig::switches);
    field(4, "link_speed", &SwitchConfig::link_speed);
  }
};

struct ClusterConfig {
  std::string config_path;  // the file that was read (SLURM_CONF)
  std::string cluster_name;
  std::vector<ControllerHost> controllers;  // SlurmctldHost lines; the first is the primary
  std::string slurmctld_addr;  // SlurmctldAddr: used instead of the controllers' own addresses
  uint32_t slurmctld_port = 6817;
  uint32_t slurmctld_port_count = 1;  // SlurmctldPort=6817-6820 gives 4
  uint32_t slurmd_port = 6818;
  std::string srun_port_range;  // "60001-63000"; empty: any free port
  uint32_t tree_width = 16;

  // Who runs the daemons, and how identity is proved.
  std::string slurm_user = "root";
  uint32_t slurm_user_id = 0;  // filled in by common/conf, which may ask the system for users
  std::string slurmd_user = "root";
  uint32_t slurmd_user_id = 0;
  std::string auth_type = "auth/munge";
  std::string auth_info;  // "socket=/path,ttl=60,cred_expire=120"
  std::string auth_alt_types;
  std::string auth_alt_parameters;
  std::string cred_type = "cred/munge";
  std::vector<std::string> private_data;  // "jobs", "nodes", …
  bool disable_root_jobs = false;

  // Folders, files and logs. Paths of slurmd hold %n (node name) and %h (host name): node_path().
  std::string state_save_location = "/var/spool";
  std::string slurmd_spool_dir = "/var/spool/slurmd";
  std::string slurmctld_log_file;
  std::string slurmd_log_file;
  std::string slurm_sched_log_file;
  std::string slurmctld_pid_file = "/var/run/slurmctld.pid";
  std::string slurmd_pid_file = "/var/run/slurmd.pid";
  DebugLevel slurmctld_debug = DebugLevel::kInfo;
  DebugLevel slurmd_debug = DebugLevel::kInfo;
  std::optional<DebugLevel> slurmctld_syslog_debug;
  std::optional<DebugLevel> slurmd_syslog_debug;
  uint32_t slurm_sched_log_level = 0;
  std::string log_time_format = "iso8601_ms";
  std::vector<std::string> debug_flags;
  std::string tmp_fs = "/tmp";
  std::string plugin_dir = "/usr/lib/slurm";
  std::string plug_stack_config;

  // Times. kNoLimit where Slurm has INFINITE or no limit; zero switches off where Slurm says so.
  Duration slurmctld_timeout = std::chrono::seconds(120);
  Duration slurmd_timeout = std::chrono::seconds(300);  // 0: a silent node is never set DOWN
  Duration message_timeout = std::chrono::seconds(10);
  Duration tcp_timeout = std::chrono::seconds(2);
  Duration eio_timeout = std::chrono::seconds(60);
  Duration min_job_age = std::chrono::seconds(300);  // 0: finished jobs are never purged
  Duration kill_wait = std::chrono::seconds(30);
  Duration wait_time = std::chrono::seconds(0);       // 0: srun waits for all tasks without limit
  Duration inactive_limit = std::chrono::seconds(0);  // 0: no limit
  Duration batch_start_timeout = std::chrono::seconds(10);
  Duration complete_wait = std::chrono::seconds(0);
  Duration unkillable_step_timeout = std::chrono::seconds(60);
  std::string unkillable_step_program;
  Duration resume_timeout = std::chrono::seconds(60);
  Duration suspend_timeout = std::chrono::seconds(30);
  Duration suspend_time = kNoLimit;
  Duration epilog_msg_time = std::chrono::microseconds(2000);
  Duration group_update_time = std::chrono::seconds(600);  // 0: groups are never read again
  bool group_update_force = true;
  Minutes over_time_limit = 0;
  Minutes resv_over_run = 0;
  uint32_t return_to_service = 0;  // 0, 1 or 2

  // Limits.
  uint32_t max_job_count = 10000;
  uint32_t max_array_size = 1001;  // task numbers go up to one less
  uint32_t max_step_count = 40000;
  uint32_t max_tasks_per_node = 512;
  uint32_t first_job_id = 1;
  uint32_t max_job_id = 67043328;
  uint32_t max_batch_requeue = 5;
  uint32_t max_node_count = 0;  // 0: as many as there are
  EnforcePartLimits enforce_part_limits = EnforcePartLimits::kNo;
  uint64_t def_mem_per_cpu_mib = 0;  // 0: not set; at most one of the Def… and of the Max… pair is
  uint64_t def_mem_per_node_mib = 0;
  uint64_t max_mem_per_cpu_mib = 0;
  uint64_t max_mem_per_node_mib = 0;
  uint64_t def_cpu_per_gpu = 0;
  uint64_t def_mem_per_gpu_mib = 0;

  // Jobs and steps.
  bool job_requeue = true;
  bool job_file_append = false;
  bool kill_on_bad_exit = false;
  std::vector<std::string> launch_parameters;
  std::string interactive_step_options = "--interactive --preserve-env --pty $SHELL";
  uint32_t propagate_prio_process = 0;  // 0, 1 or 2
  bool use_pam = false;
  // "ALL", "NONE" or limits' names; see the parser
  std::vector<std::string> propagate_resource_limits;
  std::vector<std::string> propagate_resource_limits_except;
  std::string requeue_exit;  // exit codes: "1-3,255"
  std::string requeue_exit_hold;
  std::string proctrack_type = "proctrack/cgroup";
  std::vector<std::string> task_plugin;  // "task/affinity", "task/cgroup"; empty: none
  std::vector<std::string> task_plugin_param;
  std::string mpi_default = "none";
  std::string mpi_params;
  std::string switch_type;
  std::vector<std::string> gres_types;
  std::string licenses;  // "matlab:10,ansys@server:5"
  std::vector<std::string> job_submit_plugins;
  std::vector<std::string> cli_filter_plugins;
  std::string cpu_freq_def;
  std::string gpu_freq_def;
  std::vector<std::string> cpu_freq_governors;
  std::string x11_parameters;
  std::vector<std::string> bcast_exclude;
  std::vector<std::string> bcast_parameters;
  std::vector<std::string> dependency_parameters;
  std::vector<std::string> scron_parameters;
  uint32_t v_size_factor = 0;  // percent of real memory; 0: no limit of virtual memory

  // Scripts. A repeated key gives several, run in order.
  std::vector<std::string> prolog;
  std::vector<std::string> epilog;
  std::vector<std::string> prolog_slurmctld;
  std::vector<std::string> epilog_slurmctld;
  std::string task_prolog;
  std::string task_epilog;
  std::string srun_prolog;
  std::string srun_epilog;
  std::vector<std::string> prolog_flags;
  Duration prolog_epilog_timeout = kNoLimit;
  std::optional<Duration> prolog_timeout;  // unset: prolog_epilog_timeout
  std::optional<Duration> epilog_timeout;
  std::string reboot_program;
  std::string resume_program;
  std::string resume_fail_program;
  std::string suspend_program;
  std::string mail_prog = "/bin/mail";
  std::string mail_domain;
  std::string health_check_program;
  Duration health_check_interval = std::chrono::seconds(0);  // 0: off
  Duration health_check_timeout = std::chrono::seconds(60);
  std::vector<std::string> health_check_node_state;  // load: "ANY"

  // Scheduling, selection, priority, preemption.
  std::string select_type = "select/cons_tres";
  std::vector<std::string> select_type_parameters;  // load: "CR_CORE_MEMORY" for select/cons_tres
  // jobs may say what they leave to the system: system_share()
  bool allow_spec_resources_usage = false;
  std::string scheduler_type = "sched/backfill";
  std::vector<std::string> scheduler_parameters;  // "bf_window=2880", "defer", …: option_value()
  Duration scheduler_time_slice = std::chrono::seconds(30);
  std::string topology_plugin = "topology/flat";
  std::vector<std::string> topology_param;
  std::string priority_type = "priority/multifactor";
  std::vector<std::string> priority_flags;
  std::string priority_parameters;
  uint32_t priority_weight_age = 0;
  uint32_t priority_weight_assoc = 0;
  uint32_t priority_weight_fair_share = 0;
  uint32_t priority_weight_job_size = 0;
  uint32_t priority_weight_partition = 0;
  uint32_t priority_weight_qos = 0;
  std::string priority_weight_tres;  // "CPU=1000,Mem=2000"
  bool priority_favor_small = false;
  Duration priority_max_age = std::chrono::hours(7 * 24);
  Duration priority_decay_half_life = std::chrono::hours(7 * 24);  // 0: usage does not decay
  Duration priority_calc_period = std::chrono::minutes(5);
  std::string priority_usage_reset_period = "NONE";
  uint32_t fair_share_dampening_factor = 1;
  std::string preempt_type;  // empty: none
  PreemptMode preempt_mode = PreemptMode::kOff;
  bool preempt_gang = false;
  bool preempt_within = false;       // jobs of the same QOS, too
  bool preempt_by_priority = false;  // only those of lower priority
  Duration preempt_exempt_time = std::chrono::seconds(0);
  std::vector<std::string> preempt_parameters;

  // Accounting and completion records.
  std::string accounting_storage_type;  // empty: records are not kept
  std::string accounting_storage_host = "localhost";
  std::string accounting_storage_backup_host;
  uint32_t accounting_storage_port = 6819;
  std::vector<std::string> accounting_storage_enforce;
  // always cpu, mem, energy, node, billing, … first
  std::vector<std::string> accounting_storage_tres;
  std::vector<std::string> accounting_store_flags;
  bool track_wckey = false;
  std::string job_acct_gather_type;
  std::string job_acct_gather_frequency = "30";
  std::vector<std::string> job_acct_gather_params;
  std::string job_comp_type;  // empty: none
  std::string job_comp_loc;
  std::string job_comp_params;

  // Free parameters of the daemons.
  std::vector<std::string> slurmctld_parameters;
  std::vector<std::string> slurmd_parameters;
  std::vector<std::string> communication_parameters;
  std::vector<std::string> reconfig_flags;
  std::string slurmctld_primary_on_prog;
  std::string slurmctld_primary_off_prog;

  std::vector<NodeConfig> nodes;  // in the order of the file
  std::vector<PartitionConfig> partitions;
  std::vector<NodeSetConfig> node_sets;
  std::vector<DownNodesConfig> down_nodes;
  CgroupConfig cgroup;
  MpiConfig mpi;
  std::vector<GresConfigLine> gres_lines;
  std::vector<SwitchConfig> switches;  // topology.conf; the blocks of TopologyPlugin=topology/block
  std::vector<uint32_t> block_sizes;   // BlockSizes: nodes; empty: one level, of the blocks
  std::string job_container_type;      // empty: jobs share the folders of the node
  std::vector<JobContainerLine> job_containers;
  std::vector<std::string> sluice_parameters;  // Sluice's own: accept_ignored, log_format
  std::vector<std::string> node_features_plugins;
  HelpersConfig helpers;  // with NodeFeaturesPlugins=node_features/helpers

  // Every global key as it was set, by its canonical name (a repeated key's values joined by ","),
  // so
  // that nothing is lost; and the keys that were set and do nothing yet ("MCSPlugin",
  // "NodeName.TRESWeights").
  std::map<std::string, std::string> values;
  std::vector<std::string> without_effect;

  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
  template <class V>
  // one line a member: NOLINTNEXTLINE(readability-function-size)
  static void describe(V&& field) {
    field(1, "config_path", &ClusterConfig::config_path);
    field(2, "cluster_name", &ClusterConfig::cluster_name);
    field(3, "controllers", &ClusterConfig::controllers);
    field(4, "slurmctld_addr", &ClusterConfig::slurmctld_addr);
    field(5, "slurmctld_port", &ClusterConfig::slurmctld_port);
    field(6, "slurmctld_port_count", &ClusterConfig::slurmctld_port_count);
    field(7, "slurmd_port", &ClusterConfig::slurmd_port);
    field(8, "srun_port_range", &ClusterConfig::srun_port_range);
    field(9, "tree_width", &ClusterConfig::tree_width);
    field(10, "slurm_user", &ClusterConfig::slurm_user);
    field(11, "slurm_user_id", &ClusterConfig::slurm_user_id);
    field(12, "slurmd_user", &ClusterConfig::slurmd_user);
    field(13, "slurmd_user_id", &ClusterConfig::slurmd_user_id);
    field(14, "auth_type", &ClusterConfig::auth_type);
    field(15, "auth_info", &ClusterConfig::auth_info);
    field(16, "auth_alt_types", &ClusterConfig::auth_alt_types);
    field(17, "auth_alt_parameters", &ClusterConfig::auth_alt_parameters);
    field(18, "cred_type", &ClusterConfig::cred_type);
    field(19, "private_data", &ClusterConfig::private_data);
    field(20, "disable_root_jobs", &ClusterConfig::disable_root_jobs);
    field(21, "state_save_location", &ClusterConfig::state_save_location);
    field(22, "slurmd_spool_dir", &ClusterConfig::slurmd_spool_dir);
    field(23, "slurmctld_log_file", &ClusterConfig::slurmctld_log_file);
    field(24, "slurmd_log_file", &ClusterConfig::slurmd_log_file);
    field(25, "slurm_sched_log_file", &ClusterConfig::slurm_sched_log_file);
    field(26, "slurmctld_pid_file", &ClusterConfig::slurmctld_pid_file);
    field(27, "slurmd_pid_file", &ClusterConfig::slurmd_pid_file);
    field(28, "slurmctld_debug", &ClusterConfig::slurmctld_debug);
    field(29, "slurmd_debug", &ClusterConfig::slurmd_debug);
    field(30, "slurmctld_syslog_debug", &ClusterConfig::slurmctld_syslog_debug);
    field(31, "slurmd_syslog_debug", &ClusterConfig::slurmd_syslog_debug);
    field(32, "slurm_sched_log_level", &ClusterConfig::slurm_sched_log_level);
    field(33, "log_time_format", &ClusterConfig::log_time_format);
    field(34, "debug_flags", &ClusterConfig::debug_flags);
    field(35, "tmp_fs", &ClusterConfig::tmp_fs);
    field(36, "plugin_dir", &ClusterConfig::plugin_dir);
    field(37, "plug_stack_config", &ClusterConfig::plug_stack_config);
    field(38, "slurmctld_timeout", &ClusterConfig::slurmctld_timeout);
    field(39, "slurmd_timeout", &ClusterConfig::slurmd_timeout);
    field(40, "message_timeout", &ClusterConfig::message_timeout);
    field(41, "tcp_timeout", &ClusterConfig::tcp_timeout);
    field(42, "eio_timeout", &ClusterConfig::eio_timeout);
    field(43, "min_job_age", &ClusterConfig::min_job_age);
    field(44, "kill_wait", &ClusterConfig::kill_wait);
    field(45, "wait_time", &ClusterConfig::wait_time);
    field(46, "inactive_limit", &ClusterConfig::inactive_limit);
    field(47, "batch_start_timeout", &ClusterConfig::batch_start_timeout);
    field(48, "complete_wait", &ClusterConfig::complete_wait);
    field(49, "unkillable_step_timeout", &ClusterConfig::unkillable_step_timeout);
    field(50, "unkillable_step_program", &ClusterConfig::unkillable_step_program);
    field(51, "resume_timeout", &ClusterConfig::resume_timeout);
    field(52, "suspend_timeout", &ClusterConfig::suspend_timeout);
    field(53, "suspend_time", &ClusterConfig::suspend_time);
    field(54, "epilog_msg_time", &ClusterConfig::epilog_msg_time);
    field(55, "group_update_time", &ClusterConfig::group_update_time);
    field(56, "group_update_force", &ClusterConfig::group_update_force);
    field(57, "over_time_limit", &ClusterConfig::over_time_limit);
    field(58, "resv_over_run", &ClusterConfig::resv_over_run);
    field(59, "return_to_service", &ClusterConfig::return_to_service);
    field(60, "max_job_count", &ClusterConfig::max_job_count);
    field(61, "max_array_size", &ClusterConfig::max_array_size);
    field(62, "max_step_count", &ClusterConfig::max_step_count);
    field(63, "max_tasks_per_node", &ClusterConfig::max_tasks_per_node);
    field(64, "first_job_id", &ClusterConfig::first_job_id);
    field(65, "max_job_id", &ClusterConfig::max_job_id);
    field(66, "max_batch_requeue", &ClusterConfig::max_batch_requeue);
    field(67, "max_node_count", &ClusterConfig::max_node_count);
    field(68, "enforce_part_limits", &ClusterConfig::enforce_part_limits);
    field(69, "def_mem_per_cpu_mib", &ClusterConfig::def_mem_per_cpu_mib);
    field(70, "def_mem_per_node_mib", &ClusterConfig::def_mem_per_node_mib);
    field(71, "max_mem_per_cpu_mib", &ClusterConfig::max_mem_per_cpu_mib);
    field(72, "max_mem_per_node_mib", &ClusterConfig::max_mem_per_node_mib);
    field(73, "def_cpu_per_gpu", &ClusterConfig::def_cpu_per_gpu);
    field(74, "def_mem_per_gpu_mib", &ClusterConfig::def_mem_per_gpu_mib);
    field(75, "job_requeue", &ClusterConfig::job_requeue);
    field(76, "job_file_append", &ClusterConfig::job_file_append);
    field(77, "kill_on_bad_exit", &ClusterConfig::kill_on_bad_exit);
    field(78, "launch_parameters", &ClusterConfig::launch_parameters);
    field(79, "interactive_step_options", &ClusterConfig::interactive_step_options);
    field(80, "propagate_prio_process", &ClusterConfig::propagate_prio_process);
    field(81, "propagate_resource_limits", &ClusterConfig::propagate_resource_limits);
    field(82, "propagate_resource_limits_except", &ClusterConfig::propagate_resource_limits_except);
    field(83, "requeue_exit", &ClusterConfig::requeue_exit);
    field(84, "requeue_exit_hold", &ClusterConfig::requeue_exit_hold);
    field(85, "proctrack_type", &ClusterConfig::proctrack_type);
    field(86, "task_plugin", &ClusterConfig::task_plugin);
    field(87, "task_plugin_param", &ClusterConfig::task_plugin_param);
    field(88, "mpi_default", &ClusterConfig::mpi_default);
    field(89, "mpi_params", &ClusterConfig::mpi_params);
    field(90, "switch_type", &ClusterConfig::switch_type);
    field(91, "gres_types", &ClusterConfig::gres_types);
    field(92, "licenses", &ClusterConfig::licenses);
    field(93, "job_submit_plugins", &ClusterConfig::job_submit_plugins);
    field(94, "cli_filter_plugins", &ClusterConfig::cli_filter_plugins);
    field(95, "cpu_freq_def", &ClusterConfig::cpu_freq_def);
    field(96, "x11_parameters", &ClusterConfig::x11_parameters);
    field(97, "bcast_exclude", &ClusterConfig::bcast_exclude);
    field(98, "bcast_parameters", &ClusterConfig::bcast_parameters);
    field(99, "dependency_parameters", &ClusterConfig::dependency_parameters);
    field(100, "scron_parameters", &ClusterConfig::scron_parameters);
    field(101, "v_size_factor", &ClusterConfig::v_size_factor);
    field(102, "prolog", &ClusterConfig::prolog);
    field(103, "epilog", &ClusterConfig::epilog);
    field(104, "prolog_slurmctld", &ClusterConfig::prolog_slurmctld);
    field(105, "epilog_slurmctld", &ClusterConfig::epilog_slurmctld);
    field(106, "task_prolog", &ClusterConfig::task_prolog);
    field(107, "task_epilog", &ClusterConfig::task_epilog);
    field(108, "srun_prolog", &ClusterConfig::srun_prolog);
    field(109, "srun_epilog", &ClusterConfig::srun_epilog);
    field(110, "prolog_flags", &ClusterConfig::prolog_flags);
    field(111, "prolog_epilog_timeout", &ClusterConfig::prolog_epilog_timeout);
    field(112, "prolog_timeout", &ClusterConfig::prolog_timeout);
    field(113, "epilog_timeout", &ClusterConfig::epilog_timeout);
    field(114, "reboot_program", &ClusterConfig::reboot_program);
    field(115, "resume_program", &ClusterConfig::resume_program);
    field(116, "resume_fail_program", &ClusterConfig::resume_fail_program);
    field(117, "suspend_program", &ClusterConfig::suspend_program);
    field(118, "mail_prog", &ClusterConfig::mail_prog);
    field(119, "mail_domain", &ClusterConfig::mail_domain);
    field(120, "health_check_program", &ClusterConfig::health_check_program);
    field(121, "health_check_interval", &ClusterConfig::health_check_interval);
    field(122, "health_check_timeout", &ClusterConfig::health_check_timeout);
    field(123, "health_check_node_state", &ClusterConfig::health_check_node_state);
    field(124, "select_type", &ClusterConfig::select_type);
    field(125, "select_type_parameters", &ClusterConfig::select_type_parameters);
    field(126, "scheduler_type", &ClusterConfig::scheduler_type);
    field(127, "scheduler_parameters", &ClusterConfig::scheduler_parameters);
    field(128, "scheduler_time_slice", &ClusterConfig::scheduler_time_slice);
    field(129, "topology_plugin", &ClusterConfig::topology_plugin);
    field(130, "topology_param", &ClusterConfig::topology_param);
    field(131, "priority_type", &ClusterConfig::priority_type);
    field(132, "priority_flags", &ClusterConfig::priority_flags);
    field(133, "priority_parameters", &ClusterConfig::priority_parameters);
    field(134, "priority_weight_age", &ClusterConfig::priority_weight_age);
    field(135, "priority_weight_assoc", &ClusterConfig::priority_weight_assoc);
    field(136, "priority_weight_fair_share", &ClusterConfig::priority_weight_fair_share);
    field(137, "priority_weight_job_size", &ClusterConfig::priority_weight_job_size);
    field(138, "priority_weight_partition", &ClusterConfig::priority_weight_partition);
    field(139, "priority_weight_qos", &ClusterConfig::priority_weight_qos);
    field(140, "priority_weight_tres", &ClusterConfig::priority_weight_tres);
    field(141, "priority_favor_small", &ClusterConfig::priority_favor_small);
    field(142, "priority_max_age", &ClusterConfig::priority_max_age);
    field(143, "priority_decay_half_life", &ClusterConfig::priority_decay_half_life);
    field(144, "priority_calc_period", &ClusterConfig::priority_calc_period);
    field(145, "priority_usage_reset_period", &ClusterConfig::priority_usage_reset_period);
    field(146, "fair_share_dampening_factor", &ClusterConfig::fair_share_dampening_factor);
    field(147, "preempt_type", &ClusterConfig::preempt_type);
    field(148, "preempt_mode", &ClusterConfig::preempt_mode);
    field(149, "preempt_gang", &ClusterConfig::preempt_gang);
    field(610, "preempt_within", &ClusterConfig::preempt_within);
    field(611, "preempt_by_priority", &ClusterConfig::preempt_by_priority);
    field(150, "preempt_exempt_time", &ClusterConfig::preempt_exempt_time);
    field(151, "preempt_parameters", &ClusterConfig::preempt_parameters);
    field(152, "accounting_storage_type", &ClusterConfig::accounting_storage_type);
    field(153, "accounting_storage_host", &ClusterConfig::accounting_storage_host);
    field(154, "accounting_storage_backup_host", &ClusterConfig::accounting_storage_backup_host);
    field(155, "accounting_storage_port", &ClusterConfig::accounting_storage_port);
    field(156, "accounting_storage_enforce", &ClusterConfig::accounting_storage_enforce);
    field(157, "accounting_storage_tres", &ClusterConfig::accounting_storage_tres);
    field(158, "accounting_store_flags", &ClusterConfig::accounting_store_flags);
    field(159, "track_wckey", &ClusterConfig::track_wckey);
    field(160, "job_acct_gather_type", &ClusterConfig::job_acct_gather_type);
    field(161, "job_acct_gather_frequency", &ClusterConfig::job_acct_gather_frequency);
    field(162, "job_acct_gather_params", &ClusterConfig::job_acct_gather_params);
    field(163, "job_comp_type", &ClusterConfig::job_comp_type);
    field(164, "job_comp_loc", &ClusterConfig::job_comp_loc);
    field(165, "job_comp_params", &ClusterConfig::job_comp_params);
    field(166, "slurmctld_parameters", &ClusterConfig::slurmctld_parameters);
    field(167, "slurmd_parameters", &ClusterConfig::slurmd_parameters);
    field(168, "communication_parameters", &ClusterConfig::communication_parameters);
    field(169, "reconfig_flags", &ClusterConfig::reconfig_flags);
    field(170, "slurmctld_primary_on_prog", &ClusterConfig::slurmctld_primary_on_prog);
    field(171, "slurmctld_primary_off_prog", &ClusterConfig::slurmctld_primary_off_prog);
    field(172, "nodes", &ClusterConfig::nodes);
    field(173, "partitions", &ClusterConfig::partitions);
    field(174, "node_sets", &ClusterConfig::node_sets);
    field(175, "down_nodes", &ClusterConfig::down_nodes);
    field(176, "cgroup", &ClusterConfig::cgroup);
    field(177, "gres_lines", &ClusterConfig::gres_lines);
    field(178, "values", &ClusterConfig::values);
    field(179, "without_effect", &ClusterConfig::without_effect);
    field(230, "switches", &ClusterConfig::switches);
    field(220, "job_container_type", &ClusterConfig::job_container_type);
    field(221, "job_containers", &ClusterConfig::job_containers);
    field(380, "mpi", &ClusterConfig::mpi);
    field(450, "node_features_plugins", &ClusterConfig::node_features_plugins);
    field(451, "helpers", &ClusterConfig::helpers);
    field(470, "allow_spec_resources_usage", &ClusterConfig::allow_spec_resources_usage);
    field(500, "use_pam", &ClusterConfig::use_pam);
    field(520, "cpu_freq_governors", &ClusterConfig::cpu_freq_governors);
    field(550, "gpu_freq_def", &ClusterConfig::gpu_freq_def);
    field(600, "sluice_parameters", &ClusterConfig::sluice_parameters);
    field(612, "block_sizes", &ClusterConfig::block_sizes);
  }
};

// The value of `name` in a list of parameters ("bf_window=2880" gives "2880", a bare "defer" gives
// ""); nullopt when it is not there. Letters' case does not matter; the last one wins.
[[nodiscard]] std::optional<std::string> option_value(const std::vector<std::string>& parameters,
                                                      std::string_view name);
// Whether a flag is in the list, whatever its case.
[[nodiscard]] bool has_option(const std::vector<std::string>& parameters, std::string_view name);

// A path or name of slurmd for one node: %n is the node's name, %h its host name.
[[nodiscard]] std::string node_path(std::string_view pattern, const NodeConfig& node);

[[nodiscard]] const NodeConfig* find_node(const ClusterConfig& config, std::string_view name);
[[nodiscard]] const PartitionConfig* find_partition(const ClusterConfig& config,
                                                    std::string_view name);

}  // namespace sluice
