// What the cluster's nodes have free now and later: less what running jobs hold until their time
// limits, what this pass starts, and what it plans for jobs that wait. A pass only takes; what it
// gives back (a trial that failed, a job that is preempted) is told to the timeline.
//
// A tick is a second, or SchedulerParameters=bf_resolution. Ticks begin at whole multiples of that
// since 1970, whenever a pass is: two passes that know the same plan the same. The first is the
// next such moment; a job that starts now is taken as starting then.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/base/bitmap.hpp"
#include "ctld/fit/place.hpp"
#include "ctld/sched/request.hpp"
#include "ctld/sched/topology/topology.hpp"
#include "ctld/sched/gang_turns.hpp"
#include "ctld/state/core/cluster_state.hpp"
#include "ctld/timeline/timeline.hpp"

namespace sluice::sched {

using timeline::Tick;

// When a running job gives its nodes back, as far as can be told; `now` where it is overdue.
[[nodiscard]] Time expected_end(const state::ClusterState& state, const Job& job, Time now);

// Nodes that it has not given back.
[[nodiscard]] Bitmap nodes_of(const Job& job);

// A job's part of a node in a span of time.
struct NodeSpan {
  Tick from = 0, to = 0;
  JobId job = kNoJob;
  const NodeAllocation* part = nullptr;         // not owned
  const state::Partition* partition = nullptr;  // null: it is no more
  uint32_t uid = 0;
  uint32_t group = 0;  // the reservation that it is in; 0: none
  uint32_t sharers = 1;
  bool whole = false;
  bool one_user = false;
  bool runs = false;        // it held it when the pass began
  bool cores_only = false;  // of a job that goes on: it has never given back the rest
  bool parked = false;      // of a suspended job: it holds memory and generic resources alone
  bool counts = true;       // among the sharers of its cores (state::counts_as_sharer)

  [[nodiscard]] timeline::Claim claim() const;
};

using SharedNodes = std::shared_ptr<const std::vector<NodeAllocation>>;

// What a pass gave a job, now or for later.
struct Claimed {
  JobId job = kNoJob;
  const state::Partition* partition = nullptr;
  Tick from = 0, to = 0;
  SharedNodes nodes;
};

// A running job that is looked at as preempted.
struct Leaving {
  Time end = kNoTime;  // when it gives back what it holds
  bool parks = false;  // it is suspended: it gives back its cores, and nothing else
};
using Gone = std::unordered_map<JobId, Leaving>;

class Resources {
 public:
  // `state` outlives this.
  Resources(const state::ClusterState& state, Time now);
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  [[nodiscard]] const state::ClusterState& state() const { return state_; }
  [[nodiscard]] const fit::Rules& rules() const { return rules_; }
  [[nodiscard]] const Topology* topology() const { return topology_.get(); }  // null: none
  // Nodes of the groups that nobody uses in this time, for jobs that want them for themselves.
  [[nodiscard]] Bitmap idle_groups(Tick from, Tick to) const;
  // The nodes that the running job holds, and those that it keeps others off.
  [[nodiscard]] Bitmap touched_by(const Job& job) const;
  [[nodiscard]] const timeline::Timeline& timeline() const { return timeline_; }
  [[nodiscard]] Time now() const { return now_; }                    // when the first tick begins
  [[nodiscard]] Duration resolution() const { return resolution_; }  // of a tick

  // The first tick that is not before `when`; the last that is not after it.
  [[nodiscard]] Tick tick_from(Time when) const;
  [[nodiscard]] Tick tick_until(Time when) const;
  [[nodiscard]] Time time_of(Tick tick) const { return now_ + int64_t{tick} * resolution_; }
  // How long a job with this limit holds its nodes, as far as planning goes: UNLIMITED counts as a
  // year.
  [[nodiscard]] Tick duration_of(Minutes limit) const;
  // When a job that starts now with this limit has given its nodes back.
  [[nodiscard]] Time end_of(Minutes limit) const;

  // The node with nothing on it; null: it is not schedulable.
  [[nodiscard]] const fit::Room* idle(NodeId node) const {
    return idle_[node].config == nullptr ? nullptr : &idle_[node];
  }
  [[nodiscard]] timeline::Free base_of(NodeId node) const;  // the same, of a schedulable node
  // Hardware threads of a core of a schedulable node.
  [[nodiscard]] uint32_t threads_of(NodeId node) const { return threads_[node]; }
  // A moment up to and without another one, of a node as some jobs see it (null: as it is).
  struct Window {
    NodeId node = kNoNode;
    Tick from = 0, to = 0;
    const timeline::Timeline::View* view = nullptr;
  };
  // What is free of a schedulable node all of that time. `held` (may be null) is filled with what
  // jobs of the partition hold then, where it has bounds.
  void window(const Window& what, const state::Partition& partition, fit::Room& room,
              fit::PartitionUse* held) const;
  // The same with what is free given.
  void room_with(NodeId node, const timeline::Free& free, fit::Room& room) const;
  // `gone` (may be null): running jobs that are not counted.
  [[nodiscard]] fit::PartitionUse held_in(NodeId node, Tick from, Tick to,
                                          const state::Partition& partition,
                                          const Gone* gone = nullptr) const;
  // Cores of the node that fewer than `sharers` jobs of the partition hold in [0, to), and none of
  // others.
  [[nodiscard]] Bitmap shareable_cores(NodeId node, Tick to, const state::Partition& partition,
                                       uint32_t sharers) const;
  // The partition's schedulable nodes in the order in which they are tried.
  [[nodiscard]] const std::vector<NodeId>& order_of(const state::Partition& partition);
  // Times in which reservations keep jobs like this off a node, by node; a node that is not in it
  // is open. Those that are never open are in `closed`.
  using NodeClosings = std::unordered_map<NodeId, std::vector<timeline::Closing>>;
  struct Closings {
    std::shared_ptr<const NodeClosings> by_node;
    Bitmap closed;
    // without cores that are reserved for others; null: there are none
    const timeline::Timeline::View* view = nullptr;
  };
  [[nodiscard]] Closings closings_for(const Request& request) const;
  // What such a job may not use in this time: excluded nodes, and what reservations keep.
  [[nodiscard]] state::NodeHold closed_to(const Request& request, Time from, Time to) const;
  // The room without cores that are closed; false: all of it is.
  [[nodiscard]] bool leave_open(const state::NodeHold& closed, fit::Room& room) const;

