// What a user asked for when submitting a job: one described struct that travels from sbatch, srun
// and salloc to the controller and is kept in the journal. 0 or an empty text means "not given"
// unless a comment says otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/shared_text.hpp"
#include "common/base/time.hpp"

namespace sluice {

enum class MemoryKind : uint8_t { kDefault = 0, kPerNode = 1, kPerCpu = 2, kPerGpu = 3 };
enum class Sharing : uint8_t {
  kDefault = 0,
  kOversubscribe = 1,
  kExclusive = 2,
  kUser = 3,
  kMcs = 4,
  kTopo = 5
};
enum class OpenMode : uint8_t { kDefault = 0, kAppend = 1, kTruncate = 2 };
// What --nodes=0, --partition=, --account= and --qos= leave in a spec, to be refused by the
// controller: they are no absent wishes.
inline constexpr std::string_view kNoNodes = "0";
inline constexpr std::string_view kNoPartition = ",";
inline constexpr std::string_view kNoAccount = ",";
inline constexpr std::string_view kNoQos = ",";

enum class Toggle : uint8_t { kDefault = 0, kYes = 1, kNo = 2 };

struct JobSpec {
  // who, and from where; uid and gid are overwritten by the proved identity
  uint32_t uid = 0;
  uint32_t gid = 0;
  SharedText user_name;
  SharedText group_name;
  SharedText submit_host;   // AllocNode
  uint32_t submit_sid = 0;  // session id of the submitting process
  SharedText submit_line;

  // names and accounting
  SharedText name;
  SharedText account;
  SharedText qos;
  SharedText wckey;
  SharedText comment;
  SharedText admin_comment;
  SharedText extra;
  SharedText mcs_label;
  // comma list as given; empty: the default partition; kNoPartition for an empty list
  SharedText partitions;
  SharedText reservation;
  SharedText clusters;

  // what runs
  bool batch = false;                 // false: an allocation for srun or salloc
  bool interactive = false;           // salloc with use_interactive_step
  SharedText command;                 // Command= : path of the script, or the program of srun
  std::vector<SharedText> arguments;  // of the script
  SharedText script_blob;             // content hash of the batch script
  SharedText environment_blob;        // content hash of the environment (NUL-separated KEY=VALUE)
  SharedText work_dir;
  SharedText std_in;
  SharedText std_out;  // patterns as given (%j …); empty: the default
  SharedText std_err;
  OpenMode open_mode = OpenMode::kDefault;
  uint32_t umask = 022;
  std::vector<uint64_t> limits;  // (soft, hard) pairs by RLIMIT_ number; empty: not propagated

  // size
  uint32_t min_nodes = 0;
  uint32_t max_nodes = 0;  // 0: as min_nodes where given, else no bound
  SharedText node_counts;  // list form of --nodes; kNoNodes for --nodes=0
  uint32_t num_tasks = 0;
  uint32_t cpus_per_task = 0;
  uint32_t min_cpus = 0;  // least CPUs in all
  uint32_t max_cpus = 0;
  uint32_t min_cpus_per_node = 0;  // --mincpus
  uint32_t ntasks_per_node = 0;
  uint32_t ntasks_per_socket = 0;
  uint32_t ntasks_per_core = 0;
  uint32_t ntasks_per_gpu = 0;
  uint32_t sockets_per_node = 0;
  uint32_t cores_per_socket = 0;
  uint32_t threads_per_core = 0;
  MemoryKind memory_kind = MemoryKind::kDefault;
  uint64_t memory_mib = 0;  // by memory_kind; 0 with kPerNode: all memory of the node
  uint64_t tmp_disk_mib = 0;
  uint32_t core_spec = UINT32_MAX;    // --core-spec; UINT32_MAX: not given
  uint32_t thread_spec = UINT32_MAX;  // --thread-spec

  // which nodes
  SharedText constraint;
  SharedText prefer;
  SharedText cluster_constraint;
  SharedText required_nodes;  // host list
  SharedText excluded_nodes;  // host list
  bool contiguous = false;
  bool spread = false;
  bool use_min_nodes = false;
  bool overcommit = false;
  Sharing sharing = Sharing::kDefault;
  SharedText distribution;  // parsed where tasks are laid out
  SharedText switches;      // count[@time]
  uint32_t segment = 0;     // nodes that are in one block (topology/block); 0: not asked for
  bool spread_segments = false;
  SharedText licenses;
  SharedText gres;  // tres_per_node: gres/gpu:1,…
  SharedText tres_per_job;
  SharedText tres_per_socket;
  SharedText tres_per_task;
  SharedText gres_flags;
  SharedText tres_bind;
  SharedText tres_freq;  // "gpu:high,memory=low"
  SharedText cpus_per_gpu;
  SharedText cpu_freq;
  SharedText network;
  SharedText burst_buffer;
  SharedText batch_features;
  SharedText container;
  SharedText power;
  SharedText hint;

