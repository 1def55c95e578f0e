#pragma once

#include <array>

#include "ctld/state/core/accounting.hpp"

namespace sluice::state {

// The QOS that apply, the one that goes first first.
inline std::array<const QosRecord*, 2> qos_of(const Accounting& accounting,
                                              const JobAccount& account) {
  const auto find = [&](QosId id) { return id == 0 ? nullptr : accounting.qos.find(id); };
  const QosRecord* partition = find(account.partition_qos);
  const QosRecord* job = find(account.qos);
  if (partition == job) return {job, nullptr};
  const bool job_first = job != nullptr && (job->flags & kQosOverPartQos) != 0;
  return job_first ? std::array{job, partition} : std::array{partition, job};
}

}  // namespace sluice::state