  // The job holds this from `from` to `to`. The allocation is copied.
  void claim(const Job& job, const Request& request, const std::vector<NodeAllocation>& allocation,
             Tick from, Tick to);
  // The same without a copy.
  void claim(const Job& job, const Request& request, SharedNodes nodes, Tick from, Tick to);
  // All that was claimed, in order.
  [[nodiscard]] std::span<const Claimed> claims() const { return claims_; }
  // Whether all of this is free in [from, to), and open for such jobs.
  [[nodiscard]] bool is_free(const Request& request, const std::vector<NodeAllocation>& nodes,
                             Tick from, Tick to) const;
  // What was claimed for a job that waits is free again; what it was. Outside of trials.
  [[nodiscard]] std::vector<Claimed> withdraw(JobId job);
  // What claim() and end_early() do from begin_trial() on is undone by end_trial(false).
  void begin_trial() { trial_.emplace(Trial{{}, claims_.size(), {}}); }
  void end_trial(bool keep);
  // Running jobs give their nodes back at these times.
  void end_early(const Gone& ends);
  // A job that was suspended for others goes on when its cores are free for the rest of its time,
  // and has them from then on: at this moment, or kNoTick.
  [[nodiscard]] Tick plan_resume(const Job& job);
  // The node's timeline with neither these jobs nor what they hold.
  [[nodiscard]] timeline::NodeTimeline without(NodeId node, const Gone& gone) const;
  // How long these nodes stay free from now on, as ticks.
  [[nodiscard]] Tick free_until(const Request& request,
                                const std::vector<NodeAllocation>& nodes) const;
  // The first span of a waiting job that is planned on the node and begins after now; null: none.
  [[nodiscard]] const NodeSpan* first_planned(NodeId node) const;

 private:
  void hold(const Job& job);
  void keep_others_off(const NodeSpan& span, const Bitmap& nodes);
  // The job and all with which it takes turns hold their CPUs longer for that.
  void stretch(GangTurns::Place place);
  void claim(const Job& job, const Request& request, Claimed claim);
  struct MadeClosings {
    std::shared_ptr<const NodeClosings> by_node;
    const timeline::Timeline::View* view = nullptr;
  };
  struct InAndOut {
    std::vector<timeline::Closing> in, out;
  };
  [[nodiscard]] InAndOut split_times(const std::vector<timeline::Closing>& list,
                                     const Reservation* own) const;
  [[nodiscard]] Bitmap cores_beside(NodeId node, const Bitmap& cores) const;
  void reserve_counts(const Request& request, const Reservation& of,
                      const std::vector<timeline::Closing>& when,
                      timeline::ReservedForOthers& reserved) const;
  void confine(const Request& request, timeline::ReservedForOthers& reserved) const;
  void tell_claims(NodeId node) const;
  [[nodiscard]] MadeClosings make_closings(const Request& request) const;
  [[nodiscard]] bool may_share_again(const Job& job, Tick to) const;
  void rebuild(NodeId node);

  const state::ClusterState& state_;
  const Duration resolution_;
  const Time now_;
  const fit::Rules rules_;
  const std::unique_ptr<const Topology> topology_;
  const std::vector<Bitmap> groups_;          // leaf switches or blocks
  std::vector<fit::Room> idle_;               // by NodeId; without configuration: not schedulable
  std::vector<uint32_t> threads_;             // by NodeId, of a core
  mutable timeline::Timeline timeline_;       // views are added as they are asked for
  std::vector<std::vector<NodeSpan>> spans_;  // by NodeId
  GangTurns turns_;                           // of jobs that take turns, where they do
  std::vector<Claimed> claims_;
  std::unordered_map<const state::Partition*, std::vector<NodeId>> orders_;
  struct Trial {
    std::vector<NodeId> nodes;  // claimed since it began, in order
    size_t claims = 0;          // before it began
    // nodes on which jobs end early, as they were
    std::unordered_map<NodeId, std::vector<NodeSpan>> before;
  };
  std::optional<Trial> trial_;
  mutable timeline::Free scratch_;
  // by the reservation in which a job would run, and how soon it leaves
  mutable std::map<std::pair<const Reservation*, std::optional<Duration>>, MadeClosings> closings_;
};

}  // namespace sluice::sched
