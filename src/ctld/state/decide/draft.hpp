// Draft: a private copy of the state on which decide() tries out its events as it goes, so that
// each step of a decision sees the ones before. The copy shares all that it does not change.
#pragma once

#include "ctld/state/decide.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::state {

class Draft {
 public:
  explicit Draft(const ClusterState& state);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  // As it is after the events so far. References into it end with the next emit().
  [[nodiscard]] const ClusterState& state() const { return state_; }
  [[nodiscard]] const Job& job(JobId id) const { return state_.jobs.at(id); }
  [[nodiscard]] const Node& node(NodeId id) const { return state_.nodes.at(id); }

  // So that job() finds it; the state is the same by this, and the event that changes the job will
  // do it, too.
  void unfold(JobId id) { unfold_job(state_, id); }

  void emit(Event event);
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Decision take(Reply reply = Done{});

 private:
  void drop_earlier_crontab();

  ClusterState state_;
  Events events_;
};

}  // namespace sluice::state
