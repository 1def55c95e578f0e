#include "ctld/query/priority_query.hpp"

#include <algorithm>

#include "common/base/contains.hpp"

namespace sluice::ctld {
namespace {

constexpr size_t kChunkRecords = 2'000;

// Of a list in order.
template <class T>
bool passes(const std::vector<T>& wanted, const T& one) {
  return wanted.empty() || std::ranges::binary_search(wanted, one);
}

protocol::QueryPrioritiesRequest in_order(protocol::QueryPrioritiesRequest request) {
  std::ranges::sort(request.jobs);
  std::ranges::sort(request.uids);
  std::ranges::sort(request.partitions);
  return request;
}

}  // namespace

PriorityQuery::PriorityQuery(protocol::QueryPrioritiesRequest request, uint32_t uid,
                             state::ClusterSnapshot state, sched::Policies policies, Time now)
    : request_(in_order(std::move(request))),
      state_(std::move(state)),
      policies_(std::move(policies)),
      now_(now),
      calculates_running_(has_option(state_->config->priority_flags, "CALCULATE_RUNNING")),
      accrues_always_(has_option(state_->config->priority_flags, "ACCRUE_ALWAYS")),
      visible_(*state_, uid) {}

bool PriorityQuery::is_wanted(const Job& job) const {
  const bool runs = calculates_running_ && job.state == JobState::kRunning;
  if (job.state != JobState::kPending && !runs) return false;
  const bool may_start =
      accrues_always_ ? job.hold == HoldKind::kNone : state::is_eligible(job, now_);
  if (!runs && !may_start) return false;
  if (!visible_.contains(job)) return false;
  return passes(request_.uids, job.spec->uid) && passes(request_.jobs, job.id);
}

void PriorityQuery::add(const Job& job, std::vector<protocol::PriorityRecord>& out) const {
  std::vector<std::string> names = {job.partition.str()};
  if (job.state == JobState::kPending) names = state::partitions_of(*state_, job);
  for (const std::string& name : names) {
    const state::Partition* partition = state::find_partition(*state_, name);
    if (partition == nullptr || !passes(request_.partitions, name)) continue;
    auto weighed = policies_.priority->weigh(job, *partition->config, now_);
    if (!weighed) return;
    protocol::PriorityRecord& record = out.emplace_back();
    record.job = job.id;
    record.partition = name;
    record.uid = job.spec->uid;
    record.account = job.spec->account.str();
    record.qos = job.spec->qos.str();
    record.priority = weighed->priority;
    record.fixed = sched::has_fixed_priority(job);
    record.nice = job.spec->nice;
    record.site_factor = job.spec->site_factor;
    record.sum = weighed->sum;
    record.factors = std::move(weighed->factors);
  }
}

Result<std::optional<protocol::PriorityChunk>> PriorityQuery::next() {
  if (done_) return std::optional<protocol::PriorityChunk>();
  protocol::PriorityChunk chunk;
  chunk.priority_type = state_->config->priority_type;
  chunk.weights = policies_.priority->weights();
  chunk.tres_weights = state_->config->priority_weight_tres;
  while (chunk.records.size() < kChunkRecords) {
    at_ = state_->jobs.next_id(at_);
    if (at_ == UINT32_MAX) {
      done_ = true;
      break;
    }
    const Job& job = state_->jobs.at(at_++);
    if (is_wanted(job)) add(job, chunk.records);
  }
  return std::optional(std::move(chunk));
}

}  // namespace sluice::ctld
