// The memory that long texts of jobs and of their live steps take (arguments, command lines, lists
// of nodes): a job's stay until it is forgotten, so one user's, and those of all, are bounded
// together. Jobs with short ones are bounded by MaxJobCount, steps by MaxStepCount.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "common/base/result.hpp"

namespace sluice {
struct Job;
struct JobSpec;
struct StepSpec;
}  // namespace sluice

namespace sluice::state {

struct ClusterState;

struct HeavyTexts {
  static constexpr size_t kLight = size_t{16} << 10;  // a job with no more than this is not counted
  static constexpr size_t kLightStep = size_t{4} << 10;
  static constexpr uint64_t kMostOfUser = uint64_t{128} << 20;
  static constexpr uint64_t kMostOfAll = uint64_t{384} << 20;

  std::map<uint32_t, uint64_t> of_user;  // bytes by uid
  uint64_t all = 0;
};

// What the specification counts: its texts' bytes, or 0.
[[nodiscard]] size_t heavy_text(const JobSpec& spec);

[[nodiscard]] size_t heavy_text(const StepSpec& spec);
// Of all its steps.
[[nodiscard]] size_t heavy_text_of_steps(const Job& job);

// What the user's jobs hold changes from `before` bytes, which are counted, to `after`.
void count_heavy_text(ClusterState& state, uint32_t uid, size_t before, size_t after);

// kTooManyJobs: `spec` would take its user, or all users, beyond the bound. `before` is the job's
// as it is, null for a new one.
[[nodiscard]] Status check_heavy_text(const ClusterState& state, const JobSpec& spec,
                                      const JobSpec* before = nullptr);
// The same of a new step of the user's.
[[nodiscard]] Status check_heavy_text(const ClusterState& state, uint32_t uid,
                                      const StepSpec& spec);

}  // namespace sluice::state
