#include "ctld/sched/policy/accounting_shares.hpp"

#include <algorithm>

namespace sluice::sched {

AccountingShares::AccountingShares(const state::Accounting& accounting) : accounting_(accounting) {
  accounting_.qos.for_each(
      [&](const QosRecord& qos) { highest_qos_ = std::max(highest_qos_, qos.priority); });
}

AssociationId AccountingShares::association_of(const Job& job, std::string_view partition) const {
  if (job.account == nullptr) return 0;
  if (!accounting_.names->by_partition) return job.account->association;
  const AssociationRecord* found = state::find_association(accounting_, job.spec->user_name.view(),
                                                           job.spec->account.view(), partition);
  return found == nullptr ? job.account->association : found->id;
}

double AccountingShares::fair_share(const Job& job, std::string_view partition) const {
  return accounting_.shares->of(association_of(job, partition)).factor;
}

uint32_t AccountingShares::association_priority(const Job& job, std::string_view partition) const {
  const AssociationRecord* found =
      state::find_association(accounting_, association_of(job, partition));
  return found == nullptr ? 0 : found->priority.value_or(0);
}

uint32_t AccountingShares::highest_association_priority() const {
  return accounting_.shares->highest_priority;
}

uint32_t AccountingShares::qos_priority(const Job& job) const {
  if (job.account == nullptr || job.account->qos == 0) return 0;
  const QosRecord* qos = accounting_.qos.find(job.account->qos);
  return qos == nullptr ? 0 : qos->priority;
}

std::shared_ptr<const JobShares> shares_of(const state::Accounting& accounting) {
  if (accounting.version == 0) return nullptr;
  return std::make_shared<AccountingShares>(accounting);
}

}  // namespace sluice::sched
