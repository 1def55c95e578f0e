#include "cli/sacct/current_jobs.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/format/job_values.hpp"
#include "common/history/history_filter.hpp"
#include "common/history/job_identity.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/job_states.hpp"
#include "common/names/step_names.hpp"

namespace sluice::cli {
namespace {

std::string text(const SharedText& shared) { return std::string(shared.view()); }

// "cpu=4,mem=400M,node=1,billing=4" by name.
NamedTresList tres_of(std::string_view list) {
  NamedTresList out;
  for (const std::string& one : split_list(list)) {
    const size_t equals = one.rfind('=');
    if (equals == std::string::npos) continue;
    const std::string name = one.substr(0, equals), count = one.substr(equals + 1);
    const auto number = name == "mem" ? parse_memory(count) : to_number<uint64_t>(count);
    if (number) out.push_back({name, *number});
  }
  std::ranges::sort(out, {}, &NamedTres::name);
  return out;
}

uint32_t count_of(const NamedTresList& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &NamedTres::name);
  return found != list.end() ? static_cast<uint32_t>(found->count) : 0;
}

}  // namespace

JobHistory current_history(const protocol::JobRecord& record) {
  const Job& job = record.job;
  const JobSpec& spec = *job.spec;
  JobHistory out;
  set_identity(out, job);
  out.uid = spec.uid;
  out.gid = spec.gid;
  out.user = text(spec.user_name);
  out.group = text(spec.group_name);
  out.name = text(spec.name);
  out.account = text(spec.account);
  out.partition = text(job.partition.empty() ? spec.partitions : job.partition);
  out.qos = out.qos_asked = text(spec.qos);
  if (runs_softly(job.account.get())) out.qos_asked = text(job.account->own_qos);
  out.wckey = text(spec.wckey);
  out.comment = text(spec.comment);
  out.constraint = text(spec.constraint);
  out.licenses = text(spec.licenses);
  out.reservation = text(reservation_of(job));
  out.requested_reservations = text(spec.reservation);
  out.sharing = spec.sharing;
  out.submit_line = text(spec.submit_line);
  out.work_dir = text(spec.work_dir);
  out.std_in = text(spec.std_in);
  out.std_out = text(spec.std_out);
  out.std_err = text(spec.std_err);
  out.state = job.state;
  out.flags = job.flags;
  out.reason =
      std::string(reason_text(job.reason != JobReason::kNone ? job.reason : record.soft.reason));
  out.exit_status = job.exit_status;
  out.derived_exit_status = job.derived_exit_status;
  out.ended_by = job.cancelled_by;
  out.submit = job.submit;
  out.eligible = job.eligible;
  if (job.allocation != nullptr) out.start = job.start;
  if (is_terminal(job.state)) out.end = job.end;
  out.time_limit = job.time_limit;
  out.priority = std::max(job.priority, record.soft.priority);
  out.requested_tres = tres_of(record.required_tres);
  out.allocated_tres = tres_of(record.allocated_tres);
  out.requested_cpus = count_of(out.requested_tres, "cpu");
  out.requested_nodes = count_of(out.requested_tres, "node");
  out.requested_memory_mib = count_of(out.requested_tres, "mem");
  if (const JobMemory memory = job_memory({&record}); memory.per_cpu)
    out.requested_memory_per_cpu_mib = memory.mib;
  out.cpus = count_of(out.allocated_tres, "cpu");
  out.node_count = count_of(out.allocated_tres, "node");
  if (job.allocation != nullptr) out.nodes = job.allocation->node_list;
  out.batch = spec.batch;
  return out;
}

namespace {

StepHistory history_of(const Step& step) {
  StepHistory out;
  out.id = step.id;
  const bool numbered = step.spec != nullptr && step.id.step <= kMaxNormalStep;
  out.name = numbered ? text(step.spec->name) : step_number_text(step.id.step);
  out.state = step.state == StepState::kPending ? StepState::kRunning : step.state;
  out.start = step.start;
  out.ended_by = step.cancelled_by;
  if (step.spec != nullptr) {
    out.submit_line = text(step.spec->submit_line);
    out.layout = text(step.spec->distribution);
  }
  if (step.layout == nullptr) return out;
  out.nodes = step.layout->node_list;
  out.node_count = static_cast<uint32_t>(step.layout->nodes.size());
  out.tasks = std::max(step.layout->num_tasks, 1U);
  uint64_t memory = 0;
  for (const StepNode& node : step.layout->nodes) {
    out.cpus += node.cpus;
    memory += node.memory_mib;
  }
  out.allocated_tres = {{"cpu", out.cpus}, {"mem", memory}, {"node", out.node_count}};
  if (memory == 0) out.allocated_tres.erase(out.allocated_tres.begin() + 1);
  return out;
}

}  // namespace

Status stream_current_jobs(Client& client, const protocol::QueryHistoryRequest& request,
                           const std::function<void(protocol::HistoryChunk&&)>& take) {
  const auto filter = history::Filter::make(request);
  if (!filter) return tl::unexpected<Error>(filter.error());
  protocol::QueryJobsRequest asked;
  asked.hidden_partitions = asked.all_states = asked.steps = true;
  return client.query_jobs(asked, [&](protocol::JobChunk&& jobs) {
    protocol::HistoryChunk chunk;
    chunk.now = jobs.now;
    for (const protocol::JobRecord& record : jobs.jobs) {
      protocol::HistoryJob out{client.config().cluster_name, 0, current_history(record), {}};
      if (!filter->matches(out.job)) continue;
      if (record.job.account != nullptr) out.association = record.job.account->association;
      const history::WantedSteps wanted = filter->steps_of(out.job);
      for (const auto& step : record.job.steps) {
        if (!request.steps || !wanted.contains(step->id.step)) continue;
        if (StepHistory shown = history_of(*step); filter->in_time(shown))
          out.steps.push_back(std::move(shown));
      }
      std::ranges::stable_sort(out.steps, std::greater<>(), [](const StepHistory& step) {
        return step.id.step > kMaxNormalStep ? 1 : 0;
      });
      chunk.jobs.push_back(std::move(out));
    }
    take(std::move(chunk));
    return true;
  });
}

}  // namespace sluice::cli
