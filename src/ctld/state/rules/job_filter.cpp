// The filters of jobs, one by one.
#include "ctld/state/rules/job_filter.hpp"

#include <algorithm>
#include <functional>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "ctld/state/core/accounting.hpp"

namespace sluice::state {
namespace {

// Lists are in order: a user may name thousands of values, and they are asked for each job.
bool in_list(const std::vector<std::string>& list, std::string_view value) {
  return list.empty() || std::binary_search(list.begin(), list.end(), value, std::less<>());
}

template <class T>
void sort_once(std::vector<T>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

void put_in_order(protocol::QueryJobsRequest& r) {
  for (auto* list :
       {&r.accounts, &r.qos, &r.names, &r.reservations, &r.licenses, &r.wckeys, &r.partitions}) {
    sort_once(*list);
  }
  sort_once(r.uids);
}

uint64_t mask_of(const std::vector<JobState>& states) {
  uint64_t mask = 0;
  for (const JobState state : states) {
    if (static_cast<uint32_t>(state) < 64) mask |= uint64_t{1} << static_cast<uint32_t>(state);
  }
  return mask;
}

// How many records may have to be looked at for a target.
size_t work_of(const ClusterState& state, const JobTarget& target) {
  const ArrayTasks* array = state.arrays.find(target.job);
  if (array == nullptr) return 1;
  const size_t all = array->jobs.size() + array->folded.size();
  return 1 + (target.tasks
                  ? std::min<size_t>(all, target.tasks->size()) + target.tasks->ranges().size()
                  : all);
}

// Whether matches(name) of one of the names, without those that stand there twice in a row.
template <class Matches>
bool any_name(std::string_view comma_list, const Matches& matches) {
  std::string_view last;
  while (!comma_list.empty()) {
    const size_t comma = comma_list.find(',');
    const std::string_view name = trim(comma_list.substr(0, comma));
    if (!name.empty() && name != last && matches(name)) return true;
    if (comma == std::string_view::npos) return false;
    last = name;
    comma_list.remove_prefix(comma + 1);
  }
  return false;
}

bool any_in_list(const std::vector<std::string>& list, std::string_view comma_list) {
  return list.empty() ||
         any_name(comma_list, [&](std::string_view name) { return in_list(list, name); });
}

// By name: --licenses=matlab finds a job that has "solver,matlab:2", --licenses=matlab:2 none.
bool any_license_in_list(const std::vector<std::string>& list, std::string_view licenses) {
  if (list.empty()) return true;
  return any_name(licenses, [&](std::string_view license) {
    return in_list(list, license.substr(0, license.find(':')));
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

// Those of a list that are there.
Result<Bitmap> known_nodes(const ClusterState& state, const std::string& list) {
  constexpr size_t kMostNames = 4096;  // each is made and looked up
  auto all = resolve_nodes(state, list);
  const auto count = count_hosts(list);
  if (all || all.error().code != ErrorCode::kInvalidNodeName || !count || *count > kMostNames)
    return all;
  const Result<std::vector<std::string>> names = expand_hosts(list);
  if (!names) return tl::unexpected(names.error());
  Bitmap found;
  for (const std::string& name : *names) {
    if (const Node* node = find_node(state, name); node != nullptr) found.set(node->id);
  }
  return found;
}

}  // namespace

std::string_view filtered_partitions(const Job& job) {
  const bool pending = job.state == JobState::kPending;
  return pending && !job.spec->partitions.empty() ? job.spec->partitions.view()
                                                  : job.partition.view();
}

Result<JobFilter> JobFilter::make(const ClusterState& state, protocol::QueryJobsRequest request,
                                  uint32_t uid, UnknownNodes unknown) {
  // of all targets, however often an array is named
  constexpr size_t kMostWork = 500'000, kMostWorkOfEach = 4;
  JobFilter filter;
  size_t work = 0;
  for (const std::string& text : request.ids) {
    auto target = parse_target(text);
    if (!target) return tl::unexpected(target.error());
    work += work_of(state, *target);
    if (work > kMostWork + kMostWorkOfEach * state.jobs.size())
      return failure(ErrorCode::kInvalidJobId);
    filter.by_job_[target->job].push_back(static_cast<uint32_t>(filter.targets_.size()));
    filter.targets_.push_back(std::move(*target));
  }
  if (!request.nodes.empty()) {
    auto nodes = unknown == UnknownNodes::kRefused ? resolve_nodes(state, request.nodes)
                                                   : known_nodes(state, request.nodes);
    if (!nodes) return tl::unexpected(nodes.error());
    filter.nodes_ = std::move(*nodes);
  }
  filter.visible_ = VisibleJobs(state, uid);
  put_in_order(request);
  filter.states_ = mask_of(request.states);
  filter.request_ = std::move(request);
  return filter;
}

bool JobFilter::names(const Job& job) const {
  if (targets_.empty()) return true;
  const auto named_by = [&](JobId id) {
    const auto at = by_job_.find(id);
    return at != by_job_.end() && std::ranges::any_of(at->second, [&](uint32_t place) {
             return names_job(targets_[place], job);
           });
  };
  return named_by(job.id) || (job.array != nullptr && named_by(job.array->array_job)) ||
         (job.het != nullptr && named_by(job.het->leader));
}

// squeue shows what has not ended unless it is asked for states.
bool JobFilter::passes_state(const Job& job) const {
  if (request_.all_states) return true;
  if (request_.states.empty() && request_.flag_states == 0) return !is_finished(job);
  if ((job.flags & request_.flag_states) != 0) return true;
  const bool has_another = (job.flags & (kJobCompleting | kJobStopped)) != 0;
  return !has_another && (states_ >> static_cast<uint32_t>(job.state) & 1) != 0;
}

bool JobFilter::passes(const Job& job) const {
  const JobSpec& spec = *job.spec;
  const auto& r = request_;
  if (!sees(job) || !passes_state(job)) return false;
  if (!r.uids.empty() && !std::ranges::binary_search(r.uids, spec.uid)) return false;
  const bool texts = in_list(r.accounts, spec.account) && in_list(r.qos, spec.qos) &&
                     in_list(r.names, spec.name) && in_list(r.reservations, reservation_of(job)) &&
                     any_license_in_list(r.licenses, spec.licenses) &&
                     in_list(r.wckeys, wckey_name(spec.wckey.view()));
  if (!texts || !any_in_list(r.partitions, filtered_partitions(job))) return false;
  if (!nodes_) return true;
  if (!job.allocation || is_finished(job)) return false;
  return std::ranges::any_of(job.allocation->nodes,
                             [&](const auto& a) { return nodes_->test(a.node); });
}

}  // namespace sluice::state
