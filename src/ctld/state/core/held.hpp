// What the jobs of one association, one QOS, or one user of a QOS hold together. All of it is whole
// numbers, so that adding and taking away jobs in any order gives the same.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/accounting.hpp"
#include "common/model/allocation.hpp"
#include "common/model/job_account.hpp"
#include "ctld/state/core/node_counts.hpp"

namespace sluice::state {

__extension__ using Wide = __int128;  // count times time in seconds times a factor in millionths

// A sum over running jobs of a quantity and of when it began to be charged, so that what was used
// until now is one subtraction.
struct Rate {
  Wide per_second = 0;
  Wide since = 0;  // sum of each one's rate times the second from which it is charged
  bool operator==(const Rate&) const = default;
  [[nodiscard]] Wide used_until(int64_t second) const { return per_second * second - since; }
};

struct HeldTres {
  TresId id = 0;
  uint64_t count = 0;  // at once, of running and suspended jobs
  Wide until_end = 0;  // sum of each one's count times the second at which it is to end
  Rate rate;           // in millionths
  bool operator==(const HeldTres&) const = default;
  // That running jobs may still use, in seconds.
  [[nodiscard]] uint64_t left_at(int64_t second) const {
    const Wide left = until_end - Wide(count) * second;
    return left > 0 ? static_cast<uint64_t>(left) : 0;
  }
};

struct Held {
  uint32_t jobs = 0;           // running and suspended
  uint32_t accruing = 0;       // pending ones whose age grows
  uint32_t submit = 0;         // pending and running
  std::vector<HeldTres> tres;  // by id; none that is nothing
  NodeCounts nodes;            // of running and suspended jobs
  Rate billing;                // exact, in millionths of millionths
  Rate wall;                   // in millionths of a second
  bool operator==(const Held&) const = default;
  [[nodiscard]] bool empty() const { return jobs == 0 && submit == 0; }
  // 0 where there is nothing of it. Of nodes: those that are used, each once.
  [[nodiscard]] uint64_t count_of(TresId id) const;
  [[nodiscard]] uint64_t left_of(TresId id, int64_t second) const;
};

// What one job, or the pending tasks of an array, add to each of these sums.
struct JobPart {
  uint32_t jobs = 0, accruing = 0, submit = 0;
  const JobCharge* charge = nullptr;       // null: it does not run
  const Allocation* allocation = nullptr;  // null: none is known
  int64_t end = 0;                         // second
  int64_t since = 0;                       // second from which it is charged
  bool is_charged = true;                  // a suspended job is not
  // false: it is charged, and what it holds counts for no limit (soft_limit_qos)
  bool at_once = true;
};
void add_part(Held& held, const JobPart& part);
void take_part(Held& held, const JobPart& part);

}  // namespace sluice::state
