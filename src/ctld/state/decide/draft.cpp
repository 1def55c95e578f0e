#include "ctld/state/decide/draft.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "ctld/state/apply.hpp"

namespace sluice::state {

Draft::Draft(const ClusterState& state) : state_(state) {}
Draft::~Draft() = default;

void Draft::emit(Event event) {
  events_.push_back(std::move(event));
  if (std::holds_alternative<CrontabReplaced>(events_.back())) drop_earlier_crontab();
  sluice::state::apply(state_, events_.back());  // unqualified, std::apply would be found too
}

Decision Draft::take(Reply reply) { return Decision{std::move(events_), std::move(reply), {}}; }

// All of a user's crontab is in the event: of many lines that are disabled by one decision the last
// one counts.
void Draft::drop_earlier_crontab() {
  const uint32_t uid = std::get<CrontabReplaced>(events_.back()).crontab.uid;
  const auto is_earlier = [uid](const Event& event) {
    const auto* replaced = std::get_if<CrontabReplaced>(&event);
    return replaced != nullptr && replaced->crontab.uid == uid;
  };
  events_.erase(std::remove_if(events_.begin(), events_.end() - 1, is_earlier), events_.end() - 1);
}

}  // namespace sluice::state
