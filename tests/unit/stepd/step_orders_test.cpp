#include "stepd/step_orders.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace sluice::stepd {
namespace {

struct Case {
  int signal;
  bool is_batch;
  bool held;
  SignalTarget target;
  bool tells_of_end;
};

TEST(SignalOrders, WhoGetsASignalAndWhoIsTold) {
  using enum SignalTarget;
  for (const Case& one : {
           Case{0, false, false, kNobody, false},
           Case{0, false, true, kNobody, false},
           Case{SIGUSR1, false, false, kAll, false},
           Case{SIGTERM, false, false, kAll, true},
           Case{SIGTERM, true, false, kAll, true},
           Case{SIGKILL, false, false, kAll, false},
           Case{SIGKILL, true, false, kAll, true},
           Case{SIGINT, false, false, kAll, false},
           Case{SIGSTOP, false, false, kAll, false},
           Case{SIGTERM, false, true, kTheEnd, true},
           Case{SIGKILL, false, true, kTheEnd, false},
           Case{SIGINT, false, true, kTheEnd, false},
           Case{SIGSTOP, false, true, kHolding, false},
           Case{SIGCONT, false, true, kHolding, false},
           Case{SIGUSR1, false, true, kAll, false},
       }) {
    protocol::SignalStepRequest request;
    request.signal = static_cast<uint32_t>(one.signal);
    const SignalOrder order = order_of(request, one.is_batch, one.held);
    EXPECT_EQ(order.target, one.target) << one.signal << one.is_batch << one.held;
    EXPECT_EQ(order.tells_of_end, one.tells_of_end) << one.signal << one.is_batch << one.held;
  }
}

TEST(SignalOrders, OneForTheShellOfABatchScriptGoesToItAlone) {
  protocol::SignalStepRequest request;
  request.signal = SIGTERM;
  request.batch_shell_only = true;
  EXPECT_EQ(order_of(request, true, false).target, SignalTarget::kTasks);
  EXPECT_TRUE(order_of(request, true, false).tells_of_end);
}

}  // namespace
}  // namespace sluice::stepd
