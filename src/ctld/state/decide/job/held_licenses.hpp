// scontrol update Licenses= of jobs that hold theirs: whether what they would hold then is there.
#pragma once

#include <optional>

#include "ctld/state/rules/licenses.hpp"

namespace sluice::state {

// For all the jobs of one command: what others hold is looked at once, and not at all for jobs that
// take nothing more than they have.
class HeldLicenses {
 public:
  // A job that runs has its licenses now: what others hold is not there for it.
  [[nodiscard]] Status check(const ClusterState& state, const Job& job, const JobSpec& spec,
                             Time now);
  // The job becomes `after`, with `spec`.
  void follow(const ClusterState& state, const Job& before, const Job& after, const JobSpec& spec);

 private:
  std::optional<LicensePool> pool_;
};

}  // namespace sluice::state