  // when
  Minutes time_limit = 0;  // 0: the partition's default; kInfiniteMinutes: UNLIMITED
  Minutes time_min = 0;
  Time begin = kNoTime;
  Time deadline = kNoTime;
  bool immediate = false;
  bool hold = false;
  uint32_t priority = UINT32_MAX;  // --priority; UINT32_MAX: computed
  int32_t nice = 0;
  int32_t site_factor = 0;  // what administrators add to its priority
  SharedText dependency;
  Toggle kill_on_invalid_dependency = Toggle::kDefault;
  SharedText array;  // as given, with %limit
  uint32_t delay_boot_seconds = 0;
  bool reboot = false;
  bool wait_all_nodes = false;

  // in its life
  Toggle requeue = Toggle::kDefault;
  bool kill_on_node_fail = true;
  SharedText mail_type;
  SharedText mail_user;
  uint32_t signal = 0;              // --signal
  uint32_t signal_seconds = 0;      // before the end
  bool signal_batch = false;        // B:
  bool signal_reservation = false;  // R:
  SharedText profile;
  SharedText acctg_frequency;
  uint64_t request_id = 0;  // chosen by the client; a repeated submission with it is the same job
  uint32_t resv_ports = 0;
  SharedText export_list;  // --export as given
  bool get_user_env = false;
  // times of a line of scrontab (model/crontab.hpp): the job is queued again after each run
  SharedText cron;
  uint32_t cron_line = 0;                   // of the crontab, the first is 1
  Toggle oom_kill_step = Toggle::kDefault;  // --oom-kill-step; the default is TaskPluginParam's
  // its srun or salloc watches it from start to end; of the first component of several
  bool attended = false;

