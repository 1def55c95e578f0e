// What QOS and associations say of a job beside limits of its start.
#include <algorithm>

#include "ctld/state/limits/limits.hpp"
#include "ctld/state/limits/qos_of.hpp"

namespace sluice::state {

std::optional<Duration> longest_wall(const Accounting& accounting, const JobAccount& account) {
  std::optional<Duration> job, group;  // of the QOS
  for (const QosRecord* qos : qos_of(accounting, account)) {
    if (qos == nullptr) continue;
    if (!job) job = qos->job.wall;
    if (!group) group = qos->group.wall;
  }
  std::optional<Duration> shortest;
  const auto take = [&](const std::optional<Duration>& wall) {
    if (wall) shortest = shortest ? std::min(*shortest, *wall) : *wall;
  };
  take(job);
  take(group);
  bool found = false;
  for_ancestors(accounting, account.association, [&](AssociationId, const AssociationRecord* one) {
    if (one == nullptr || found) return;
    const std::optional<Duration> own_job = job ? std::nullopt : one->job.wall;
    const std::optional<Duration> own_group = group ? std::nullopt : one->group.wall;
    found = own_job || own_group;
    take(own_job);
    take(own_group);
  });
  return shortest;
}

uint32_t least_priority_to_plan(const Accounting& accounting, const JobAccount& account) {
  for (const QosRecord* qos : qos_of(accounting, account)) {
    if (qos != nullptr && qos->job.min_priority) return *qos->job.min_priority;
  }
  std::optional<uint32_t> least;
  for_ancestors(accounting, account.association, [&](AssociationId, const AssociationRecord* one) {
    if (one != nullptr && !least) least = one->job.min_priority;
  });
  return least.value_or(0);
}

bool has_qos_flag(const Accounting& accounting, const JobAccount& account, QosFlags flag) {
  return std::ranges::any_of(qos_of(accounting, account), [&](const QosRecord* qos) {
    return qos != nullptr && (qos->flags & flag) != 0;
  });
}

}  // namespace sluice::state
