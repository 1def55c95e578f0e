// decide(): hands a command to its own overload.
#include "ctld/state/decide.hpp"

#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {

Result<Decision> decide(const ClusterState& state, const Command& command, Time now) {
  return std::visit([&](const auto& c) { return decide_on(state, c, now); }, command);
}

}  // namespace sluice::state
