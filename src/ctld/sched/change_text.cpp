// A change in words, and as the commands that make it.
#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/job_update.hpp"
#include "ctld/sched/change.hpp"
#include "ctld/sched/explain/explain_nodes.hpp"

namespace sluice::sched {
namespace {

// A part of a change: what it does, and scontrol's key and value for it.
struct Part {
  std::string words;
  std::string setting;
};

void add_size(const JobUpdate& u, std::vector<Part>& parts) {
  if (u.min_nodes) {
    const std::string most = u.max_nodes ? fmt::format("-{}", *u.max_nodes) : std::string();
    parts.push_back({"ask for " + count_of(*u.min_nodes, "node"),
                     fmt::format("NumNodes={}{}", *u.min_nodes, most)});
  }
  if (u.num_tasks) {
    parts.push_back(
        {"ask for " + count_of(*u.num_tasks, "task"), fmt::format("NumTasks={}", *u.num_tasks)});
  }
  if (u.cpus_per_task) {
    parts.push_back({fmt::format("ask for {} a task", count_of(*u.cpus_per_task, "CPU")),
                     fmt::format("CPUsPerTask={}", *u.cpus_per_task)});
  }
  if (u.min_cpus) {
    parts.push_back({fmt::format("ask for {} in all", count_of(*u.min_cpus, "CPU")),
                     fmt::format("NumCPUs={}", *u.min_cpus)});
  }
  if (u.min_cpus_per_node) {
    parts.push_back({fmt::format("ask for {} a node", count_of(*u.min_cpus_per_node, "CPU")),
                     fmt::format("MinCPUsNode={}", *u.min_cpus_per_node)});
  }
  if (u.memory_per_node_mib) {
    parts.push_back(
        {fmt::format("ask for {} of memory a node", format_memory(*u.memory_per_node_mib)),
         fmt::format("MinMemoryNode={}", *u.memory_per_node_mib)});
  }
  if (u.memory_per_cpu_mib) {
    parts.push_back(
        {fmt::format("ask for {} of memory a CPU", format_memory(*u.memory_per_cpu_mib)),
         fmt::format("MinMemoryCPU={}", *u.memory_per_cpu_mib)});
  }
}

std::vector<Part> parts_of(const JobUpdate& u) {
  std::vector<Part> parts;
  if (u.begin) parts.push_back({"let it begin now", "StartTime=now"});
  if (u.dependency) parts.push_back({"drop its dependency", "Dependency="});
  if (u.time_limit) {
    const std::string limit = format_minutes(*u.time_limit);
    parts.push_back({"give it a time limit of " + limit, "TimeLimit=" + limit});
  }
  if (u.partitions)
    parts.push_back({"send it to partition " + *u.partitions, "Partition=" + *u.partitions});
  if (u.account) parts.push_back({"charge it to account " + *u.account, "Account=" + *u.account});
  add_size(u, parts);
  if (u.tmp_disk_mib) {
    parts.push_back(
        {"ask for no temporary disk", fmt::format("MinTmpDiskNode={}", *u.tmp_disk_mib)});
  }
  if (u.contiguous) parts.push_back({"let its nodes be apart", "Contiguous=no"});
  if (u.constraint) parts.push_back({"drop its features", "Features=" + *u.constraint});
  if (u.required_nodes)
    parts.push_back({"drop the list of nodes it must have", "ReqNodeList=" + *u.required_nodes});
  if (u.excluded_nodes) parts.push_back({"exclude no nodes", "ExcNodeList=" + *u.excluded_nodes});
  if (u.licenses) {
    const std::string words = u.licenses->empty() ? std::string("ask for no licenses")
                                                  : "ask for licenses " + *u.licenses;
    parts.push_back({words, "Licenses=" + *u.licenses});
  }
  if (u.reservation) parts.push_back({"take it out of its reservation", "ReservationName="});
  if (u.sharing) parts.push_back({"let it share its nodes", "OverSubscribe=yes"});
  if (u.array_max_running) {
    parts.push_back(
        {fmt::format("let {} of the array run at once", count_of(*u.array_max_running, "task")),
         fmt::format("ArrayTaskThrottle={}", *u.array_max_running)});
  }
  if (u.priority) parts.push_back({"raise its priority", fmt::format("Priority={}", *u.priority)});
  return parts;
}

}  // namespace

std::string change_in_words(const JobUpdate& update) {
  std::vector<std::string> words;
  if (update.hold) words.emplace_back("release it");
  for (Part& part : parts_of(update)) words.push_back(std::move(part.words));
  if (words.size() < 2) return words.empty() ? std::string() : words.front();
  const std::string last = std::move(words.back());
  words.pop_back();
  return join(words, ", ") + " and " + last;
}

std::vector<std::string> change_commands(const JobUpdate& update, const std::string& job_id) {
  std::vector<std::string> commands;
  std::string settings;
  for (const Part& part : parts_of(update)) settings += ' ' + part.setting;
  if (!settings.empty()) commands.push_back("scontrol update JobId=" + job_id + settings);
  if (update.hold) commands.push_back("scontrol release " + job_id);
  return commands;
}

}  // namespace sluice::sched
