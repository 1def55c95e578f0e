// Usage by the hour: what jobs of an account and user had of each TRES, and what the cluster did
// with what it has. Pure: records in, rows out; a day and a month are sums of hours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/history.hpp"

namespace sluice::dbd {

// Whose usage of which TRES ("cpu", "gres/gpu").
struct UsageKey {
  std::string account, user, wckey, qos, tres;
  // NOLINTNEXTLINE(modernize-use-nullptr): no pointer is there
  auto operator<=>(const UsageKey&) const = default;
};
// Amount times seconds. What is reported is the sum of the others, but `over`.
struct ClusterUsage {
  uint64_t count = 0;  // that the cluster has, at the end
  uint64_t allocated = 0, down = 0, planned_down = 0, idle = 0;
  uint64_t planned = 0;  // idle for jobs that wait
  uint64_t over = 0;     // more than there was
  bool operator==(const ClusterUsage&) const = default;
};
struct HourUsage {
  std::map<UsageKey, uint64_t> jobs;            // amount times seconds
  std::map<std::string, ClusterUsage> cluster;  // by TRES
  bool operator==(const HourUsage&) const = default;
};

// The hours from `from` on, which is the beginning of one; times are not looked at beyond them.
class Rollup {
 public:
  Rollup(Time from, size_t hours, Time now);

  void add(const JobHistory& job);
  // What the cluster has from its time until `end`.
  void add(const ClusterHistory& cluster, Time end);
  // Until `end`, or now where that is kNoTime.
  void add(const NodeHistory& node, Time end);
  // What its jobs do not use is charged to its holders alike: (account, user), the user of an
  // account's own being empty. Jobs may be added before or after.
  void add(const ReservationHistory& reservation,
           const std::vector<std::pair<std::string, std::string>>& holders);
  [[nodiscard]] std::vector<HourUsage> finish();

 private:
  // Calls take(hour, seconds) for each hour that [from, to) touches.
  template <class Take>
  void each_hour(Time from, Time to, Take take) const;

  struct Reserved {
    ReservationHistory record;
    std::vector<std::pair<std::string, std::string>> holders;
  };
  using ByTres = std::map<std::string, uint64_t>;
  void charge(const Reserved& reserved);

  const Time from_, now_;
  std::vector<HourUsage> hours_;
  std::vector<std::map<std::string, uint64_t>> has_, waits_;  // by hour: amount times seconds
  std::vector<Reserved> reserved_;
  // What jobs had of each, by its name and its number (0: any that ran by this name).
  std::map<std::pair<std::string, uint32_t>, std::vector<ByTres>> used_;
};

// For how long the job, which ran until `end` or runs then, was suspended.
[[nodiscard]] Duration suspended_until(const JobHistory& job, Time end);

// What is left of `seconds` of a job's `elapsed` where it was suspended for a part of it, which is
// taken from all of them alike.
[[nodiscard]] uint64_t without_suspension(uint64_t seconds, Duration suspended, Duration elapsed);

}  // namespace sluice::dbd
