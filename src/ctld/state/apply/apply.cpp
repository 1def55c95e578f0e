// apply(): hands an event to its own overload.
#include "ctld/state/apply.hpp"

#include "ctld/state/apply/verbs.hpp"

namespace sluice::state {

void apply(ClusterState& state, const Event& event) {
  std::visit([&](const auto& e) { apply_event(state, e); }, event);
}

}  // namespace sluice::state
