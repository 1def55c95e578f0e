#include "stepd/step_orders.hpp"

#include <csignal>

namespace sluice::stepd {

SignalOrder order_of(const protocol::SignalStepRequest& request, bool is_batch, bool held) {
  SignalOrder order;
  if (request.signal == 0) return order;
  const int signal = static_cast<int>(request.signal);
  // slurmstepd takes these for the end, whatever becomes of the tasks; srun goes on with them
  // meanwhile
  order.tells_of_end = signal == SIGTERM || (signal == SIGKILL && is_batch);
  const bool ends = signal == SIGKILL || signal == SIGTERM || signal == SIGINT;
  if (held && ends) order.target = SignalTarget::kTheEnd;
  else if (held && (signal == SIGSTOP || signal == SIGCONT)) order.target = SignalTarget::kHolding;
  else order.target = request.batch_shell_only ? SignalTarget::kTasks : SignalTarget::kAll;
  return order;
}

}  // namespace sluice::stepd
