// Orders to nodes about the life of jobs, steps and the nodes themselves. What does not reach a
// node is sent again, for as long as the newest durable state wants it there (state/wanted.hpp): a
// link that breaks for a moment loses nothing. What goes wrong at a node that was reached is
// logged; a launch that a node refuses ends the step there.
//
// Orders may overtake each other on their way. Nodes see to it that this changes nothing: an end
// that comes before its launch holds for it, a launch or prolog after the end of its run is
// refused, the newest of stop and go counts, and after each configuration it registers, which gives
// it the newest.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "common/auth/signer.hpp"
#include "ctld/agents/launch_refusals.hpp"
#include "ctld/agents/node_links.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/query/users.hpp"
#include "ctld/state/rules/wanted.hpp"

namespace sluice::ctld {

// Shared: answers that come when it is gone must find that out.
class Orders : public std::enable_shared_from_this<Orders> {
 public:
  // All outlive it, and are used until stop().
  struct Parts {
    journal::JournalReader& store;
    const net::CredentialSigner& signer;
    NodeLinks& links;
    Users& users;
    LaunchRefusals& refusals;
  };
  [[nodiscard]] static std::shared_ptr<Orders> create(const Parts& parts);
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;
  ~Orders();  // stop()

  // Before the first order.
  void connect(engine::Engine& engine, const engine::Publisher& publisher);
  // Sends it to its nodes as they are in `state`. Any thread; never blocks.
  void give(state::NodeOrder order, const state::ClusterSnapshot& state);
  // Nothing is repeated any more (resume() does that in the next life); waits for what is being
  // sent.
  void stop();
  // How many are under way or to be repeated, into the answer to sdiag.
  void report(protocol::QueryStatisticsReply& reply) const;

 private:
  using Snapshot = state::ClusterSnapshot;
  using Clock = std::chrono::steady_clock;
  using Done = NodeLinks::Done;
  // One sending of an order.
  struct Round {
    state::NodeOrder order;
    Bitmap nodes;         // that it is for
    uint32_t failed = 0;  // rounds before it
    Clock::time_point given;
    uint64_t number = 0;  // of the order
  };
  // What became of a round.
  struct Outcome {
    std::vector<net::FanoutResult> failed;
    bool taken = false;  // by a node at least
  };
  struct Waiting {
    Round round;
    std::unique_ptr<boost::asio::steady_timer> timer;
  };

  explicit Orders(const Parts& parts) : parts_(parts) {}
  void send(const Round& round, const Snapshot& state);
  void add_groups(const state::ClusterState& state, protocol::StepLaunch& launch) const;
  void transmit(const state::LaunchStep& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::LaunchProlog& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::SignalSteps& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::TerminateStep& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::TerminateJob& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::RebootNow& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::ReconfigureNodes& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void transmit(const state::EndAgents& order, const Bitmap& nodes, const Snapshot& state,
                const Done& done);
  void note_answers(const Round& round, const std::vector<net::FanoutResult>& results);
  void answered(const Round& round, const Outcome& outcome);
  void refused(const Round& round, const std::vector<net::FanoutResult>& results);
  // Joins a round about the same that waits already.
  void repeat_later(Round round);
  void repeat(const state::OrderSubject& subject);

  const Parts parts_;
  engine::Engine* engine_ = nullptr;              // not owned
  const engine::Publisher* publisher_ = nullptr;  // not owned
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> numbers_ = 0;
  std::atomic<int64_t> under_way_ = 0;  // rounds that are not answered yet
  mutable std::mutex mutex_;
  std::map<state::OrderSubject, Waiting> waiting_;  // guarded, with its timers
  // for what reads the journal or signs, and repeats; stop() waits for them
  boost::asio::thread_pool workers_{2};
};

// The pause after so many rounds of an order (at least 1) that did not reach all of its nodes: 300
// ms, then twice as long each time, up to 3 s; of a configuration up to a minute, because a node
// that comes back registers, which brings it.
[[nodiscard]] Duration repeat_pause(const state::NodeOrder& order, uint32_t failed);

}  // namespace sluice::ctld
