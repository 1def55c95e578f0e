#include "ctld/rpc/job_query.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/tables/gres_env.hpp"
#include "ctld/fit/needs.hpp"
#include "ctld/state/batch_host.hpp"
#include "ctld/state/fold.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kChunkJobs = 500;

template <class List>
bool in_list(const List& list, std::string_view value) {
  return list.empty() || std::ranges::any_of(list, [&](const auto& one) { return one == value; });
}

bool any_in_list(const std::vector<std::string>& list, std::string_view comma_list) {
  if (list.empty()) return true;
  return std::ranges::any_of(split_list(comma_list), [&](const auto& value) { return in_list(list, value); });
}

// By name: --licenses=matlab finds a job that has "solver,matlab:2", --licenses=matlab:2 none.
bool any_license_in_list(const std::vector<std::string>& list, std::string_view licenses) {
  if (list.empty()) return true;
  return std::ranges::any_of(split_list(licenses), [&](const std::string& license) {
    return in_list(list, std::string_view(license).substr(0, license.find(':')));
  });
}

// Whoever has the key of srun's port can speak for its tasks; it is told to nobody who only looks.
std::shared_ptr<const Step> without_key(const std::shared_ptr<const Step>& step) {
  if (step->spec == nullptr || step->spec->io.key.empty()) return step;
  auto spec = std::make_shared<StepSpec>(*step->spec);
  spec->io.key.clear();
  auto out = std::make_shared<Step>(*step);
  out->spec = std::move(spec);
  return out;
}

// While the scheduler has not seen it.
uint32_t priority_before_a_pass(const Job& job) {
  if (job.state == JobState::kPending && job.hold != HoldKind::kNone) return 0;
  return job.spec->priority == UINT32_MAX ? 1 : job.spec->priority;
}

std::string tres_text(uint64_t cpus, uint64_t memory_mib, uint64_t nodes) {
  std::string out = fmt::format("cpu={}", cpus);
  if (memory_mib > 0) out += ",mem=" + format_memory(memory_mib);
  return out + fmt::format(",node={},billing={}", nodes, cpus);
}

}  // namespace

std::string allocated_tres(const Job& job, const ClusterConfig& config) {
  if (!job.allocation) return {};
  uint64_t memory = 0;
  for (const NodeAllocation& a : job.allocation->nodes) memory += a.memory_mib;
  GresShares gres;
  for (const NodeAllocation& a : job.allocation->nodes) {
    for (const GresShare& share : a.gres) add_shares(gres, {{share.name, share.type, share.count, {}, {}}});
  }
  return tres_text(job.allocation->cpus, memory, job.allocation->nodes.size()) +
         gres_tres(gres, config.accounting_storage_tres);
}

namespace {

// That of the job, or where there is none of this name any more, the default; null without either.
const state::Partition* partition_of(const state::ClusterState& state, const Job& job) {
  const state::Partition* partition = state::find_partition(state, job.partition);
  return partition != nullptr ? partition : state::default_partition(state);
}

}  // namespace

std::string required_tres(const state::ClusterState& state, const Job& job) {
  const state::Partition* partition = partition_of(state, job);
  if (partition == nullptr) return {};
  const auto needs = fit::needs_of(*job.spec, *partition->config, *state.config);
  if (!needs) return {};
  const uint64_t cpus = std::max(needs->min_cpus, needs->min_nodes * needs->min_cpus_per_node);
  const uint64_t memory = needs->memory_per_cpu_mib > 0 ? needs->memory_per_cpu_mib * cpus
                                                        : needs->memory_per_node_mib * needs->min_nodes;
  const uint32_t tasks = (needs->tasks + needs->min_nodes - 1) / needs->min_nodes;
  const std::vector<uint64_t> on_node = fit::gres_counts(*needs, tasks, {});
  GresShares gres;
  for (size_t i = 0; i < on_node.size(); ++i) {
    const fit::GresNeed& need = needs->gres[i];
    const uint64_t by_task = need.per_task * needs->tasks;
    const uint64_t all = need.per_job > 0 ? need.per_job : by_task > 0 && need.per_node == 0 ? by_task : on_node[i] * needs->min_nodes;
    gres.push_back({need.name, need.type, all, {}, {}});
  }
  return tres_text(cpus, memory, needs->min_nodes) + gres_tres(gres, state.config->accounting_storage_tres);
}

JobQuery::JobQuery(protocol::QueryJobsRequest request,
                   Asker asker,
                   state::ClusterSnapshot state,
                   std::shared_ptr<const sched::SoftView> soft,
                   Time now)
    : request_(std::move(request)), asker_(std::move(asker)), state_(std::move(state)), soft_(std::move(soft)), now_(now) {}

Status JobQuery::parse_ids() {
  parsed_ = true;
  for (const std::string& text : request_.ids) {
    Wanted wanted;
    const size_t mark = text.find_first_of("_+");
    const auto id = to_number<JobId>(std::string_view(text).substr(0, mark));
    if (!id) return failure(ErrorCode::kInvalidJobId);
    wanted.job = *id;
    if (mark != std::string::npos && text[mark] == '+') {
      wanted.component = to_number<uint32_t>(std::string_view(text).substr(mark + 1));
      if (!wanted.component) return failure(ErrorCode::kInvalidJobId);
    } else if (mark != std::string::npos) {
      const auto set = IndexSet::parse_tasks(std::string_view(text).substr(mark + 1));
      if (!set) return failure(ErrorCode::kInvalidJobId);
      wanted.tasks_given = true;
      wanted.tasks = *set;
    }
    ids_.push_back(std::move(wanted));
  }
  if (request_.nodes.empty()) return {};
  auto nodes = state::resolve_nodes(*state_, request_.nodes);
  if (!nodes) return tl::unexpected(nodes.error());
  nodes_ = std::move(*nodes);
  return {};
}

