// What accounting knows of whose jobs go first: fair-share factors, and the priorities of
// associations and qualities of service. Accounting fills it; where there is none, nobody has any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/model/job.hpp"

namespace sluice::sched {

class JobShares {
 public:
  JobShares() = default;
  JobShares(const JobShares&) = delete;
  JobShares& operator=(const JobShares&) = delete;
  virtual ~JobShares() = default;
  // 0 … 1; 1: it used nothing of what is its share.
  [[nodiscard]] virtual double fair_share(const Job& job, std::string_view partition) const = 0;
  // Priority= of the job's association, and the highest that any has.
  [[nodiscard]] virtual uint32_t association_priority(const Job& job,
                                                      std::string_view partition) const = 0;
  [[nodiscard]] virtual uint32_t highest_association_priority() const = 0;
  // Priority= of the job's quality of service, and the highest that any has.
  [[nodiscard]] virtual uint32_t qos_priority(const Job& job) const = 0;
  [[nodiscard]] virtual uint32_t highest_qos_priority() const = 0;
};

// Values by account and user, and by name of the quality of service.
class ShareTable final : public JobShares {
 public:
  struct Association {
    double fair_share = 0;
    uint32_t priority = 0;
  };
  void set(std::string account, uint32_t uid, Association values);
  void set_qos(std::string name, uint32_t priority);

  [[nodiscard]] double fair_share(const Job& job, std::string_view partition) const override;
  [[nodiscard]] uint32_t association_priority(const Job& job,
                                              std::string_view partition) const override;
  [[nodiscard]] uint32_t highest_association_priority() const override { return highest_; }
  [[nodiscard]] uint32_t qos_priority(const Job& job) const override;
  [[nodiscard]] uint32_t highest_qos_priority() const override { return highest_qos_; }

 private:
  [[nodiscard]] Association find(const Job& job) const;

  std::map<std::pair<std::string, uint32_t>, Association> associations_;
  std::map<std::string, uint32_t, std::less<>> qos_;
  uint32_t highest_ = 0;
  uint32_t highest_qos_ = 0;
};

}  // namespace sluice::sched
