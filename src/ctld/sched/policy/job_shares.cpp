#include "ctld/sched/policy/job_shares.hpp"

#include <algorithm>

namespace sluice::sched {

void ShareTable::set(std::string account, uint32_t uid, Association values) {
  highest_ = std::max(highest_, values.priority);
  associations_[{std::move(account), uid}] = values;
}

void ShareTable::set_qos(std::string name, uint32_t priority) {
  highest_qos_ = std::max(highest_qos_, priority);
  qos_[std::move(name)] = priority;
}

ShareTable::Association ShareTable::find(const Job& job) const {
  const auto at = associations_.find({job.spec->account.str(), job.spec->uid});
  return at == associations_.end() ? Association() : at->second;
}

double ShareTable::fair_share(const Job& job, std::string_view /*partition*/) const {
  return find(job).fair_share;
}

uint32_t ShareTable::association_priority(const Job& job, std::string_view /*partition*/) const {
  return find(job).priority;
}

uint32_t ShareTable::qos_priority(const Job& job) const {
  const auto at = qos_.find(job.spec->qos.view());
  return at == qos_.end() ? 0 : at->second;
}

}  // namespace sluice::sched
