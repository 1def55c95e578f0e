// The filters of jobs, one by one.
#include "ctld/state/job_filter.hpp"

#include <algorithm>

#include "common/base/text.hpp"

namespace sluice::state {
namespace {

template <class List>
bool in_list(const List& list, std::string_view value) {
  return list.empty() || std::ranges::any_of(list, [&](const auto& one) { return one == value; });
}

bool any_in_list(const std::vector<std::string>& list, std::string_view comma_list) {
  if (list.empty()) return true;
  return std::ranges::any_of(split_list(comma_list),
                             [&](const auto& value) { return in_list(list, value); });
}

// By name: --licenses=matlab finds a job that has "solver,matlab:2", --licenses=matlab:2 none.
bool any_license_in_list(const std::vector<std::string>& list, std::string_view licenses) {
  if (list.empty()) return true;
  return std::ranges::any_of(split_list(licenses), [&](const std::string& license) {
    return in_list(list, std::string_view(license).substr(0, license.find(':')));
  });
}

bool names_job(const JobTarget& target, const Job& job) {
  if (target.component) {
    return job.het != nullptr && job.het->offset == *target.component &&
           (target.job == job.het->leader || target.job == job.id);
  }
  if (job.het != nullptr && target.job == job.het->leader && !target.tasks) return true;
  if (!job.array) return target.job == job.id && !target.tasks;
  if (!target.tasks) return target.job == job.id || target.job == job.array->array_job;
  if (target.job != job.array->array_job) return false;
  if (job.array->task != kNoTask) return target.tasks->contains(job.array->task);
  return target.tasks->intersects(job.array->pending);
}

}  // namespace

std::string_view filtered_partitions(const Job& job) {
  const bool pending = job.state == JobState::kPending;
  return pending && !job.spec->partitions.empty() ? job.spec->partitions.view()
                                                  : job.partition.view();
}

Result<JobFilter> JobFilter::make(const ClusterState& state,
                                  protocol::QueryJobsRequest request,
                                  uint32_t uid) {
  JobFilter filter;
  for (const std::string& text : request.ids) {
    auto target = parse_target(text);
    if (!target) return tl::unexpected(target.error());
    filter.targets_.push_back(std::move(*target));
  }
  if (!request.nodes.empty()) {
    auto nodes = resolve_nodes(state, request.nodes);
    if (!nodes) return tl::unexpected(nodes.error());
    filter.nodes_ = std::move(*nodes);
  }
  if (has_option(state.config->private_data, "jobs") && !is_admin(state, uid))
    filter.only_of_ = uid;
  filter.request_ = std::move(request);
  return filter;
}

bool JobFilter::names(const Job& job) const {
  return targets_.empty() || std::ranges::any_of(targets_, [&](const JobTarget& target) {
           return names_job(target, job);
         });
}

// squeue shows what has not ended unless it is asked for states.
bool JobFilter::passes_state(const Job& job) const {
  if (request_.all_states) return true;
  if (request_.states.empty() && request_.flag_states == 0) return !is_finished(job);
  if ((job.flags & request_.flag_states) != 0) return true;
  const bool has_another = (job.flags & (kJobCompleting | kJobStopped)) != 0;
  return !has_another && std::ranges::find(request_.states, job.state) != request_.states.end();
}

bool JobFilter::passes(const Job& job) const {
  const JobSpec& spec = *job.spec;
  const auto& r = request_;
  if (!sees(job) || !passes_state(job)) return false;
  if (!r.uids.empty() && std::ranges::find(r.uids, spec.uid) == r.uids.end()) return false;
  const bool texts = in_list(r.accounts, spec.account) && in_list(r.qos, spec.qos) &&
                     in_list(r.names, spec.name) && in_list(r.reservations, reservation_of(job)) &&
                     any_license_in_list(r.licenses, spec.licenses) &&
                     in_list(r.wckeys, spec.wckey);
  if (!texts || !any_in_list(r.partitions, filtered_partitions(job))) return false;
  if (!nodes_) return true;
  if (!job.allocation || is_finished(job)) return false;
  return std::ranges::any_of(job.allocation->nodes,
                             [&](const auto& a) { return nodes_->test(a.node); });
}

}  // namespace sluice::state
