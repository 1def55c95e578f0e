#include "stepd/process/usage_meter.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "common/os/proc_stat.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/group_files.hpp"

namespace sluice::stepd {
namespace {

Duration from_ticks(uint64_t ticks) {
  static const auto per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return Duration(static_cast<int64_t>(ticks * 1000000 / per_second));
}
Duration to_duration(const timeval& value) {
  return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
}

void add(ProcessUsage& sum, const ProcessUsage& more) {
  sum.user_cpu += more.user_cpu;
  sum.system_cpu += more.system_cpu;
  sum.rss_kib += more.rss_kib;
  sum.vsize_kib += more.vsize_kib;
  sum.pages += more.pages;
  sum.read_bytes += more.read_bytes;
  sum.write_bytes += more.write_bytes;
}

}  // namespace

std::optional<ProcessUsage> parse_process(std::string_view stat, std::string_view io) {
  const std::vector<std::string> fields = stat_fields(stat);
  constexpr size_t kParent = 1, kMajor = 9, kChildMajor = 10, kUser = 11, kSystem = 12;
  constexpr size_t kChildUser = 13, kChildSystem = 14, kVsize = 20, kRss = 21;
  if (fields.size() <= kRss) return std::nullopt;
  const auto number = [&](size_t at) { return to_number<uint64_t>(fields[at]).value_or(0); };
  static const auto page_kib = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  ProcessUsage usage;
  usage.parent = static_cast<pid_t>(number(kParent));
  usage.user_cpu = from_ticks(number(kUser) + number(kChildUser));
  usage.system_cpu = from_ticks(number(kSystem) + number(kChildSystem));
  usage.pages = number(kMajor) + number(kChildMajor);
  usage.vsize_kib = number(kVsize) / 1024;
  usage.rss_kib = number(kRss) * page_kib;
  usage.read_bytes = cgroup::number_of(io, "rchar:");
  usage.write_bytes = cgroup::number_of(io, "wchar:");
  return usage;
}

std::optional<uint64_t> proportional_kib(std::string_view smaps_rollup) {
  for (const std::string& line : split_list(smaps_rollup, '\n')) {
    const std::vector<std::string> words = split_list(line, ' ');  // "Pss:   1234 kB"
    if (words.size() >= 2 && words[0] == "Pss:") return to_number<uint64_t>(words[1]);
  }
  return std::nullopt;
}

std::optional<uint64_t> unshared_kib(std::string_view statm) {
  static const auto page_kib = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  const std::vector<std::string> words = split_list(statm, ' ');  // size, resident, shared, …
  if (words.size() < 3) return std::nullopt;
  const auto resident = to_number<uint64_t>(words[1]);
  const auto shared = to_number<uint64_t>(words[2]);
  if (!resident || !shared) return std::nullopt;
  return (*resident - std::min(*resident, *shared)) * page_kib;
}

std::optional<ProcessUsage> usage_of_process(pid_t pid, CountedMemory counted) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  auto usage = parse_process(*stat, read_file(fmt::format("/proc/{}/io", pid)).value_or(""));
  if (!usage) return usage;
  usage->pid = pid;
  // nothing where the kernel does not say: what is resident counts then
  std::optional<uint64_t> other;
  if (counted == CountedMemory::kProportional) {
    other = proportional_kib(read_file(fmt::format("/proc/{}/smaps_rollup", pid)).value_or(""));
  } else if (counted == CountedMemory::kUnshared) {
    other = unshared_kib(read_file(fmt::format("/proc/{}/statm", pid)).value_or(""));
  }
  usage->rss_kib = other.value_or(usage->rss_kib);
  return usage;
}

void UsageMeter::add_task(uint32_t rank, pid_t pid) {
  if (pid > 0) owners_[pid] = tasks_.size();
  tasks_.emplace_back().task = rank;
  over_.emplace_back();
}

// The task of the nearest ancestor that is known; one that lost its parent stays with its task.
size_t UsageMeter::owner(const ProcessUsage& process,
                         const std::map<pid_t, const ProcessUsage*>& live) const {
  const ProcessUsage* at = &process;
  for (size_t depth = 0; depth < live.size() + 1; ++depth) {
    const auto known = owners_.find(at->pid);
    if (known != owners_.end() && known->second != kNobody) return known->second;
    const auto above = live.find(at->parent);
    if (above == live.end()) return kNobody;
    at = above->second;
  }
  return kNobody;
}

