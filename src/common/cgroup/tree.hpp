// The control groups of one node, over either version of the kernel's interface:
//
//   v1: MOUNT/CONTROLLER/ROOT/uid_U/job_J/step_S/task_T, once for each controller that is used
//   v2: MOUNT/ROOT/uid_U/job_J/step_S/task_T
//
// Beside its steps a job has a group "daemons" (v1: of the memory controller alone), where its step
// daemons are: what they hold for its tasks counts as its memory, and not as a step's. ROOT has one
// of that name for those whose step is over.
//
// ROOT names the node and its spool folder, so that the agents of several nodes, and of several
// clusters, can share a host. Tasks are in the lowest groups only, which v2 demands. Groups are
// named relative to ROOT here: "uid_0/job_5/step_0".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::cgroup {

inline constexpr const char* kDaemons = "daemons";  // groups of step daemons
// the controller of v1 whose tree holds every process; v2 has but one tree
inline constexpr const char* kTracker = "freezer";
inline constexpr const char* kMemory = "memory";
inline constexpr const char* kPids = "pids";
inline constexpr const char* kCpuset = "cpuset";  // all of the same name in either version

// Of a group and all below it.
struct GroupUsage {
  Duration user_cpu{0};
  Duration system_cpu{0};
  uint64_t rss_kib = 0;  // without the page cache
};

// What a device file stands for.
struct DeviceFile {
  bool block = false;
  uint32_t major = 0;
  uint32_t minor = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): no pointer is there
  friend auto operator<=>(const DeviceFile&, const DeviceFile&) = default;
};

// A group's files that limit its memory.
struct MemoryFiles {
  const char* limit;
  const char* swap_limit;      // not there where the kernel keeps no account of swap
  bool swap_limit_is_of_both;  // of memory and swap together
  const char* swappiness;      // null: a group has none
};

class Tree {
 public:
  // Null when `setup` says that there are no groups (version 0).
  [[nodiscard]] static std::unique_ptr<Tree> open(const protocol::CgroupSetup& setup);
  virtual ~Tree() = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // Makes the group and those above it. No-op if they are there.
  [[nodiscard]] virtual Status make(const std::string& group) = 0;
  // A process that writes 0 into each of these files is in the group.
  [[nodiscard]] virtual std::vector<std::string> entries(const std::string& group) const = 0;

  // Makes the group and puts this process into it, whose memory counts there from now on; with v2
  // all of the group's limits hold for it. No-op where memory is not constrained.
  [[nodiscard]] Status enter(const std::string& group);

  // CPUs of this host, and limits on memory, for all in the group. No-op where that is not
  // constrained.
  [[nodiscard]] Status set_cpus(const std::string& group, const Bitmap& cpus);
  [[nodiscard]] Status set_memory(const std::string& group, const protocol::MemoryLimit& limit);

  // How many processes and threads there may be in the group and below. No-op where that is not
  // constrained.
  [[nodiscard]] Status set_pids(const std::string& group, uint64_t most);
  // How often a process of the group could not have another for that limit; of those below it, too.
  [[nodiscard]] uint64_t fork_refusals(const std::string& group) const;

  // Device files that nobody in the group may open. What was closed stays closed. No-op where
  // devices are not constrained.
  [[nodiscard]] virtual Status close_devices(const std::string& group,
                                             const std::vector<DeviceFile>& devices) = 0;

  // How many of the group's processes the kernel killed for want of memory.
  [[nodiscard]] virtual uint64_t oom_kills(const std::string& group) const = 0;
  [[nodiscard]] virtual GroupUsage usage(const std::string& group) const = 0;

  // Processes in the group and below, without this one; groups right below it.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& group) const;
  [[nodiscard]] std::vector<std::string> children(const std::string& group) const;
  // SIGKILL to every process in the group and below, none of which can fork meanwhile. Step daemons
  // are spared: they end by themselves, and what they have to tell is to be told.
  virtual void kill(const std::string& group) const;
  // Processes of the group and below stand still, whatever signals they get, until it is thawed,
  // with all groups below. With v1 SIGKILL ends them only then. A moment may pass before it acts.
  virtual void freeze(const std::string& group, bool frozen) const = 0;
  // Removes the group and those below. False while something is left in it; true if it is not
  // there.
  virtual bool remove(const std::string& group) const = 0;

  // The group's name in the kernel's messages.
  [[nodiscard]] std::string kernel_name(const std::string& group) const;

 protected:
  Tree(const protocol::CgroupSetup& setup, const MemoryFiles& memory)
      : setup_(setup), memory_(memory) {}
  // The setup names this controller.
  [[nodiscard]] bool uses(std::string_view controller) const;
  // Where the controller's files of the group are.
  [[nodiscard]] virtual std::string place(std::string_view controller,
                                          const std::string& group) const = 0;
  // As make(), where this controller needs it.
  [[nodiscard]] virtual Status make_for(const std::string& controller,
                                        const std::string& group) = 0;
  // The folder that tells which processes there are and which groups.
  [[nodiscard]] std::string folder(const std::string& group) const {
    return place(kTracker, group);
  }

  protocol::CgroupSetup setup_;

 private:
  MemoryFiles memory_;
};

[[nodiscard]] std::string job_group(uint32_t uid, JobId job);
[[nodiscard]] std::string daemons_group(uint32_t uid, JobId job);
[[nodiscard]] std::string step_group(uint32_t uid, const StepId& id);
// What "job_12" and "step_0" stand for; nothing for other names.
[[nodiscard]] std::optional<JobId> job_of_group(std::string_view name);

}  // namespace sluice::cgroup
