// What a signal comes to that the agent passes on for the user or the controller. Pure.
#pragma once

#include "common/protocol/noded.hpp"

namespace sluice::stepd {

enum class SignalTarget : uint8_t {
  kNobody,   // there is none to be sent
  kTheEnd,   // tasks that have not begun do not begin any more
  kHolding,  // tasks that have not begun begin later, or now
  kTasks,    // the processes of the tasks, not what they started
  kAll,      // every process of the step
};
struct SignalOrder {
  SignalTarget target = SignalTarget::kNobody;
  bool tells_of_end = false;  // the user hears that the step was cancelled
};

// `held`: the tasks wait for their srun.
[[nodiscard]] SignalOrder order_of(const protocol::SignalStepRequest& request, bool is_batch,
                                   bool held);

}  // namespace sluice::stepd
