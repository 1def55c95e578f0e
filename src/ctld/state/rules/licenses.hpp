// Licenses that are free: what the configuration has, less what jobs hold.
#pragma once

#include <string>
#include <vector>

#include "common/syntax/licenses.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

class LicensePool {
 public:
  // Looks at all jobs that hold nodes, unless the cluster has no licenses.
  explicit LicensePool(const ClusterState& state);

  struct Lack {
    std::string name;
    uint64_t wanted = 0, free = 0, total = 0;
  };
  // The licenses that a job cannot have now; empty: it can start.
  [[nodiscard]] std::vector<Lack> lacking(const JobSpec& spec) const;
  [[nodiscard]] const LicenseCounts& totals() const { return totals_; }
  [[nodiscard]] uint64_t used(const std::string& name) const;
  void take(const JobSpec& spec);
  void give_back(const JobSpec& spec);  // what was taken for it

 private:
  LicenseCounts totals_;
  LicenseCounts used_;
};

// kInvalidLicense: no such license, or fewer than the job asks for.
[[nodiscard]] Status check_licenses(const ClusterConfig& config, const JobSpec& spec);

}  // namespace sluice::state
