// Carries out the core's effects: orders to nodes, news for those who wait, programs of the site.
// Everything is sent off and not waited for; what fails is reported back as a command, or tried
// again.
#pragma once

#include <memory>

#include "common/auth/signer.hpp"
#include "ctld/agents/node_links.hpp"
#include "ctld/agents/orders.hpp"
#include "ctld/agents/site_programs.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/scheduler_loop.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/query/step_waiters.hpp"
#include "ctld/query/users.hpp"
#include "ctld/query/watches.hpp"
#include "ctld/state/messages/effects.hpp"

namespace sluice::ctld {

class EffectRunner {
 public:
  // All outlive this.
  struct Parts {
    journal::JournalReader& store;
    const net::CredentialSigner& signer;
    NodeLinks& links;
    Watches& watches;
    StepWaiters& step_waiters;
    SitePrograms& programs;
    Users& users;
    LaunchRefusals& refusals;
  };
  explicit EffectRunner(Parts parts);
  EffectRunner(const EffectRunner&) = delete;
  EffectRunner& operator=(const EffectRunner&) = delete;
  ~EffectRunner();  // stop()

  // Before the first effect: both need this one to exist first.
  void connect(engine::Engine& engine, engine::SchedulerLoop& scheduler,
               const engine::Publisher& publisher);
  // engine::EffectSink. Never blocks.
  void run(const state::Effects& effects, const state::ClusterSnapshot& state);
  void stop();  // waits for what is being sent
  // Orders to nodes, into the answer to sdiag. Any thread.
  void report_orders(protocol::QueryStatisticsReply& reply) const { orders_->report(reply); }

 private:
  using Snapshot = state::ClusterSnapshot;
  template <class Order>
  requires state::IsNodeOrder<Order>
  void handle(const Order& order, const Snapshot& state) { orders_->give(order, state); }
  void handle(const state::ReconfigureNodes& effect, const Snapshot& state);
  void handle(const state::EndAgents& effect, const Snapshot& state);
  void handle(const state::RebootNow& effect, const Snapshot& state);
  void tell_of_failed_reboot(const std::string& nodes, uint32_t slurm_user, int status);
  void handle(const state::PowerNodes& effect, const Snapshot& state);
  void handle(const state::RunTrigger& effect, const Snapshot& state);
  void handle(const state::JobChanged& effect, const Snapshot& state);
  void handle(const state::StepRoomFreed& effect, const Snapshot& state);
  void handle(const state::JobRecordEnded& effect, const Snapshot& state);
  void handle(const state::SendMail& effect, const Snapshot& state);
  void handle(const state::RunControllerProlog& effect, const Snapshot& state);
  void handle(const state::RunControllerEpilog& effect, const Snapshot& state);
  void handle(const state::RunReservationProgram& effect, const Snapshot& state);
  void handle(const state::WakeScheduler& effect, const Snapshot& state);
  void handle(const state::RunTick& effect, const Snapshot& state);

  Parts parts_;
  const std::shared_ptr<Orders> orders_;
  engine::Engine* engine_ = nullptr;            // not owned
  engine::SchedulerLoop* scheduler_ = nullptr;  // not owned
};

}  // namespace sluice::ctld
