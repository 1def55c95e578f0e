#include "ctld/query/job_query.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/environment/gres_env.hpp"
#include "ctld/fit/needs.hpp"
#include "ctld/query/record_size.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/rules/batch_host.hpp"
#include "ctld/state/rules/requested_tres.hpp"
#include "ctld/state/rules/room.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kChunkJobs = 500;
// about; a chunk has at most this and one record more
constexpr size_t kChunkBytes = kMostRecordBytes;

// What no stranger has a use for: a hash would tell who guesses them what is in a script or an
// environment.
template <class Spec>
void clear_private(Spec& spec) {
  spec.environment_blob = {};
  spec.limits.clear();
  spec.request_id = 0;
}

// Whoever has the key of srun's port can speak for its tasks; it is told to nobody who only looks.
std::shared_ptr<const Step> shown_step(const std::shared_ptr<const Step>& step, bool to_stranger) {
  if (step->spec == nullptr || (step->spec->io.key.empty() && !to_stranger)) return step;
  auto spec = std::make_shared<StepSpec>(*step->spec);
  spec->io.key.clear();
  if (to_stranger) clear_private(*spec);
  auto out = std::make_shared<Step>(*step);
  out->spec = std::move(spec);
  return out;
}

// Of a job that does not wait: it keeps what it started with.
uint32_t kept_priority(const Job& job) {
  if (job.state == JobState::kPending) return 0;  // it is held
  if (job.spec->priority != UINT32_MAX) return job.spec->priority;
  return std::max(1U, job.priority);
}

std::string tres_text(const state::ClusterState& state, const Job& job,
                      const state::TresCounts& tres, uint64_t billing) {
  std::string out = fmt::format("cpu={}", tres.cpus);
  if (tres.memory_mib > 0) out += ",mem=" + format_memory(tres.memory_mib);
  return out + fmt::format(",node={},billing={}", tres.nodes, billing) +
         gres_tres(tres.gres, state.config->accounting_storage_tres) +
         license_tres(job.spec->licenses.view(), state.config->accounting_storage_tres);
}

}  // namespace

std::string allocated_tres(const state::ClusterState& state, const Job& job) {
  if (!job.allocation) return {};
  const state::TresCounts tres = state::allocated_tres(*job.allocation);
  return tres_text(state, job, tres, state::shown_billing(state, job, tres));
}

namespace {

// That of the job, or where there is none of this name any more, the default; null without either.
const state::Partition* partition_of(const state::ClusterState& state, const Job& job) {
  const state::Partition* partition = state::find_partition(state, job.partition);
  return partition != nullptr ? partition : state::default_partition(state);
}

// What the partition makes of --exclusive is told once the job has its nodes.
void set_sharing(const Job& job, const PartitionConfig& partition, protocol::JobRecord& out) {
  const Sharing asked = job.spec->sharing;
  const bool overruled =
      asked == Sharing::kDefault || (fit::asks_alone(asked) && job.allocation != nullptr);
  out.shares_by_force = overruled && state::sharers_of(partition, *job.spec) > 1;
  out.alone_by_force =
      job.allocation != nullptr && partition.over_subscribe == OverSubscribe::kExclusive;
}

}  // namespace

std::string required_tres(const state::ClusterState& state, const Job& job) {
  const state::Partition* partition = partition_of(state, job);
  if (partition == nullptr) return {};
  auto tres = state::requested_tres(*job.spec, *partition->config, *state.config);
  // all of it is what the partition's first node has, as in Slurm
  if (tres && tres->all_memory && !partition->nodes.none() &&
      fit::rules_of(*state.config).uses_memory) {
    const Node& first = state.nodes.at(static_cast<NodeId>(partition->nodes.find_first()));
    tres->memory_mib = first.config->real_memory_mib * tres->nodes;
  }
  return tres ? tres_text(state, job, *tres, state::requested_billing(state, job, *tres))
              : std::string();
}

JobQuery::JobQuery(protocol::QueryJobsRequest request, Asker asker, state::ClusterSnapshot state,
                   std::shared_ptr<const sched::SchedulerView> soft, Time now,
                   sched::Policies policies)
    : request_(std::move(request)),
      asker_(std::move(asker)),
      state_(std::move(state)),
      soft_(std::move(soft)),
      now_(now),
      policies_(policies.priority ? std::move(policies) : sched::make_policies(*state_)),
      calculates_running_(has_option(state_->config->priority_flags, "CALCULATE_RUNNING")),
      accrues_always_(has_option(state_->config->priority_flags, "ACCRUE_ALWAYS")) {}

// Whether the id names the job or its array; a task that the array lacks is nothing found, no
// error.
bool JobQuery::is_of(const Job& job, JobId id) {
  return job.id == id || (job.array != nullptr && job.array->array_job == id);
}

// Slurm shows a job that it is asked for, but not its steps, and one that waits for any of several
// partitions.
bool JobQuery::is_shown(const Job& job) const {
  const std::string_view partitions = state::filtered_partitions(job);
  const bool named = !filter_->targets().empty() && !request_.steps;
  return named || partitions.find(',') != std::string_view::npos ||
         !contains(asker_.unseen, partitions);
}

