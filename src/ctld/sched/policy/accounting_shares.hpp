// JobShares of what the controller follows of accounting.
#pragma once

#include "ctld/sched/policy/job_shares.hpp"
#include "ctld/state/core/accounting.hpp"

namespace sluice::sched {

class AccountingShares final : public JobShares {
 public:
  explicit AccountingShares(const state::Accounting& accounting);
  [[nodiscard]] double fair_share(const Job& job, std::string_view partition) const override;
  [[nodiscard]] uint32_t association_priority(const Job& job,
                                              std::string_view partition) const override;
  [[nodiscard]] uint32_t highest_association_priority() const override;
  [[nodiscard]] uint32_t qos_priority(const Job& job) const override;
  [[nodiscard]] uint32_t highest_qos_priority() const override { return highest_qos_; }

 private:
  [[nodiscard]] AssociationId association_of(const Job& job, std::string_view partition) const;

  const state::Accounting accounting_;  // as it was; it shares everything
  uint32_t highest_qos_ = 0;
};

// Null: there is no accounting.
[[nodiscard]] std::shared_ptr<const JobShares> shares_of(const state::Accounting& accounting);

}  // namespace sluice::sched
