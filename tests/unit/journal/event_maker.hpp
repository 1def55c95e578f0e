// A random but valid life of a small cluster, as events: what a controller would journal.
#pragma once

#include <random>
#include <vector>

#include "common/base/time.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/state/events/events.hpp"

namespace sluice::test {

class EventMaker {
 public:
  // The same seed makes the same events.
  explicit EventMaker(uint64_t seed) : random_(seed) {}

  // The events of the next command, applied to state() already, and the blobs they mention.
  state::Events next();

  const state::ClusterState& state() const { return state_; }
  Time now() const { return now_; }
  std::vector<journal::Blob> take_blobs() { return std::exchange(blobs_, {}); }

 private:
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }
  std::vector<JobId> ids(const state::CowIdSet& set) const;
  void start_cluster(state::Events& events);
  void submit(state::Events& events);
  void hold_or_release(state::Events& events);
  void change_waiting(state::Events& events);
  void start(state::Events& events);
  void step(state::Events& events);
  void suspend_or_resume(state::Events& events);
  void complete(state::Events& events);
  void clean(state::Events& events);
  void cancel_pending(state::Events& events);
  void change_node(state::Events& events);
  void change_trigger(state::Events& events);
  void change_accounting(state::Events& events);
  void change_dynamic_node(state::Events& events);
  void change_partition(state::Events& events);
  void purge(state::Events& events);
  std::shared_ptr<const Allocation> allocate();
  std::string blob(std::string bytes);
  void make(state::Events& events, state::Event event);

  std::mt19937_64 random_;
  state::ClusterState state_;
  Time now_ = from_seconds(1'800'000'000);
  std::vector<journal::Blob> blobs_;
};

}  // namespace sluice::test
