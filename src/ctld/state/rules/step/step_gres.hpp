// A step's part of its job's generic resources.
#pragma once

#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/job.hpp"
#include "ctld/fit/gres.hpp"

namespace sluice::state {

// What a step asks for; with nothing asked for, all that its job has on the nodes it runs on.
struct StepGres {
  std::vector<fit::GresNeed> needs;
  bool all = false;
};
// kInvalidGres: malformed, or more than the job has.
[[nodiscard]] Result<StepGres> step_gres(const Job& job, const StepSpec& spec);

// What of the job's is not held by other steps at a position of its allocation.
[[nodiscard]] GresShares free_gres(const Job& job, size_t position, bool overlap);

// Most tasks that `free` serves of `whole`, which is what the job has there; UINT32_MAX: any
// number.
[[nodiscard]] uint32_t tasks_for_gres(const StepGres& step, const GresShares& free,
                                      const GresShares& whole);

// A node of the step for gres to be dealt to.
struct StepGresNode {
  const GresShares* free = nullptr;  // never null
  uint32_t tasks = 0;
};
// What each node gives. Empty: --gpus asks for more than these nodes have free.
[[nodiscard]] std::vector<GresShares> deal_step_gres(const StepGres& step,
                                                     std::span<const StepGresNode> nodes);

}  // namespace sluice::state
