// Identifiers of jobs, steps and array tasks.
#pragma once

#include <compare>
#include <cstdint>

namespace sluice {

using JobId = uint32_t;  // 1 … MaxJobId; 0 means none
inline constexpr JobId kNoJob = 0;
// Of steps that srun -Z starts without a job: each gets one of these at random, as in Slurm.
inline constexpr JobId kFirstOutsideJob = 0xffff0000, kLastOutsideJob = 0xfffffffd;
[[nodiscard]] constexpr bool is_outside_jobs(JobId id) {
  return id >= kFirstOutsideJob && id <= kLastOutsideJob;
}
inline constexpr uint32_t kNoTask = UINT32_MAX;  // not an array task

// A step's number in its job. Named steps count down from the top, as in Slurm.
using StepNumber = uint32_t;
inline constexpr StepNumber kExternStep = 0xfffffffc;       // "extern"
inline constexpr StepNumber kBatchStep = 0xfffffffb;        // "batch"
inline constexpr StepNumber kInteractiveStep = 0xfffffffa;  // "interactive"
inline constexpr StepNumber kMaxNormalStep = 0xfffffff0;

struct StepId {
  JobId job = kNoJob;
  StepNumber step = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): no pointer is there
  friend auto operator<=>(const StepId&, const StepId&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &StepId::job);
    field(2, "step", &StepId::step);
  }
};

// A position in the node table; stable for the life of the cluster's state.
using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

}  // namespace sluice
