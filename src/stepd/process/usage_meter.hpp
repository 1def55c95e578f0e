// What the tasks of a step use, by looking at their processes from time to time, and by what the
// kernel says of those that have ended. Where control groups keep account, their numbers count.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "common/cgroup/tree.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/stepd_start.hpp"
#include "stepd/binding/memory_bounds.hpp"

namespace sluice::stepd {

// One process as /proc shows it. Times and counts are its own and those of the children that it has
// waited for.
struct ProcessUsage {
  pid_t pid = 0;
  pid_t parent = 0;
  Duration user_cpu{0};
  Duration system_cpu{0};
  uint64_t rss_kib = 0;
  uint64_t vsize_kib = 0;
  uint64_t pages = 0;       // faults that read from a disk
  uint64_t read_bytes = 0;  // by read() and the like, from wherever it was, as Slurm counts
  uint64_t write_bytes = 0;
};
// From the texts of /proc/PID/stat and /proc/PID/io; nothing when they are not understood.
[[nodiscard]] std::optional<ProcessUsage> parse_process(std::string_view stat, std::string_view io);
using protocol::CountedMemory;
// From the texts of /proc/PID/smaps_rollup and /proc/PID/statm.
[[nodiscard]] std::optional<uint64_t> proportional_kib(std::string_view smaps_rollup);
[[nodiscard]] std::optional<uint64_t> unshared_kib(std::string_view statm);
// Of a live process.
[[nodiscard]] std::optional<ProcessUsage> usage_of_process(
    pid_t pid, CountedMemory counted = CountedMemory::kResident);

class UsageMeter {
 public:
  using GroupReader = std::function<cgroup::GroupUsage(uint32_t local_task)>;
  // From now on usage is taken from the tasks' control groups, as far as they know it.
  void use_groups(GroupReader reader) { groups_ = std::move(reader); }

  // From now on processes of no task that is known are the first one's.
  void adopt_strangers() { adopts_ = true; }

  // What the samples hold as rss_kib. Control groups and wait4() know what is resident only, so
  // otherwise they are not asked.
  void count(CountedMemory counted) { counted_ = counted; }

  // Tasks come in local order.
  void add_task(uint32_t rank, pid_t pid);
  // All live processes of the step.
  void sample(const std::vector<ProcessUsage>& processes);
  // A child of this process (a task, or an orphan) has ended: its last state, and what wait4()
  // says.
  void ended(const ProcessUsage& last, const rusage& used);

  [[nodiscard]] const std::vector<protocol::TaskUsage>& tasks() const { return tasks_; }
  // Of all tasks together, as last looked at.
  [[nodiscard]] MemoryUse memory() const { return memory_; }
  // The sums over the tasks; what processes of no task used is in it.
  [[nodiscard]] protocol::StepUsage sums() const;

 private:
  static constexpr size_t kNobody = SIZE_MAX;
  [[nodiscard]] size_t owner(const ProcessUsage& process,
                             const std::map<pid_t, const ProcessUsage*>& live) const;

  GroupReader groups_;
  CountedMemory counted_ = CountedMemory::kResident;
  bool adopts_ = false;
  std::vector<protocol::TaskUsage> tasks_;
  std::vector<ProcessUsage> over_;  // for each task, of its processes that were waited for here
  std::map<pid_t, size_t> owners_;  // of live processes: local task, kNobody
  ProcessUsage others_;             // ended, of no task that is known
  MemoryUse memory_;                // of all tasks together
  uint64_t max_rss_kib_ = 0;
  uint64_t max_vsize_kib_ = 0;
};

}  // namespace sluice::stepd