void UsageMeter::sample(const std::vector<ProcessUsage>& processes) {
  std::map<pid_t, const ProcessUsage*> live;
  for (const ProcessUsage& process : processes) live.emplace(process.pid, &process);
  std::vector<ProcessUsage> now = over_;
  std::map<pid_t, size_t> owners;
  for (const ProcessUsage& process : processes) {
    const size_t known = owner(process, live);
    const size_t task = known == kNobody && adopts_ ? 0 : known;
    owners[process.pid] = task;
    if (task != kNobody) add(now[task], process);
  }
  owners_ = std::move(owners);
  memory_ = {};
  for (size_t i = 0; i < tasks_.size(); ++i) {
    protocol::TaskUsage& task = tasks_[i];
    if (groups_) {
      const cgroup::GroupUsage group = groups_(static_cast<uint32_t>(i));
      now[i].user_cpu = group.user_cpu;
      now[i].system_cpu = group.system_cpu;
      if (counted_ == CountedMemory::kResident) now[i].rss_kib = group.rss_kib;
    }
    task.user_cpu = std::max(task.user_cpu, now[i].user_cpu);
    task.system_cpu = std::max(task.system_cpu, now[i].system_cpu);
    task.rss_kib = now[i].rss_kib;
    task.vsize_kib = now[i].vsize_kib;
    task.max_rss_kib = std::max(task.max_rss_kib, task.rss_kib);
    task.max_vsize_kib = std::max(task.max_vsize_kib, task.vsize_kib);
    task.pages = std::max(task.pages, now[i].pages);
    task.read_bytes = std::max(task.read_bytes, now[i].read_bytes);
    task.write_bytes = std::max(task.write_bytes, now[i].write_bytes);
    memory_.rss_kib += task.rss_kib;
    memory_.vsize_kib += task.vsize_kib;
  }
  max_rss_kib_ = std::max(max_rss_kib_, memory_.rss_kib);
  max_vsize_kib_ = std::max(max_vsize_kib_, memory_.vsize_kib);
}

void UsageMeter::ended(const ProcessUsage& last, const rusage& used) {
  const auto known = owners_.find(last.pid);
  const size_t task = known == owners_.end() ? kNobody : known->second;
  if (known != owners_.end()) owners_.erase(known);
  ProcessUsage usage = last;
  usage.user_cpu = to_duration(used.ru_utime);
  usage.system_cpu = to_duration(used.ru_stime);
  usage.pages = static_cast<uint64_t>(used.ru_majflt);
  usage.rss_kib = usage.vsize_kib = 0;  // nothing any more
  const uint64_t peak =
      counted_ == CountedMemory::kResident ? static_cast<uint64_t>(used.ru_maxrss) : 0;
  max_rss_kib_ = std::max(max_rss_kib_, peak);
  add(task == kNobody ? others_ : over_[task], usage);
  if (task != kNobody) tasks_[task].max_rss_kib = std::max(tasks_[task].max_rss_kib, peak);
}

namespace {

void note(UsageExtent& extent, uint64_t value, const protocol::TaskUsage& task, bool first) {
  if (first || value > extent.max) {
    extent.max = value;
    extent.max_task = task.task;
  }
  if (first || value < extent.min) {
    extent.min = value;
    extent.min_task = task.task;
  }
  extent.total += value;
}

// Task by task. What processes of no task used is in the times alone.
std::shared_ptr<const UsageHistory> measured(const std::vector<protocol::TaskUsage>& tasks,
                                             const protocol::StepUsage& sum) {
  constexpr uint64_t kKib = 1024;
  if (tasks.empty()) return nullptr;
  auto out = std::make_shared<UsageHistory>();
  out->user_cpu = sum.user_cpu;
  out->system_cpu = sum.system_cpu;
  for (const protocol::TaskUsage& task : tasks) {
    const bool first = out->tasks++ == 0;
    note(out->cpu, static_cast<uint64_t>((task.user_cpu + task.system_cpu).count()), task, first);
    note(out->memory, task.max_rss_kib * kKib, task, first);
    note(out->virtual_memory, task.max_vsize_kib * kKib, task, first);
    note(out->read, task.read_bytes, task, first);
    note(out->written, task.write_bytes, task, first);
    note(out->pages, task.pages, task, first);
  }
  return out;
}

}  // namespace

protocol::StepUsage UsageMeter::sums() const {
  protocol::StepUsage sum;
  sum.user_cpu = others_.user_cpu;
  sum.system_cpu = others_.system_cpu;
  sum.read_bytes = others_.read_bytes;
  sum.write_bytes = others_.write_bytes;
  for (const protocol::TaskUsage& task : tasks_) {
    sum.user_cpu += task.user_cpu;
    sum.system_cpu += task.system_cpu;
    sum.read_bytes += task.read_bytes;
    sum.write_bytes += task.write_bytes;
  }
  sum.max_rss_kib = max_rss_kib_;
  sum.max_vsize_kib = max_vsize_kib_;
  sum.measured = measured(tasks_, sum);
  return sum;
}

}  // namespace sluice::stepd
