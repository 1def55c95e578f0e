#include "noded/node/launch_age.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/auth/token.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::noded {
namespace {

bool is_of_the_future(Time issued, Time present) { return issued > present + net::kClockTolerance; }
bool has_expired(Time issued, Time present) {
  return present - issued > protocol::kLaunchLifetime + net::kClockTolerance;
}

}  // namespace

Status check_age(NodeState& node, Time issued) {
  const Time present = controller_time(node);
  // a clock that was set back is right now
  node.answered_from = std::min(node.answered_from, present);
  node.launches_from = std::min(node.launches_from, present);
  const int64_t age = to_seconds(present - issued);
  if (is_of_the_future(issued, present)) {
    return failure(
        ErrorCode::kRetry,
        fmt::format("the launch is not valid yet (signed in {} s by the controller's clock)",
                    -age));
  }
  if (has_expired(issued, present)) {
    return failure(
        ErrorCode::kRetry,
        fmt::format("the launch has expired (signed {} s ago by the controller's clock)", age));
  }
  if (issued < node.answered_from) {
    return failure(ErrorCode::kRetry,
                   "the launch was signed before this agent had last registered");
  }
  if (issued < node.launches_from) {
    return failure(
        ErrorCode::kRetry,
        "the controller was not heard for long since it was signed: its job may run elsewhere");
  }
  return {};
}

bool doubts_clock(const NodeState& node, Time issued) {
  const Time present = controller_time(node);
  return is_of_the_future(issued, present) || has_expired(issued, present);
}

}  // namespace sluice::noded
