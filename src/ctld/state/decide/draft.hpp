// Draft: a private copy of the state on which decide() tries out its events as it goes, so that each
// step of a decision sees the ones before. The copy shares all that it does not change.
#pragma once

#include <algorithm>
#include <utility>
#include <variant>

#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::state {

class Draft {
 public:
  explicit Draft(const ClusterState& state) : state_(state) {}

  // As it is after the events so far. References into it end with the next emit().
  [[nodiscard]] const ClusterState& state() const { return state_; }
  [[nodiscard]] const Job& job(JobId id) const { return state_.jobs.at(id); }
  [[nodiscard]] const Node& node(NodeId id) const { return state_.nodes.at(id); }

  // So that job() finds it; the state is the same by this, and the event that changes the job will do it, too.
  void unfold(JobId id) { unfold_job(state_, id); }

  template <class E>
  void emit(E event) {
    events_.emplace_back(std::move(event));
    if (std::holds_alternative<CrontabReplaced>(events_.back())) drop_earlier_crontab();
    sluice::state::apply(state_, events_.back());  // unqualified, std::apply would be found too
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Decision take(Reply reply = Done{}) {
    return Decision{std::move(events_), std::move(reply), {}};
  }

 private:
  // All of a user's crontab is in the event: of many lines that are disabled by one decision the last one counts.
  void drop_earlier_crontab() {
    const uint32_t uid = std::get<CrontabReplaced>(events_.back()).crontab.uid;
    const auto is_earlier = [uid](const Event& event) {
      const auto* replaced = std::get_if<CrontabReplaced>(&event);
      return replaced != nullptr && replaced->crontab.uid == uid;
    };
    events_.erase(std::remove_if(events_.begin(), events_.end() - 1, is_earlier), events_.end() - 1);
  }

  ClusterState state_;
  Events events_;
};

}  // namespace sluice::state
