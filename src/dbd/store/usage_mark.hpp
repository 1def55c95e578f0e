// From when on usage is to be summed up again, because what was told of the past has changed. One
// of them goes with a transaction that changes jobs or events.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dbd/store/database.hpp"

namespace sluice::dbd {

// As in table job: in microseconds, 0 for not yet, and kNotEnded.
struct JobTimes {
  int64_t eligible = 0, start = 0, ended = 0;
};

class UsageMark {
 public:
  void at(int64_t time) { from_ = std::min(from_, time); }
  void added(const JobTimes& job, int64_t submit) {
    at(job.eligible > 0 ? job.eligible : job.start > 0 ? job.start : submit);
  }
  void changed(const JobTimes& before, const JobTimes& after) {
    if (before.eligible != after.eligible) at(first_known(before.eligible, after.eligible));
    if (before.start != after.start) at(first_known(before.start, after.start));
    at(std::min(before.ended, after.ended));
  }
  // Puts usage_state back, never forward, and not to where history was purged.
  void write(Session& sql, int64_t cluster) const {
    if (from_ == kNotEnded) return;
    int64_t floor = 0;
    sql << "SELECT coalesce(max(floor), 0) FROM purge_state WHERE cluster = :c", soci::use(cluster),
        soci::into(floor);
    const int64_t from = std::max(from_, floor);
    sql << "UPDATE usage_state SET rolled = :r WHERE cluster = :c AND rolled > :f", soci::use(from),
        soci::use(cluster), soci::use(from);
  }

 private:
  // Before it was known nothing was summed up for it.
  static int64_t first_known(int64_t a, int64_t b) {
    return a == 0 ? b : b == 0 ? a : std::min(a, b);
  }

  int64_t from_ = kNotEnded;
};

}  // namespace sluice::dbd
