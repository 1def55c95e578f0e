#include "ctld/agents/roll_call.hpp"

#include <utility>

namespace sluice::ctld {

RollCall::RollCall(const state::ClusterState& state, std::function<void()> complete)
    : complete_(std::move(complete)) {
  state.nodes.for_each([&](const Node& node) {
    const bool served = state::expects_agent(node) && node.hardware != nullptr &&
                        node.base != NodeBaseState::kDown && (node.flags & kNodeNoRespond) == 0;
    if (served) missing_.set(node.id);
  });
  if (missing_.none()) std::exchange(complete_, nullptr)();
}

void RollCall::answered(NodeId node) {
  std::function<void()> complete;
  {
    const std::lock_guard lock(mutex_);
    if (missing_.none()) return;
    missing_.reset(node);
    if (missing_.none()) complete = std::exchange(complete_, nullptr);
  }
  if (complete) complete();
}

void RollCall::cancel() {
  const std::lock_guard lock(mutex_);
  missing_.clear();
  complete_ = nullptr;
}

}  // namespace sluice::ctld
