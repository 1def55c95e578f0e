// Whether a launch is young enough to count. Its time is the controller's, and so are those that it
// is compared with: a node whose clock is wrong would refuse what is new, or take what is old.
#pragma once

#include "common/base/result.hpp"
#include "noded/node/node_state.hpp"

namespace sluice::noded {

// A launch that was seen on the wire is of no use later: when its job is over it is known to be
// (Jobs remembers longer than it holds), and after a restart, when that is forgotten, only later
// ones count. kRetry, so that the controller signs anew; what is known of its clock may have to be
// asked again before.
[[nodiscard]] Status check_age(NodeState& node, Time issued);

// Whether the launch is of another time than what is known of the controller's clock says, which
// may be wrong. One that was only overtaken by a registration is signed anew: to register for it
// would make all others that are on their way as old.
[[nodiscard]] bool doubts_clock(const NodeState& node, Time issued);

}  // namespace sluice::noded