  template <class V>
  static void describe(V&& field) {  // NOLINT(readability-function-size): a list
    field(1, "uid", &JobSpec::uid);
    field(2, "gid", &JobSpec::gid);
    field(3, "user_name", &JobSpec::user_name);
    field(4, "group_name", &JobSpec::group_name);
    field(5, "submit_host", &JobSpec::submit_host);
    field(6, "submit_sid", &JobSpec::submit_sid);
    field(7, "submit_line", &JobSpec::submit_line);
    field(8, "name", &JobSpec::name);
    field(9, "account", &JobSpec::account);
    field(10, "qos", &JobSpec::qos);
    field(11, "wckey", &JobSpec::wckey);
    field(12, "comment", &JobSpec::comment);
    field(13, "admin_comment", &JobSpec::admin_comment);
    field(14, "extra", &JobSpec::extra);
    field(15, "mcs_label", &JobSpec::mcs_label);
    field(16, "partitions", &JobSpec::partitions);
    field(17, "reservation", &JobSpec::reservation);
    field(18, "clusters", &JobSpec::clusters);
    field(19, "batch", &JobSpec::batch);
    field(20, "interactive", &JobSpec::interactive);
    field(21, "command", &JobSpec::command);
    field(22, "arguments", &JobSpec::arguments);
    field(23, "script_blob", &JobSpec::script_blob);
    field(24, "environment_blob", &JobSpec::environment_blob);
    field(25, "work_dir", &JobSpec::work_dir);
    field(26, "std_in", &JobSpec::std_in);
    field(27, "std_out", &JobSpec::std_out);
    field(28, "std_err", &JobSpec::std_err);
    field(29, "open_mode", &JobSpec::open_mode);
    field(30, "umask", &JobSpec::umask);
    field(31, "limits", &JobSpec::limits);
    field(32, "min_nodes", &JobSpec::min_nodes);
    field(33, "max_nodes", &JobSpec::max_nodes);
    field(34, "node_counts", &JobSpec::node_counts);
    field(35, "num_tasks", &JobSpec::num_tasks);
    field(36, "cpus_per_task", &JobSpec::cpus_per_task);
    field(37, "min_cpus", &JobSpec::min_cpus);
    field(38, "max_cpus", &JobSpec::max_cpus);
    field(39, "min_cpus_per_node", &JobSpec::min_cpus_per_node);
    field(40, "ntasks_per_node", &JobSpec::ntasks_per_node);
    field(41, "ntasks_per_socket", &JobSpec::ntasks_per_socket);
    field(42, "ntasks_per_core", &JobSpec::ntasks_per_core);
    field(43, "ntasks_per_gpu", &JobSpec::ntasks_per_gpu);
    field(44, "sockets_per_node", &JobSpec::sockets_per_node);
    field(45, "cores_per_socket", &JobSpec::cores_per_socket);
    field(46, "threads_per_core", &JobSpec::threads_per_core);
    field(47, "memory_kind", &JobSpec::memory_kind);
    field(48, "memory_mib", &JobSpec::memory_mib);
    field(49, "tmp_disk_mib", &JobSpec::tmp_disk_mib);
    field(50, "core_spec", &JobSpec::core_spec);
    field(51, "thread_spec", &JobSpec::thread_spec);
    field(52, "constraint", &JobSpec::constraint);
    field(53, "prefer", &JobSpec::prefer);
    field(54, "cluster_constraint", &JobSpec::cluster_constraint);
    field(55, "required_nodes", &JobSpec::required_nodes);
    field(56, "excluded_nodes", &JobSpec::excluded_nodes);
    field(57, "contiguous", &JobSpec::contiguous);
    field(58, "spread", &JobSpec::spread);
    field(59, "use_min_nodes", &JobSpec::use_min_nodes);
    field(60, "overcommit", &JobSpec::overcommit);
    field(61, "sharing", &JobSpec::sharing);
    field(62, "distribution", &JobSpec::distribution);
    field(63, "switches", &JobSpec::switches);
    field(64, "licenses", &JobSpec::licenses);
    field(65, "gres", &JobSpec::gres);
    field(66, "tres_per_job", &JobSpec::tres_per_job);
    field(67, "tres_per_socket", &JobSpec::tres_per_socket);
    field(68, "tres_per_task", &JobSpec::tres_per_task);
    field(69, "gres_flags", &JobSpec::gres_flags);
    field(70, "tres_bind", &JobSpec::tres_bind);
    field(71, "cpus_per_gpu", &JobSpec::cpus_per_gpu);
    field(72, "cpu_freq", &JobSpec::cpu_freq);
    field(73, "network", &JobSpec::network);
    field(74, "burst_buffer", &JobSpec::burst_buffer);
    field(75, "batch_features", &JobSpec::batch_features);
    field(76, "container", &JobSpec::container);
    field(77, "power", &JobSpec::power);
    field(78, "hint", &JobSpec::hint);
    field(79, "time_limit", &JobSpec::time_limit);
    field(80, "time_min", &JobSpec::time_min);
    field(81, "begin", &JobSpec::begin);
    field(82, "deadline", &JobSpec::deadline);
    field(83, "immediate", &JobSpec::immediate);
    field(84, "hold", &JobSpec::hold);
    field(85, "priority", &JobSpec::priority);
    field(86, "nice", &JobSpec::nice);
    field(87, "dependency", &JobSpec::dependency);
    field(88, "kill_on_invalid_dependency", &JobSpec::kill_on_invalid_dependency);
    field(89, "array", &JobSpec::array);
    field(90, "delay_boot_seconds", &JobSpec::delay_boot_seconds);
    field(91, "reboot", &JobSpec::reboot);
    field(92, "wait_all_nodes", &JobSpec::wait_all_nodes);
    field(93, "requeue", &JobSpec::requeue);
    field(94, "kill_on_node_fail", &JobSpec::kill_on_node_fail);
    field(95, "mail_type", &JobSpec::mail_type);
    field(96, "mail_user", &JobSpec::mail_user);
    field(97, "signal", &JobSpec::signal);
    field(98, "signal_seconds", &JobSpec::signal_seconds);
    field(99, "signal_batch", &JobSpec::signal_batch);
    field(100, "signal_reservation", &JobSpec::signal_reservation);
    field(101, "profile", &JobSpec::profile);
    field(102, "acctg_frequency", &JobSpec::acctg_frequency);
    field(103, "request_id", &JobSpec::request_id);
    field(104, "resv_ports", &JobSpec::resv_ports);
    field(105, "export_list", &JobSpec::export_list);
    field(106, "get_user_env", &JobSpec::get_user_env);
    field(140, "cron", &JobSpec::cron);
    field(141, "cron_line", &JobSpec::cron_line);
    field(142, "oom_kill_step", &JobSpec::oom_kill_step);
    field(143, "attended", &JobSpec::attended);
    field(144, "site_factor", &JobSpec::site_factor);
    field(550, "tres_freq", &JobSpec::tres_freq);
    field(551, "segment", &JobSpec::segment);
    field(552, "spread_segments", &JobSpec::spread_segments);
  }
};

}  // namespace sluice