bool JobQuery::matches_id(const Job& job) const {
  if (ids_.empty()) return true;
  return std::ranges::any_of(ids_, [&](const Wanted& wanted) {
    if (wanted.component) {
      return job.het != nullptr && job.het->offset == *wanted.component &&
             (wanted.job == job.het->leader || wanted.job == job.id);
    }
    if (job.het != nullptr && wanted.job == job.het->leader && !wanted.tasks_given) return true;
    if (!job.array) return wanted.job == job.id && !wanted.tasks_given;
    if (wanted.tasks_given) {
      if (wanted.job != job.array->array_job) return false;
      if (job.array->task != kNoTask) return wanted.tasks.contains(job.array->task);
      return wanted.tasks.intersects(job.array->pending);
    }
    return wanted.job == job.id || wanted.job == job.array->array_job;
  });
}

// Whether the id names the job or its array; a task that the array lacks is nothing found, no error.
bool JobQuery::is_of(const Job& job, JobId id) {
  return job.id == id || (job.array != nullptr && job.array->array_job == id);
}

// squeue shows what has not ended unless it is asked for states.
bool JobQuery::matches_state(const Job& job) const {
  if (request_.all_states) return true;
  if (request_.states.empty() && request_.flag_states == 0) return !is_finished(job);
  if ((job.flags & request_.flag_states) != 0) return true;
  const bool has_another = (job.flags & (kJobCompleting | kJobStopped)) != 0;
  return !has_another && std::ranges::find(request_.states, job.state) != request_.states.end();
}

bool JobQuery::matches(const Job& job) const {
  const JobSpec& spec = *job.spec;
  const auto& r = request_;
  if (!matches_id(job) || !matches_state(job)) return false;
  if (!r.uids.empty() && std::ranges::find(r.uids, spec.uid) == r.uids.end()) return false;
  const bool names = in_list(r.accounts, spec.account) && in_list(r.qos, spec.qos) && in_list(r.names, spec.name) &&
                     in_list(r.reservations, reservation_of(job)) && any_license_in_list(r.licenses, spec.licenses);
  if (!names) return false;
  const bool pending = job.state == JobState::kPending;
  const std::string_view partitions = pending && !spec.partitions.empty() ? spec.partitions.view() : job.partition.view();
  if (!any_in_list(r.partitions, partitions)) return false;
  if (nodes_) {
    if (!job.allocation || is_finished(job)) return false;
    if (std::ranges::none_of(job.allocation->nodes, [&](const auto& a) { return nodes_->test(a.node); })) return false;
  }
  // Slurm shows a job that it is asked for, but not its steps, and one that waits for any of several partitions
  const bool named = !ids_.empty() && !r.steps;
  return named || partitions.find(',') != std::string_view::npos || !contains(asker_.unseen, partitions);
}

protocol::JobRecord JobQuery::record(const Job& job) const {
  protocol::JobRecord out;
  out.job = job;
  out.job.ended_requests.clear();  // of no use to anybody else
  if (!request_.steps) out.job.steps.clear();
  for (auto& step : out.job.steps) step = without_key(step);
  if (const JobSoft* soft = soft_->find(job.id); soft != nullptr && job.state == JobState::kPending) out.soft = *soft;
  else out.soft.priority = priority_before_a_pass(job);
  if (out.soft.last_evaluated == kNoTime) out.soft.last_evaluated = job.start != kNoTime ? job.start : job.submit;
  if (job.allocation && !job.allocation->nodes.empty()) {
    const Node* host = state_->nodes.find(job.allocation->nodes[state::batch_position(*state_, job)].node);
    if (host != nullptr) out.batch_host = host->name;
  }
  out.dependency = job.dependency.str();
  out.required_tres = required_tres(*state_, job);
  out.allocated_tres = allocated_tres(job, *state_->config);
  const state::Partition* partition = partition_of(*state_, job);
  if (partition != nullptr && job.spec->memory_kind == MemoryKind::kDefault) {
    const fit::DefaultMemory usual = fit::default_memory(*partition->config, *state_->config);
    out.default_memory_kind = usual.kind;
    out.default_memory_mib = usual.mib;
  }
  return out;
}

Result<std::optional<protocol::JobChunk>> JobQuery::next() {
  if (!parsed_) {
    if (auto ok = parse_ids(); !ok) return tl::unexpected(ok.error());
  }
  if (done_) return std::optional<protocol::JobChunk>();
  protocol::JobChunk chunk;
  chunk.now = now_;
  // most questions are not about what has ended
  const bool folded = request_.all_states || !request_.states.empty() || ids_.size() == 1;
  const bool own_only = has_option(state_->config->private_data, "jobs") && !state::is_admin(*state_, asker_.uid);
  while (chunk.jobs.size() < kChunkJobs) {
    at_ = folded ? state::next_job(*state_, at_) : state_->jobs.next_id(at_);
    if (at_ == UINT32_MAX) {
      done_ = true;
      break;
    }
    const state::FoundJob found = state::find_job(*state_, at_++);
    const Job& job = *found;
    if (own_only && job.spec->uid != asker_.uid) continue;  // as if it were not there
    if (matches(job)) chunk.jobs.push_back(record(job));
    else any_ = any_ || (ids_.size() == 1 && is_of(job, ids_[0].job));
  }
  any_ = any_ || !chunk.jobs.empty();
  if (done_ && !any_ && ids_.size() == 1 && request_.missing_is_error) return failure(ErrorCode::kInvalidJobId);
  return std::optional(std::move(chunk));
}

}  // namespace sluice::ctld
