// What an agent hands to a step daemon at its start: one frame of type kAgentStart on the inherited
// descriptor kStartDescriptor, which then stays as their connection. The agent sends nothing more
// before kAgentReady.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/mpi_config.hpp"
#include "common/protocol/stepd.hpp"

namespace sluice::protocol {

inline constexpr int kStartDescriptor = 3;
// How a daemon is called that waits for its start message, and the room that its name has then:
// with the message it gets its own, which is shorter.
inline constexpr const char* kSpareDaemon = "slurmstepd: [spare]";
inline constexpr size_t kDaemonNameRoom = 64;
// In its environment: it will have to encrypt (TLSType), and sets that up while it waits.
inline constexpr const char* kWillEncrypt = "SLUICE_STEP_TLS";
// Exit statuses of a step daemon that reported nothing.
inline constexpr int kStepdAlreadyRun = 3;  // the key file was there
inline constexpr int kStepdBadStart = 4;    // the start message cannot be understood
inline constexpr int kStepdNoSpool = 5;     // the key file cannot be written
inline constexpr int kStepdFullSpool = 6;   // for want of room
// what Slurm drains the node for
inline constexpr const char* kSpoolIsFull = "SlurmdSpoolDir is full";

// slurmstepd --run-when-told FILE… -- PROGRAM…: waits for a byte on kStartDescriptor, writes 0 into
// each FILE, which puts it into a control group, and becomes the program. Exit statuses where it
// does not:
inline constexpr const char* kRunWhenToldMode = "--run-when-told";
inline constexpr int kNeverTold = 125;  // who started it went before the byte came
inline constexpr int kCannotEnterGroup = 126;
inline constexpr int kCannotRunProgram = 127;

// A limit on memory; ram_bytes 0: none.
struct MemoryLimit {
  uint64_t ram_bytes = 0;
  bool limits_swap = false;
  uint64_t swap_bytes = 0;  // beside ram_bytes
  std::optional<uint64_t> swappiness;
  template <class V>
  static void describe(V&& field) {
    field(1, "ram_bytes", &MemoryLimit::ram_bytes);
    field(2, "limits_swap", &MemoryLimit::limits_swap);
    field(3, "swap_bytes", &MemoryLimit::swap_bytes);
    field(4, "swappiness", &MemoryLimit::swappiness);
  }
};

// Which control groups a step is in; see common/cgroup/tree.hpp.
struct CgroupSetup {
  uint32_t version = 0;  // 0: none are used
  std::string mountpoint;
  std::string root;                      // this node's group
  std::vector<std::string> controllers;  // that are used
  bool gathers = false;                  // usage is read from them
  MemoryLimit job_memory;
  MemoryLimit step_memory;
  bool constrains_devices = false;  // v1: "devices" is among the controllers, too
  bool charges_daemons = false;     // what step daemons hold counts as memory of their job
  uint64_t job_pids = 0;            // processes and threads of the job here; 0: no limit
  template <class V>
  static void describe(V&& field) {
    field(1, "version", &CgroupSetup::version);
    field(2, "mountpoint", &CgroupSetup::mountpoint);
    field(3, "root", &CgroupSetup::root);
    field(4, "controllers", &CgroupSetup::controllers);
    field(5, "gathers", &CgroupSetup::gathers);
    field(6, "job_memory", &CgroupSetup::job_memory);
    field(7, "step_memory", &CgroupSetup::step_memory);
    field(8, "constrains_devices", &CgroupSetup::constrains_devices);
    field(320, "job_pids", &CgroupSetup::job_pids);
    field(321, "charges_daemons", &CgroupSetup::charges_daemons);
  }
};

// One unit of this node's generic resources, with what a device controller has to know of it.
struct GresDevice {
  std::string name;
  std::string type;
  uint32_t unit = 0;               // number among those of the name
  std::string file;                // "/dev/nvidia0"
  std::string cores;               // near ones, "0-7"; empty: all
  std::vector<std::string> flags;  // of gres.conf: which variables tell of it
  bool of_job = false;
  bool of_step = false;
  uint32_t mps_parts = 0;  // of a GPU that serves MPS: what it has in all
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &GresDevice::name);
    field(2, "type", &GresDevice::type);
    field(3, "unit", &GresDevice::unit);
    field(4, "file", &GresDevice::file);
    field(5, "cores", &GresDevice::cores);
    field(6, "flags", &GresDevice::flags);
    field(7, "of_job", &GresDevice::of_job);
    field(8, "of_step", &GresDevice::of_step);
    field(340, "mps_parts", &GresDevice::mps_parts);
  }
};

// What of a step daemon's memory is never paged out.
enum class MemoryLock : uint8_t { kNone = 0, kPresent = 1, kAll = 2 };

// What of a process counts as its memory (JobAcctGatherParams).
enum class CountedMemory : uint8_t {
  kResident = 0,
  kProportional = 1,  // UsePss: of what is shared with others its part
  kUnshared = 2,      // NoShared: nothing of what is shared
};

