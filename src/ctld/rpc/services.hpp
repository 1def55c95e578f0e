// The controller's methods, by who calls them. Handlers run on the server's threads: queries answer
// from the newest durable snapshot, changes become commands and are answered by the publisher.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/auth/signer.hpp"
#include "common/rpc/rpc_server.hpp"
#include "common/rpc/slow_work.hpp"
#include "ctld/agents/launch_refusals.hpp"
#include "ctld/agents/liveness.hpp"
#include "ctld/agents/node_links.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/engine/scheduler_loop.hpp"
#include "ctld/job_submit/submit_script.hpp"
#include "ctld/journal/store.hpp"
#include "ctld/rpc/call_counts.hpp"
#include "ctld/query/users.hpp"
#include "ctld/query/step_waiters.hpp"
#include "ctld/rpc/submit_hosts.hpp"
#include "ctld/query/watches.hpp"
#include "ctld/agents/config_for_nodes.hpp"
#include "ctld/agents/sent_files.hpp"

namespace sluice::ctld {

// Set by scontrol until the configuration is read again.
class RuntimeValues {
 public:
  void set(std::optional<uint32_t> dampening, std::optional<uint32_t> log_level) {
    const std::lock_guard lock(mutex_);
    if (dampening) dampening_ = dampening;
    if (log_level) log_level_ = log_level;
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    dampening_ = log_level_ = std::nullopt;
  }
  [[nodiscard]] std::pair<std::optional<uint32_t>, std::optional<uint32_t>> get() const {
    const std::lock_guard lock(mutex_);
    return {dampening_, log_level_};
  }

