// --dependency: after, afterany, afterok, afternotok, aftercorr, afterburstbuffer and singleton,
// joined by "," (all of them) or "?" (any of them). One "?" makes it any, whatever else joins the
// rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::state {

enum class DependencyKind : uint8_t {
  kAfter,
  kAfterAny,
  kAfterOk,
  kAfterNotOk,
  kAfterCorr,
  kAfterBurstBuffer,
  kSingleton
};

struct DependencyItem {
  DependencyKind kind = DependencyKind::kAfterAny;
  JobId job = kNoJob;      // of kSingleton: none
  IndexSet tasks;          // 12_3, 12_[1-3]; empty: the whole array, or no array
  bool all_tasks = false;  // 12_*: shown so, also when 12 is found to be an array
  Minutes delay = 0;       // after:12+5
  // afterok:12+1: the component of a heterogeneous job; of other jobs kept, shown, and without
  // effect
  std::optional<uint32_t> component;
  bool failed = false;  // can never come about (shown as "failed")
  friend bool operator==(const DependencyItem&, const DependencyItem&) = default;
};
struct Dependency {
  std::vector<DependencyItem> items;
  bool any = false;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// Takes what users type and what format_dependency() made. kInvalidDependency: it is neither;
// kNotSupported: expand, which Slurm no longer has. What a job has kept may have more items than a
// new one: earlier versions took more.
enum class DependencyText { kGiven, kKept };
[[nodiscard]] Result<Dependency> parse_dependency(std::string_view text,
                                                  DependencyText source = DependencyText::kGiven);
// As squeue %E and scontrol show it: "afterok:12(unfulfilled),singleton(unfulfilled)".
[[nodiscard]] std::string format_dependency(const Dependency& dependency);

// How far the jobs are that an item names.
struct JobsProgress {
  bool known = false;  // false: purged, or never there
  bool all_over = true, all_good = true;
  bool some_waits = false;      // has not started
  Time latest_start = kNoTime;  // of those that have

  void add(const Job& job);
  [[nodiscard]] bool all_started(Minutes delay, Time now) const;
};

// What was found out about arrays, each of which is gone through once: a job may name the same one
// ten thousand times, and so may many jobs. What starts or ends meanwhile is not seen.
struct DependencyNotes {
  struct Tasks {
    IndexSet waiting, running;  // not started, started and not over
    IndexSet good, bad;         // over
    IndexSet with_records;      // of these, those that have, or had, a record of their own
  };
  std::unordered_map<JobId, JobsProgress> arrays;
  std::unordered_map<JobId, Tasks> tasks;
};

// What is left for `job` to wait for. `never`: what is left can never come about.
struct DependencyResult {
  Dependency left;
  bool never = false;
  [[nodiscard]] bool satisfied() const { return left.items.empty(); }
};
[[nodiscard]] DependencyResult evaluate_dependency(const ClusterState& state, const Job& job,
                                                   const Dependency& dependency, Time now,
                                                   DependencyNotes& notes);

// Of a pending array that waits for the same tasks of another (aftercorr): those whose turn has
// come, or never will. They need records of their own.
[[nodiscard]] IndexSet tasks_decided(const ClusterState& state, const Job& job,
                                     const Dependency& dependency, DependencyNotes& notes);

// The jobs that a dependency names, and those that these wait for, as far as they can be followed
// in a moment.
class DependencyReach {
 public:
  DependencyReach(const ClusterState& state, const Dependency& dependency);
  // Whether a job with this dependency would wait for itself.
  [[nodiscard]] bool contains(const Job& job) const;

 private:
  struct Named {
    bool whole = false;
    IndexSet tasks;
  };
  std::unordered_map<JobId, Named> named_;
};

}  // namespace sluice::state
