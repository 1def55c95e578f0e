// --dependency: after, afterany, afterok, afternotok, aftercorr, afterburstbuffer and singleton,
// joined by "," (all of them) or "?" (any of them).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::state {

enum class DependencyKind : uint8_t { kAfter, kAfterAny, kAfterOk, kAfterNotOk, kAfterCorr, kSingleton };

struct DependencyItem {
  DependencyKind kind = DependencyKind::kAfterAny;
  JobId job = kNoJob;       // of kSingleton: none
  uint32_t task = kNoTask;  // 12_3; kNoTask: the whole array, or no array
  bool all_tasks = false;   // 12_*: shown so
  Minutes delay = 0;        // after:12+5
  std::optional<uint32_t> component;  // afterok:12+1; only after: has a delay there
  bool failed = false;      // can never come about (shown as "failed")
};
struct Dependency {
  std::vector<DependencyItem> items;
  bool any = false;
};

// Takes what users type and what format_dependency() made. kInvalidDependency: it is neither.
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

}  // namespace sluice::state
