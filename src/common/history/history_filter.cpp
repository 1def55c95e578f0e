#include "common/history/history_filter.hpp"

#include <algorithm>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"

namespace sluice::history {
namespace {

template <class T>
bool in(const std::vector<T>& list, const T& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

// Of what is a list itself (a pending job's partitions) one is enough.
bool any_in(const std::vector<std::string>& list, std::string_view values) {
  if (list.empty()) return true;
  for (const std::string& value : split_list(values)) {
    if (std::ranges::any_of(list, [&](const std::string& one) { return iequals(one, value); }))
      return true;
  }
  return false;
}

bool in_range(const protocol::HistoryRange& range, uint32_t value) {
  if (range.least == 0 && range.most == 0) return true;
  return value >= range.least && value <= std::max(range.least, range.most);
}

bool is_over_before(const JobHistory& job, Time time) {
  return job.end != kNoTime && job.end < time;
}

bool was_in(JobState state, const JobHistory& job, Time from, Time until) {
  switch (state) {
    case JobState::kPending:
      if (job.eligible == kNoTime) return job.end == kNoTime && job.start == kNoTime;
      return job.eligible <= until && (job.start == kNoTime || job.start > from) &&
             (job.end == kNoTime || job.end > from);
    case JobState::kRunning:
      return job.start != kNoTime && job.start <= until && !is_over_before(job, from) &&
             !(job.end != kNoTime && job.end == job.start && job.start < from);
    case JobState::kSuspended:  // when it stood still is not kept, but for how long
      return (job.state == JobState::kSuspended || job.suspended > Duration(0)) &&
             job.start <= until && !is_over_before(job, from);
    default: return job.state == state && !was_requeued(job) && job.end >= from && job.end <= until;
  }
}

}  // namespace

bool was_requeued(const JobHistory& job) {
  if ((job.flags & kJobRequeued) == 0 || job.end == kNoTime) return false;
  const bool by_exit_code =  // RequeueExit
      job.state == JobState::kFailed && (job.flags & kJobLaunchFailed) == 0;
  return job.state == JobState::kCancelled || by_exit_code;
}

bool was_there(const JobHistory& job, const protocol::QueryHistoryRequest& request) {
  const Time from = request.from, until = request.until;
  if (request.states.empty() && request.flags == 0) {
    // who was held all the time is shown to those who name it
    if (job.eligible == kNoTime && request.jobs.empty()) return false;
    return (job.eligible == kNoTime ? job.submit : job.eligible) <= until &&
           !is_over_before(job, from);
  }
  JobFlags flags = job.flags;
  if (!was_requeued(job)) flags &= ~kJobRequeued;
  if ((flags & request.flags) != 0 && job.submit <= until && !is_over_before(job, from))
    return true;
  return std::ranges::any_of(request.states,
                             [&](JobState state) { return was_in(state, job, from, until); });
}

bool is_named(const JobHistory& job, const protocol::HistoryJobName& name) {
  return JobNames({name}).contains(job);
}

JobNames::JobNames(const std::vector<protocol::HistoryJobName>& names) {
  for (const protocol::HistoryJobName& name : names) {
    const uint32_t offset = name.task == kNoTask ? name.offset : protocol::kNoOffset;
    steps_[{name.job, name.task, offset}].insert(name.step);
  }
}

template <class Take>
void JobNames::each_of(const JobHistory& job, Take take) const {
  const auto goes_on = [&](const Key& key) {
    const auto found = steps_.find(key);
    return found == steps_.end() || take(found->second);
  };
  if (!goes_on({job.id})) return;
  if (job.array_job != kNoJob && job.array_job != job.id && !goes_on({job.array_job})) return;
  if (job.het_job != kNoJob) {
    if (job.het_job != job.id && !goes_on({job.het_job})) return;
    if (!goes_on({job.het_job, kNoTask, job.het_offset})) return;
  }
  if (job.array_job == kNoJob) return;
  if (job.array_task != kNoTask) return (void)goes_on({job.array_job, job.array_task});
  auto at = steps_.lower_bound({job.array_job, 0, 0});
  const auto is_task = [&] {
    return at != steps_.end() && at->first.job == job.array_job && at->first.task != kNoTask;
  };
  if (!is_task()) return;
  const size_t limit = job.array_tasks.find('%');
  const auto tasks = IndexSet::parse(std::string_view(job.array_tasks).substr(0, limit));
  if (!tasks) return;
  for (; is_task(); ++at)
    if (tasks->contains(at->first.task) && !take(at->second)) return;
}

bool JobNames::contains(const JobHistory& job) const {
  bool found = false;
  each_of(job, [&](const Steps&) {
    found = true;
    return false;
  });
  return found;
}

WantedSteps JobNames::steps_of(const JobHistory& job) const {
  WantedSteps out;
  out.all_ = empty();
  if (out.all_) return out;
  each_of(job, [&](const Steps& steps) {
    out.all_ = steps.contains(UINT32_MAX);
    if (!out.all_) out.numbers_.insert(steps.begin(), steps.end());
    return !out.all_;
  });
  return out;
}

Result<Filter> Filter::make(protocol::QueryHistoryRequest request) {
  Filter filter(std::move(request));
  if (!filter.request_.nodes.empty()) {
    auto names = expand_hosts(filter.request_.nodes);
    if (!names) return failure(ErrorCode::kInvalidNodeName, names.error().text);
    filter.nodes_.insert(names->begin(), names->end());
  }
  return filter;
}

bool Filter::matches(const JobHistory& job) const {
  return in(request_.uids, job.uid) && in(request_.gids, job.gid) && was_there(job, request_) &&
         matches_names(job) && matches_sizes(job) && matches_nodes(job);
}

bool Filter::matches_names(const JobHistory& job) const {
  const protocol::QueryHistoryRequest& r = request_;
  if (!jobs_.empty() && !jobs_.contains(job)) return false;
  return any_in(r.accounts, job.account) && any_in(r.partitions, job.partition) &&
         any_in(r.qos, job.qos) && in(r.names, job.name) && any_in(r.wckeys, job.wckey) &&
         any_in(r.reasons, job.reason) && any_in(r.reservations, job.reservation) &&
         (r.constraints.empty() || std::ranges::any_of(r.constraints, [&](const std::string& one) {
            return job.constraint.find(one) != std::string::npos;
          }));
}

bool Filter::matches_sizes(const JobHistory& job) const {
  return in_range(request_.cpus, job.cpus) && in_range(request_.node_count, job.node_count) &&
         in_range(request_.time_limit, job.time_limit);
}

bool Filter::matches_nodes(const JobHistory& job) const {
  if (nodes_.empty()) return true;
  const auto names = expand_hosts(job.nodes);
  return names && std::ranges::any_of(
                      *names, [&](const std::string& name) { return nodes_.contains(name); });
}

}  // namespace sluice::history
