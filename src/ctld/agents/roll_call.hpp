// Which nodes have yet to say what job ids they know, after a start of the controller: its state
// may be an old one that was put back, and ids that it would give were given. Any thread.
#pragma once

#include <functional>
#include <mutex>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::ctld {

class RollCall {
 public:
  // Those are waited for that served when the controller ended. `complete` is called once: at the
  // last of them, at once when there is none.
  RollCall(const state::ClusterState& state, std::function<void()> complete);
  // It has registered, or cannot be asked.
  void answered(NodeId node);
  void cancel();  // `complete` is not called any more

 private:
  std::mutex mutex_;
  Bitmap missing_;  // guarded by mutex_
  std::function<void()> complete_;
};

}  // namespace sluice::ctld
