// What is worked out from a job's record before it is shown: the id with its array tasks, the
// reason in force, counts while it waits, paths with their patterns filled in. squeue, scontrol and
// --json all take these from here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/ctld.hpp"
#include "common/format/field_row.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice {

struct GatheredTasks;

// A record as one line of squeue: the record itself, or with -r one waiting task of its
// array, or with -P one of the partitions it asked for.
struct JobView {
  const protocol::JobRecord* record = nullptr;
  uint32_t task = kNoTask;
  std::string_view partition{};  // with -P the one partition of this line
  // of an array's row: the tasks with records of their own that it shows too
  const GatheredTasks* gathered = nullptr;

  [[nodiscard]] const Job& job() const { return record->job; }
  [[nodiscard]] const JobSpec& spec() const;
};

[[nodiscard]] bool is_pending_array(const JobView& view);  // stands for several waiting tasks
// The record of an array that stands for one task, since the others have records of their own.
[[nodiscard]] bool is_last_task(const JobView& view);
void append_job_id(const JobView& view, const RenderContext& context, std::string& out);
void append_task_id(const JobView& view, const RenderContext& context, std::string& out);
// "12-14": the ids of all components.
[[nodiscard]] std::string het_id_set(const HetInfo& het);
[[nodiscard]] JobId array_job_id(const JobView& view);  // the job's own id without an array

// Of the ids asked for ("12", "12_3", "12_[1-4]"), the tasks of this waiting array that they name;
// nothing when one of them names the whole array, or none its tasks.
[[nodiscard]] std::optional<IndexSet> tasks_asked_for(const std::vector<std::string>& ids,
                                                      const JobView& view);

[[nodiscard]] JobReason effective_reason(const JobView& view);
// The reason's name, or its description where there is one; of several tasks each once, with commas
// between.
[[nodiscard]] std::string reason_with_detail(const JobView& view);
// "(Priority)" of a job that waits or failed, else its nodes: squeue's %R.
void append_reason_or_nodes(const JobView& view, std::string& out);

[[nodiscard]] std::string_view shown_partition(const JobView& view);
[[nodiscard]] std::string_view allocated_nodes(const JobView& view);
[[nodiscard]] uint32_t num_nodes(const JobView& view);
[[nodiscard]] uint32_t num_cpus(const JobView& view);
[[nodiscard]] uint32_t num_tasks(const JobView& view);
// Not of a job that never ran and did not say how many tasks it has.
[[nodiscard]] bool has_task_count(const JobView& view);
// How long few switches are waited for, as --switches said it; zero where it gave no time, and
// without a bound where what it gave is none.
[[nodiscard]] Duration switch_wait(const JobSpec& spec);
// Those of --mincpus and of the tasks of a node; with --overcommit these share the CPUs of one.
[[nodiscard]] uint32_t min_cpus_per_node(const JobSpec& spec);
[[nodiscard]] inline uint32_t min_cpus_per_node(const JobView& view) {
  return min_cpus_per_node(view.spec());
}
// What each task of a job or step has: CPUs, where --cpus-per-task says it, and generic resources
// ("cpu=2,gres/gpu:1").
template <class Spec>
[[nodiscard]] std::string each_task_has(const Spec& spec) {
  std::string out =
      spec.cpus_per_task == 0 ? std::string() : "cpu=" + std::to_string(spec.cpus_per_task);
  if (!out.empty() && !spec.tres_per_task.empty()) out += ',';
  return out.append(spec.tres_per_task.view());
}

struct JobMemory {
  uint64_t mib = 0;
  bool per_cpu = false;
};
[[nodiscard]] JobMemory job_memory(const JobView& view);

// Where other things are waited for, too: the begin that was asked for.
[[nodiscard]] Time job_eligible(const JobView& view);
// Since when its priority grows with its age; of a job that is queued again, when it may begin.
[[nodiscard]] Time job_accrue(const JobView& view);
[[nodiscard]] Time job_start(const JobView& view);  // a forecast while it waits; kNoTime: unknown
[[nodiscard]] Time job_end(const JobView& view);    // kNoTime: unknown, kNever: no limit
[[nodiscard]] Duration run_time(const JobView& view, Time now);
[[nodiscard]] uint32_t job_priority(const JobView& view);

// "EXIT:SIGNAL" of a wait(2) status.
[[nodiscard]] std::string exit_code_text(int32_t status);

enum class StandardFile { kIn, kOut, kErr };
// The path with its patterns filled in, absolute. Of kErr empty when it goes where kOut goes; empty
// for a job without a batch script.
[[nodiscard]] std::string standard_path(const JobView& view, StandardFile file);

// "gres/gpu:1" or what stands for nothing.
[[nodiscard]] std::string_view or_else(std::string_view text, std::string_view nothing);

// The oversubscription asked for, as squeue's %h and scontrol's OverSubscribe= and Exclusive=.
[[nodiscard]] std::string_view oversubscribe_text(Sharing sharing);
// Of a job that waits or runs: its partition may make it share.
[[nodiscard]] std::string_view oversubscribe_text(const JobView& view);
[[nodiscard]] std::string_view exclusive_text(Sharing sharing);

}  // namespace sluice
