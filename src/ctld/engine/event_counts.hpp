// How many jobs came, began and ended since the counts were last reset (sdiag).
#pragma once

#include <atomic>
#include <cstdint>

#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::engine {

class EventCounts {
 public:
  std::atomic<uint64_t> submitted = 0, started = 0, completed = 0, canceled = 0, failed = 0;

  // `state` is the state after the event.
  void note(const state::ClusterState& state, const state::Event& event) {
    if (std::holds_alternative<state::JobSubmitted>(event)) {
      ++submitted;
    } else if (const auto* start = std::get_if<state::JobStarted>(&event)) {
      started += start->starts.size();
    } else if (const auto* over = std::get_if<state::JobCompleting>(&event)) {
      note_end(over->state, (over->flags & kJobLaunchFailed) != 0);
    } else if (const auto* ended = std::get_if<state::JobEnded>(&event)) {
      const Job* job = state.jobs.find(ended->job);
      if (job != nullptr && job->allocation == nullptr) note_end(ended->state, false);
    }
  }
  void reset() { submitted = started = completed = canceled = failed = 0; }

 private:
  // As Slurm counts: a job failed when the cluster is to blame.
  void note_end(JobState how, bool not_launched) {
    if (how == JobState::kCancelled) ++canceled;
    else if (how == JobState::kNodeFail || how == JobState::kBootFail || not_launched) ++failed;
    else ++completed;
  }
};

}  // namespace sluice::engine
