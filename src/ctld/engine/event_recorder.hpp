// Who is shown each event on its way into the state, and keeps what others are to be told of it:
// durable together with the event (journal/store.hpp).
#pragma once

#include <string>
#include <vector>

#include "ctld/journal/store.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::engine {

// All on the engine's thread.
class EventRecorder {
 public:
  EventRecorder() = default;
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;
  virtual ~EventRecorder() = default;

  // Around apply(). `now`: when the command was decided.
  virtual void before(const state::ClusterState& state, const state::Event& event, Time now) = 0;
  virtual void after(const state::ClusterState& state, const state::Event& event, Time now) = 0;
  // The records of one command, to be kept with its frame. `blobs` came with it.
  [[nodiscard]] virtual std::vector<std::string> take(const state::ClusterState& state,
                                                      const std::vector<journal::Blob>& blobs) = 0;
};

}  // namespace sluice::engine
