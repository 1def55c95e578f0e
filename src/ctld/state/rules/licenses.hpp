// Licenses that are free: what the configuration has, less what jobs hold and what reservations
// keep for their own jobs, now and later.
#pragma once

#include <string>
#include <vector>

#include "common/syntax/licenses.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::state {

// What a reservation keeps for its jobs, whether they use it or not.
struct LicenseHold {
  const Reservation* reservation = nullptr;
  LicenseCounts counts;
  std::vector<Period> periods;  // in order; the last of one that floats has no end (kNever)
};
// Of those that are not over; of one that comes again as many occurrences as are planned for.
[[nodiscard]] std::vector<LicenseHold> license_holds(const ClusterState& state, Time now);

// In which reservation (null: in none) a job would hold its licenses, and until when.
struct LicenseUse {
  const Reservation* own = nullptr;
  Time until = kNever;
};
// The one of a job that holds licenses.
[[nodiscard]] LicenseUse license_use_of(const ClusterState& state, const Job& job);

class LicensePool {
 public:
  // Looks at all jobs that hold nodes, unless the cluster has no licenses.
  LicensePool(const ClusterState& state, Time now);

  struct Lack {
    std::string name;
    uint64_t wanted = 0, free = 0, total = 0;
    uint64_t kept = 0;  // for jobs of (other) reservations
  };
  // The licenses that a job cannot have from now on for so long; empty: it can start.
  [[nodiscard]] std::vector<Lack> lacking(const JobSpec& spec, const LicenseUse& use) const;
  [[nodiscard]] const LicenseCounts& totals() const { return totals_; }
  [[nodiscard]] uint64_t used(const std::string& name) const;
  [[nodiscard]] uint64_t reserved(const std::string& name) const;
  void take(const JobSpec& spec, const LicenseUse& use);
  void give_back(const JobSpec& spec, const LicenseUse& use);  // what was taken for it

 private:
  struct Share {
    uint32_t reservation = 0;  // its id; 0: of jobs in none
    uint64_t kept = 0, used = 0;
  };
  using Shares = std::vector<Share>;
  // Now, or when a reservation begins to keep some: the moments at which the least is free.
  struct Moment {
    Time at = kNoTime;
    std::map<std::string, Shares, std::less<>> names;
  };
  [[nodiscard]] static Share& share_of(Moment& moment, const std::string& name,
                                       const Reservation* reservation);
  [[nodiscard]] static const Shares& shares_of(const Moment& moment, const std::string& name);
  void change(const JobSpec& spec, const LicenseUse& use, bool give_back);

  Time now_;
  LicenseCounts totals_;
  std::vector<Moment> moments_;  // in order; the first is now
};

// kInvalidLicense: no such license, or fewer than the job asks for.
[[nodiscard]] Status check_licenses(const ClusterConfig& config, const JobSpec& spec);
// kInvalidLicense: no such license, or fewer than this and the reservations that hold at the same
// time ask for.
[[nodiscard]] Status check_reserved_licenses(const ClusterState& state,
                                             const Reservation& reservation, Time now);

}  // namespace sluice::state
