// The lines of DebugFlags that tell what the state and the scheduler do: of TraceJobs, Steps,
// Dependency, Reservation and Triggers what happened, of Backfill, Priority, SelectType, License
// and Gres what a pass decided.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/log/log.hpp"
#include "ctld/engine/scheduler_loop.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::ctld {

struct FlagLine {
  log::DebugFlag flag{};
  std::string text;
  [[nodiscard]] bool operator==(const FlagLine&) const = default;
};

// What one event is worth telling, whichever flags are set. `after`: the state when its whole frame
// was applied.
[[nodiscard]] std::vector<FlagLine> lines_of_event(const state::ClusterState& after,
                                                   const state::Event& event);

// Writes what the flags that are set ask for. Any thread.
void log_events(const state::ClusterState& after, const state::Events& events);

// Of the scheduler's thread alone.
class PassDebug {
 public:
  // Likewise of a pass; of a priority only that it is another than at the last call that was asked
  // for them.
  [[nodiscard]] std::vector<FlagLine> lines_of(const engine::PassReport& report,
                                               bool with_priorities = true);
  void note(const engine::PassReport& report);

 private:
  std::map<JobId, uint32_t> priorities_;
};

}  // namespace sluice::ctld
