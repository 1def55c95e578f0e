// --dependency: after, afterany, afterok, afternotok, aftercorr, afterburstbuffer and singleton,
// joined by "," (all of them) or "?" (any of them). One "?" makes it any, whatever else joins the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::state {

enum class DependencyKind : uint8_t { kAfter, kAfterAny, kAfterOk, kAfterNotOk, kAfterCorr, kAfterBurstBuffer, kSingleton };

struct DependencyItem {
  DependencyKind kind = DependencyKind::kAfterAny;
  JobId job = kNoJob;       // of kSingleton: none
  uint32_t task = kNoTask;  // 12_3; kNoTask: the whole array, or no array
  bool all_tasks = false;   // 12_*: shown so, also when 12 is found to be an array
  Minutes delay = 0;        // after:12+5
  // afterok:12+1: the component of a heterogeneous job; of other jobs kept, shown, and without effect
  std::optional<uint32_t> component;
  bool failed = false;      // can never come about (shown as "failed")
};
struct Dependency {
  std::vector<DependencyItem> items;
  bool any = false;
};

// Takes what users type and what format_dependency() made. kInvalidDependency: it is neither;
// kNotSupported: expand, which Slurm no longer has.
[[nodiscard]] Result<Dependency> parse_dependency(std::string_view text);
// As squeue %E and scontrol show it: "afterok:12(unfulfilled),singleton(unfulfilled)".
[[nodiscard]] std::string format_dependency(const Dependency& dependency);

// What is left for `job` to wait for. `never`: what is left can never come about.
struct DependencyResult {
  Dependency left;
  bool never = false;
  [[nodiscard]] bool satisfied() const { return left.items.empty(); }
};
[[nodiscard]] DependencyResult evaluate_dependency(const ClusterState& state, const Job& job,
                                                   const Dependency& dependency, Time now);

// Of a pending array that waits for the same tasks of another (aftercorr): those whose turn has come, or
// never will. They need records of their own.
[[nodiscard]] IndexSet tasks_decided(const ClusterState& state, const Job& job, const Dependency& dependency);

// Whether `job` would wait for itself, through what the jobs it names wait for.
[[nodiscard]] bool is_circular(const ClusterState& state, const Job& job, const Dependency& dependency);

}  // namespace sluice::state