struct StepdStart {
  std::string title;        // its name for ps
  std::string launch;       // encoded StepLaunch, its signature checked by the agent
  uint32_t node_index = 0;  // position in the layout
  std::string node_name;
  std::string file_host;    // %N in the names of files
  std::string spool_dir;    // SlurmdSpoolDir of this node
  std::string config_path;  // for SLURM_CONF
  std::string task_prolog;
  std::string task_epilog;
  bool affinity = false;          // task/affinity
  uint32_t threads_per_core = 1;  // as configured: a core's number to those of its CPUs
  uint32_t cores_per_socket = 1;
  bool append_output = false;  // JobFileAppend
  bool kill_on_bad_exit = false;
  Duration kill_wait{30000000};
  Duration sample_interval{0};     // of what is used; 0: at the end only
  Duration unkillable_timeout{0};  // after SIGKILL; 0: waits for ever
  CgroupSetup cgroup;
  std::vector<GresDevice> devices;  // all that this node has, in the order of their numbers
  // the kernel's numbers of this host's CPUs, as they are counted; empty: by number
  std::vector<uint32_t> processors;
  std::string mount_namespace;  // file of the job's own one, to be entered; empty: the node's
  bool oom_kill_step = false;   // TaskPluginParam=OOMKillStep
  uint32_t node_cpus = 0;       // hardware threads of the node as configured
  uint32_t system_cpus = 0;     // of these, which no job gets
  MpiConfig mpi;
  bool use_pam = false;                        // UsePAM
  bool home_xauthority = false;                // X11Parameters=home_xauthority
  uint32_t propagate_nice = 0;                 // PropagatePrioProcess
  std::string autobind;                        // TaskPluginParam=Autobind=…
  MemoryLock memory_lock = MemoryLock::kNone;  // LaunchParameters=slurmstepd_memlock…
  CountedMemory counted_memory = CountedMemory::kResident;
  // for the CPUs of the step, of --cpu-freq or CpuFreqDef; empty: they run as they do
  std::string cpu_freq;
  // for the GPUs of the step, of --gpu-freq or GpuFreqDef; empty: they run as they do
  std::string tres_freq;
  bool sets_gpu_clocks = false;   // this node finds its GPUs by NVML, which can
  bool over_memory_kill = false;  // JobAcctGatherParams=OverMemoryKill
  bool encrypts_io = false;       // TLSType: what goes to srun and sattach
  uint32_t vsize_factor = 0;      // with it: percent of its memory that a step may map; 0: any
  template <class V>
  static void describe(V&& field) {
    field(1, "launch", &StepdStart::launch);
    field(2, "node_index", &StepdStart::node_index);
    field(3, "node_name", &StepdStart::node_name);
    field(4, "spool_dir", &StepdStart::spool_dir);
    field(5, "config_path", &StepdStart::config_path);
    field(6, "task_prolog", &StepdStart::task_prolog);
    field(7, "task_epilog", &StepdStart::task_epilog);
    field(8, "affinity", &StepdStart::affinity);
    field(9, "threads_per_core", &StepdStart::threads_per_core);
    field(10, "append_output", &StepdStart::append_output);
    field(11, "kill_on_bad_exit", &StepdStart::kill_on_bad_exit);
    field(12, "kill_wait", &StepdStart::kill_wait);
    field(13, "sample_interval", &StepdStart::sample_interval);
    field(14, "cores_per_socket", &StepdStart::cores_per_socket);
    field(15, "unkillable_timeout", &StepdStart::unkillable_timeout);
    field(16, "cgroup", &StepdStart::cgroup);
    field(17, "devices", &StepdStart::devices);
    field(18, "mount_namespace", &StepdStart::mount_namespace);
    field(19, "oom_kill_step", &StepdStart::oom_kill_step);
    field(30, "processors", &StepdStart::processors);
    field(300, "node_cpus", &StepdStart::node_cpus);
    field(301, "system_cpus", &StepdStart::system_cpus);
    field(340, "mpi", &StepdStart::mpi);
    field(500, "use_pam", &StepdStart::use_pam);
    field(501, "home_xauthority", &StepdStart::home_xauthority);
    field(502, "propagate_nice", &StepdStart::propagate_nice);
    field(503, "memory_lock", &StepdStart::memory_lock);
    field(504, "autobind", &StepdStart::autobind);
    field(505, "title", &StepdStart::title);
    field(506, "counted_memory", &StepdStart::counted_memory);
    field(520, "cpu_freq", &StepdStart::cpu_freq);
    field(530, "file_host", &StepdStart::file_host);
    field(550, "tres_freq", &StepdStart::tres_freq);
    field(551, "sets_gpu_clocks", &StepdStart::sets_gpu_clocks);
    field(610, "over_memory_kill", &StepdStart::over_memory_kill);
    field(620, "encrypts_io", &StepdStart::encrypts_io);
    field(611, "vsize_factor", &StepdStart::vsize_factor);
  }
};

// Kept in a step's key file while it may run.
struct StepRecord {
  StepKey key;
  uint32_t uid = 0;
  uint32_t daemon_pid = 0;
  uint32_t node_index = 0;
  Time start = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "key", &StepRecord::key);
    field(2, "uid", &StepRecord::uid);
    field(3, "daemon_pid", &StepRecord::daemon_pid);
    field(4, "node_index", &StepRecord::node_index);
    field(5, "start", &StepRecord::start);
  }
};

}  // namespace sluice::protocol
