#include "ctld/state/decide/job/age.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "ctld/state/core/indexes.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/limits/accounts.hpp"

namespace sluice::state {
namespace {

constexpr uint32_t kMostAtOnce = 1000;

// What the limits of a job are those of.
auto limits_of(const Job& job) {
  const JobAccount account = job.account == nullptr ? JobAccount() : *job.account;
  return std::tuple(account.association, account.qos, account.partition_qos, job.spec->uid,
                    job.spec->account.str());
}

IndexSet first_tasks(const IndexSet& tasks, uint32_t count) {
  IndexSet first;
  for (const IndexSet::Range& range : tasks.ranges()) {
    if (count == 0) break;
    const uint32_t taken = std::min(count, range.last - range.first + 1);
    first.insert(range.first, range.first + taken - 1);
    count -= taken;
  }
  return first;
}

}  // namespace

void begin_to_wait(Draft& draft, JobId id, Time now) {
  const Job& job = draft.job(id);
  const bool limited = tasks_that_may_age(draft.state(), job) < place_of(job).count;
  draft.emit(JobBecameEligible{.job = id, .time = now, .age_limited = limited});
}

void tick_age(Draft& draft, Time now) {
  std::vector<JobId> ids;
  draft.state().age_limited.for_each([&](uint32_t id) { ids.push_back(id); });
  std::set<decltype(limits_of(draft.job(0)))> full;
  uint32_t left = kMostAtOnce;
  for (const JobId id : ids) {
    if (left == 0) return;
    const auto limits = limits_of(draft.job(id));
    if (!is_eligible(draft.job(id), now) || full.contains(limits)) continue;
    const uint32_t room = std::min(tasks_that_may_age(draft.state(), draft.job(id)), left);
    const uint64_t all = place_of(draft.job(id)).count;
    std::vector<JobId> begin = {id};
    if (room < all) {
      full.insert(limits);
      if (room == 0) continue;
      auto split = split_pending_tasks(draft, id, first_tasks(draft.job(id).array->pending, room));
      if (!split) continue;  // no ids are left
      begin = std::move(*split);
    }
    for (const JobId one : begin) draft.emit(JobBecameEligible{.job = one, .time = now});
    left -= static_cast<uint32_t>(std::min<uint64_t>(room, all));
  }
}

}  // namespace sluice::state
