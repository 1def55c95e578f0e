// GroupUpdateTime: who is in which group now, for waiting jobs in partitions with AllowGroups.
#include "ctld/state/rules/access.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {

Result<Decision> decide_on(const ClusterState& state, const UsersGroups& command, Time) {
  Decision decision;
  for (const UsersGroups::User& user : command.users) {
    if (auto found = new_groups(state, user.uid, user.groups))
      decision.events.emplace_back(std::move(*found));
  }
  return decision;
}

}  // namespace sluice::state