 private:
  mutable std::mutex mutex_;
  std::optional<uint32_t> dampening_, log_level_;  // guarded by mutex_
};

// What the handlers work with; all outlive the server.
struct ServiceParts {
  engine::Engine& engine;
  const engine::Publisher& publisher;
  engine::SchedulerLoop& scheduler;
  journal::JournalReader& store;
  const net::CredentialSigner& signer;
  NodeLinks& links;
  Liveness& liveness;
  Watches& watches;
  StepWaiters& step_waiters;
  Users& users;
  engine::Clock clock;
  Time boot_time = kNoTime;
  std::string host;
  std::function<Status()> reconfigure;  // reads the configuration again
  std::function<void(bool controller_only)> shutdown;
  RuntimeValues& runtime;
  CallCounts& calls;
  const SentFiles& sent_files;
  ConfigForNodes& config_for_nodes;
  LaunchRefusals& refusals;
  SubmitHosts& submit_hosts;
  // records that wait for the accounting daemon
  std::function<void(protocol::QueryStatisticsReply&)> report_history;
  // orders to nodes that are under way or to be repeated (sdiag)
  std::function<void(protocol::QueryStatisticsReply&)> report_orders;
  net::SlowWork& planning;  // see answer_by_planning()
  SubmitScript& submit_script;
};
// What plans may take long and be asked for often (sbatch --test-only, sluice explain): one thread
// has them, one of each user at a time, so that nobody else's requests wait for it.
inline constexpr net::SlowWork::Limits kPlanningWork{
    .threads = 1, .running_of_user = 1, .waiting_of_user = 64, .waiting = 1024};

// Answers with what `make` gives, unless the caller waits no more when it has its turn.
template <class Reply>
void answer_by_planning(ServiceParts& parts, const net::CallContext& context,
                        net::Responder<Reply> responder, std::function<Result<Reply>()> make) {
  const auto shared = std::make_shared<net::Responder<Reply>>(std::move(responder));
  const auto work = [&parts, shared, make = std::move(make), deadline = context.deadline] {
    if (parts.clock() >= deadline || shared->is_gone()) return shared->fail(ErrorCode::kTimedOut);
    shared->complete(make());
  };
  if (!parts.planning.post(context.identity.uid, work))
    shared->fail(ErrorCode::kRetry, "too many such requests wait already");
}

// What the log says of refused requests: those by which users and administrators change something
// with what was wrong with them.
[[nodiscard]] std::shared_ptr<net::RefusalLog> make_refusal_log();

// SubmitJob, EndAllocation, WatchJob
void add_submit_methods(net::RpcServer& server, ServiceParts& parts);
// CreateStep, DescribeStep, AttachStep
void add_step_methods(net::RpcServer& server, ServiceParts& parts);
void add_change_methods(net::RpcServer& server, ServiceParts& parts);  // Signal, JobAction, Update…
void add_query_methods(net::RpcServer& server, ServiceParts& parts);   // Query…, Explain …
void add_config_methods(net::RpcServer& server, ServiceParts& parts);  // Ping, FetchConfig
void add_node_methods(net::RpcServer& server, ServiceParts& parts);    // RegisterNode, Report…
// RebootNodes, …Trigger…, …Crontab
void add_admin_methods(net::RpcServer& server, ServiceParts& parts);
void add_statistics_methods(net::RpcServer& server, ServiceParts& parts);   // QueryStatistics
void add_usage_methods(net::RpcServer& server, ServiceParts& parts);        // QueryUsage
void add_priority_methods(net::RpcServer& server, ServiceParts& parts);     // QueryPriorities
void add_assoc_mgr_methods(net::RpcServer& server, ServiceParts& parts);    // QueryAssocMgr
void add_reservation_methods(net::RpcServer& server, ServiceParts& parts);  // …Reservation
void add_token_methods(net::RpcServer& server, ServiceParts& parts);        // CreateUserToken
void add_broadcast_methods(net::RpcServer& server, ServiceParts& parts);    // BroadcastTicket
void add_outside_methods(net::RpcServer& server, ServiceParts& parts);      // LaunchOutside

// --- helpers of the handlers ---------------------------------------------------------------------

// Keeps bytes as a blob and gives its key; nothing for no bytes.
[[nodiscard]] SharedText keep_blob(std::string bytes, std::vector<journal::Blob>& blobs);
// What a request may leave on the disk: a script as long as max_script_size says, an environment
// that exec(3) could take.
[[nodiscard]] Status check_blobs(const ServiceParts& parts, std::string_view script,
                                 std::string_view environment);
// The proved identity, and what the system knows of it. Root may submit for others (--uid).
[[nodiscard]] Result<state::SubmitJob> make_submit(ServiceParts& parts,
                                                   const net::CallContext& context, JobSpec spec,
                                                   std::vector<JobSpec> components = {});

// kInvalidJobId, kAccessDenied: neither the job's owner nor an administrator.
[[nodiscard]] Status may_see(const state::ClusterState& state, JobId id, uint32_t uid);
// The same of who may read and write what its steps print and read: see may_act_as_owner().
[[nodiscard]] Status may_attach(const state::ClusterState& state, JobId id, uint32_t uid);

// PrivateData and hidden partitions hide nothing from these.
[[nodiscard]] inline bool asked_by_operator(const state::ClusterState& state,
                                            const net::CallContext& context) {
  return context.is_super_user() || state::is_operator(state, context.identity.uid);
}
[[nodiscard]] inline state::Identity identity_of(const net::CallContext& context) {
  return {context.identity.uid, context.identity.gid};
}
// Answers `responder` with what `make` makes of the core's reply, once that is durable.
template <class Reply, class Make>
[[nodiscard]] engine::Done answer(std::shared_ptr<net::Responder<Reply>> shared, Make make) {
  return [shared = std::move(shared), make](const Result<state::Reply>& reply,
                                            const state::ClusterSnapshot& after) {
    if (!reply) return shared->fail(reply.error());
    shared->complete(make(*reply, *after));
  };
}
template <class Reply, class Make>
[[nodiscard]] engine::Done answer(net::Responder<Reply> responder, Make make) {
  return answer(std::make_shared<net::Responder<Reply>>(std::move(responder)), make);
}
[[nodiscard]] inline engine::Done answer_empty(net::Responder<protocol::Empty> responder) {
  return answer(std::move(responder),
                [](const state::Reply&, const state::ClusterState&) -> Result<protocol::Empty> {
                  return protocol::Empty{};
                });
}
[[nodiscard]] inline engine::Done answer_count(net::Responder<protocol::CountReply> responder) {
  return answer(
      std::move(responder),
      [](const state::Reply& reply, const state::ClusterState&) -> Result<protocol::CountReply> {
        const auto* count = std::get_if<protocol::CountReply>(&reply);
        return count != nullptr ? *count : protocol::CountReply{};
      });
}

}  // namespace sluice::ctld