// As it is shown: the partitions of a job that waits as they are tried, of the highest tier first;
// who is mailed with the domain where only the user says who that is. Less of it for others than
// its owner and administrators.
std::shared_ptr<const JobSpec> JobQuery::shown_spec(const Job& job, bool to_stranger) const {
  const JobSpec& spec = *job.spec;
  const auto tier = [&](const std::string& name) {
    const state::Partition* partition = state::find_partition(*state_, name);
    return partition != nullptr ? partition->config->priority_tier : 0;
  };
  const std::string& domain = state_->config->mail_domain;
  const bool several =
      job.state == JobState::kPending && spec.partitions.view().find(',') != std::string_view::npos;
  const bool mailed = !domain.empty() && !spec.mail_type.empty() && spec.mail_user.empty();
  if (!several && !mailed && !to_stranger) return job.spec;
  auto shown = std::make_shared<JobSpec>(spec);
  if (to_stranger) {
    shown->script_blob = {};
    clear_private(*shown);
  }
  if (several) {
    std::vector<std::string> names = split_list(spec.partitions.view());
    std::ranges::stable_sort(names, std::greater<>(), tier);
    shown->partitions = fmt::format("{}", fmt::join(names, ","));
  }
  if (mailed) shown->mail_user = fmt::format("{}@{}", spec.user_name.view(), domain);
  return shown;
}

// As it is at this moment: what a pass found may be of the time before the last change.
void JobQuery::set_priority(const Job& job, protocol::JobRecord& out) const {
  const bool waits = job.state == JobState::kPending && job.hold == HoldKind::kNone;
  const bool runs = job.state == JobState::kRunning || job.state == JobState::kSuspended;
  if (accrues_always_ && job.state == JobState::kPending) out.job.accrue = job.submit;
  out.soft.priority = kept_priority(job);
  if (!waits && !(runs && calculates_running_)) return;
  const std::vector<std::string> names =
      waits ? state::partitions_of(*state_, job) : std::vector<std::string>{job.partition.str()};
  std::vector<PartitionPriority> all;
  for (const std::string& name : names) {
    const state::Partition* partition = state::find_partition(*state_, name);
    if (partition == nullptr) continue;
    all.push_back({name, sched::priority_of(*policies_.priority, job, *partition->config, now_)});
  }
  out.soft.priority = all.empty() ? 1 : all.front().priority;
  if (all.size() > 1) out.soft.by_partition = std::move(all);
}

protocol::JobRecord JobQuery::record(const Job& job) const {
  protocol::JobRecord out;
  out.job = job;
  const bool to_stranger = !state::is_owner_or_admin(*state_, job, asker_.uid);
  out.job.spec = shown_spec(job, to_stranger);
  out.job.ended_requests.clear();  // of no use to anybody else
  if (!request_.steps) out.job.steps.clear();
  for (auto& step : out.job.steps) step = shown_step(step, to_stranger);
  if (const SchedulerHints* soft = soft_->find(job.id);
      soft != nullptr && job.state == JobState::kPending)
    out.soft = *soft;
  set_priority(job, out);
  if (out.soft.last_evaluated == kNoTime)
    out.soft.last_evaluated = job.start != kNoTime ? job.start : job.submit;
  if (job.allocation && !job.allocation->nodes.empty()) {
    const Node* host =
        state_->nodes.find(job.allocation->nodes[state::batch_position(*state_, job)].node);
    if (host != nullptr) out.batch_host = host->name;
  }
  out.dependency = job.dependency.str();
  out.required_tres = required_tres(*state_, job);
  out.allocated_tres = allocated_tres(*state_, job);
  const state::Partition* partition = partition_of(*state_, job);
  if (partition != nullptr) set_sharing(job, *partition->config, out);
  if (partition != nullptr && job.spec->memory_kind == MemoryKind::kDefault) {
    const fit::DefaultMemory usual = fit::default_memory(*partition->config, *state_->config);
    out.default_memory_kind = usual.kind;
    out.default_memory_mib = usual.mib;
  }
  return out;
}

Result<std::optional<protocol::JobChunk>> JobQuery::next() {
  if (!filter_) {
    auto filter = state::JobFilter::make(*state_, request_, asker_.uid);
    if (!filter) return tl::unexpected(filter.error());
    filter_ = std::move(*filter);
    if (std::ranges::any_of(filter_->targets(),
                            [](const auto& target) { return target.step.has_value(); })) {
      return failure(ErrorCode::kInvalidJobId);
    }
  }
  if (done_) return std::optional<protocol::JobChunk>();
  protocol::JobChunk chunk;
  chunk.now = now_;
  // most questions are not about what has ended
  const auto& targets = filter_->targets();
  const bool folded = request_.all_states || !request_.states.empty() || targets.size() == 1;
  size_t bytes = 0;
  while (chunk.jobs.size() < kChunkJobs && bytes < kChunkBytes) {
    at_ = folded ? state::next_job(*state_, at_) : state_->jobs.next_id(at_);
    if (at_ == UINT32_MAX) {
      done_ = true;
      break;
    }
    const state::FoundJob found = state::find_job(*state_, at_++);
    const Job& job = *found;
    if (!filter_->sees(job)) continue;
    if (filter_->matches(job) && is_shown(job)) {
      chunk.jobs.push_back(record(job));
      bytes += cut_long_texts(chunk.jobs.back());
    } else {
      any_ = any_ || (targets.size() == 1 && is_of(job, targets[0].job));
    }
  }
  any_ = any_ || !chunk.jobs.empty();
  if (done_ && !any_ && targets.size() == 1 && request_.missing_is_error)
    return failure(ErrorCode::kInvalidJobId);
  return std::optional(std::move(chunk));
}

}  // namespace sluice::ctld
