// What node agents say: registrations, ends of steps and jobs, prologs.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "common/log/log.hpp"
#include "common/base/time_text.hpp"
#include "common/net/address.hpp"
#include "common/os/clock.hpp"
#include "common/model/ping_interval.hpp"
#include "common/names/job_states.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/protocol_version.hpp"
#include "ctld/logs/event_log.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;

// Agents run as SlurmdUser; reports of anybody else would free nodes and end jobs.
Status only_agents(ServiceParts& parts, const CallContext& context) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  if (context.is_super_user() || context.identity.is_user(now->config->slurmd_user_id)) return {};
  return failure(ErrorCode::kAccessDenied);
}

Status same_version(uint32_t agent) {
  std::string why = protocol::version_refusal(agent);
  if (why.empty()) return {};
  return failure(ErrorCode::kIncompatibleVersion, std::move(why));
}

// An empty id is a node that never registered; any other must be ours.
Status same_cluster(ServiceParts& parts, const std::string& cluster_id) {
  if (cluster_id.empty() || cluster_id == parts.store.info().cluster_id) return {};
  return failure(ErrorCode::kWrongCluster, "the node belongs to cluster " + cluster_id +
                                               ", this controller to " +
                                               parts.store.info().cluster_id);
}

// Where the node knows this clock its times are by it, and it says nothing of when it sent them.
template <class Report>
void to_own_clock(std::vector<Report>& reports, Time sent) {
  const Time now = net::now();
  for (Report& report : reports)
    report.happened = std::min(protocol::by_own_clock(report.happened, sent, now), now);
}

// "10.0.0.1" of "10.0.0.1:6818", "::1" of "[::1]:6818".
std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.starts_with("::ffff:") ? host.substr(7) : host;
}

// Where an agent is for the others that does not say it: where it called from, unless that is this
// host.
std::string address_of(const CallContext& context, const std::string& host_name, uint32_t port) {
  std::string host = host_of(context.peer);
  const bool own_host = host.starts_with("127.") || host == "::1";
  return own_host && net::resolve(fmt::format("{}:{}", host_name, port)) ? host_name : host;
}

void log_strange_job(const std::string& node, JobId strange, const state::ClusterState& after) {
  static std::once_flag told;
  std::call_once(told, [&] {
    log::error(
        "this state is older than what the nodes know: its journal was damaged, or an older copy was put back. Jobs that "
        "it does not have are ended on their nodes. To keep those that still run stop the controller, put the newest "
        "state back into StateSaveLocation, and start it again; else submit them again");
  });
  log::error("{} knows JobId={}, which this state does not: ids go on with {}", node, strange,
             after.next_job_id);
  after.pending.for_each([&](JobId id) {
    const Job& job = after.jobs.at(id);
    if (job.state_description.view().starts_with("JobId used before"))
      log::info("JobId={} is held: {}", id, job.state_description.view());
  });
}

// Why what a node runs is ended there.
std::string why_forgotten(const state::ClusterState& state, const protocol::StepKey& key) {
  const state::FoundJob job = state::find_job(state, key.id.job);
  if (!job)
    return "this controller does not know the job: it was purged, or the state is an older one that was put back";
  if (job->restart_count != key.restart)
    return fmt::format("that was its restart {}, and it is at {} now", key.restart,
                       job->restart_count);
  if (is_finished(*job))
    return fmt::format("the job is {} since {}", job_state_text(job->state), format_time(job->end));
  return "the job has no such step there, or does not run there any more";
}

void log_forgotten(const std::string& node, const std::vector<protocol::StepKey>& keys,
                   const state::ClusterState& after) {
  for (const protocol::StepKey& key : keys) {
    const std::string text =
        fmt::format("JobId={} StepId={} is ended on node {}: {}", job_id_text(after, key.id.job),
                    step_id_text(key.id), node, why_forgotten(after, key));
    if (state::find_job(after, key.id.job)) log::info("{}", text);
    else
      log::error(
          "{}; to keep jobs that still run, stop the controller and put the newest state back",
          text);
  }
}

// Where the node has not compared the clocks itself yet: what its message took comes on top, which
// is less than a drain is due to. A node that was marked for it is not told of at each
// registration.
void compare_clocks(const state::ClusterState& now, protocol::RegisterNodeRequest& request) {
  if (request.clock_ahead) {
    const std::string text = protocol::clock_difference_text(*request.clock_ahead);
    const Node* node = state::find_node(now, request.name);
    const bool marked = node != nullptr && (node->flags & kNodeInvalidReg) != 0;
    if (!text.empty() && !marked) log::warning("the clock of {} is {}", request.name, text);
  } else if (request.sent != kNoTime) {
    request.clock_ahead = protocol::difference(request.sent, net::now());
  }
}

// Commands there go by the node's own file.
void compare_files(const std::string& own, const std::string& there, const std::string& node,
                   const ClusterConfig& config) {
  const bool is_known = !there.empty() && !own.empty();
  if (!is_known || there == own || log::enabled(log::DebugFlag::kNoConfHash)) return;
  log::warning(
      "the slurm.conf of node {} is another than the controller's ({}): its commands and slurmd go by "
      "other values until both files are the same and have been read again (scontrol reconfigure). "
      "Where that is meant, DebugFlags=NO_CONF_HASH leaves this out",
      node, config.config_path);
}

// The host that each node's agent registered from last.
class Callers {
 public:
  [[nodiscard]] bool is_new(const std::string& node, const std::string& host) {
    const std::lock_guard lock(mutex_);
    return std::exchange(hosts_[node], host) != host;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> hosts_;  // by node
};

// What the log says once of an agent that is not where slurm.conf has its node, which is usual for
// a host with several addresses. Empty: nothing.
std::string other_place(const CallContext& context, const Node& node, Callers& callers) {
  constexpr NodeFlags kLearnt = kNodeCloud | kNodeDynamicNorm | kNodeDynamicFuture;
  const std::string host = host_of(context.peer);
  if ((node.flags & kLearnt) != 0 || !callers.is_new(node.name, host)) return {};
  const std::string configured = agent_address(node);
  const auto numeric = net::resolve(configured);
  if (!numeric || host_of(numeric->text) == host) return {};
  if (net::is_own_address(host) && net::is_own_address(host_of(numeric->text))) return {};
  return fmt::format("node {} registers from {}, which is not its address {}", node.name,
                     context.peer, configured);
}

// Another boot than the known agent's began before that one answered last, moments ago: that is no
// reboot. An agent with -b adds to the boot's id.
void tell_second_agent(ServiceParts& parts, const CallContext& context, const Node& node,
                       const NodeHardware& there) {
  if (node.hardware == nullptr || there.boot_time == kNoTime) return;
  const std::string &known = node.hardware->boot_id, &told = there.boot_id;
  if (known.starts_with(told) || told.starts_with(known)) return;  // also where one says none
  const std::vector<NodeSoft> soft = parts.liveness.soft();
  const Time heard = node.id < soft.size() ? soft[node.id].last_response : kNoTime;
  const Duration recent =
      ping_interval(*parts.publisher.newest()->state->config) + std::chrono::seconds(5);
  if (heard == kNoTime || parts.clock() - heard > recent) return;
  if (there.boot_time + protocol::kMostClockDifference >= heard) return;
  log::error(
      "node {} registers from {}, a host that was up already when the node's agent of another host answered at {}: two "
      "agents have this name",
      node.name, context.peer, format_time(heard));
}

void register_node(ServiceParts& parts, Callers& callers, const CallContext& context,
                   protocol::RegisterNodeRequest request,
                   Responder<protocol::RegisterNodeReply> responder) {
  Status ok = only_agents(parts, context)
                  .and_then([&] { return same_version(request.protocol_version); })
                  .and_then([&] { return same_cluster(parts, request.cluster_id); });
  if (!ok) return responder.fail(ok.error());
  if (request.node_line != nullptr && request.node_line->address.empty()) {
    auto line = std::make_shared<NodeConfig>(*request.node_line);
    line->address = address_of(context, line->hostname, line->port);
    request.node_line = std::move(line);
  }
  NodeHardware& host = request.hardware;
  if (request.claims_future && host.address.empty())
    host.address = address_of(context, host.host_name, host.port);
  compare_clocks(*parts.publisher.newest()->state, request);
  const std::string name = request.name;
  std::string elsewhere;
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  if (const Node* node = state::find_node(*now, name)) {
    tell_second_agent(parts, context, *node, request.hardware);
    elsewhere = other_place(context, *node, callers);
  }
  auto make = [&parts, &sent = parts.config_for_nodes, name, elsewhere,
               there = request.config_digest](
                  const state::Reply& reply,
                  const state::ClusterState& after) -> Result<protocol::RegisterNodeReply> {
    protocol::RegisterNodeReply out;
    const auto& registered = std::get<state::RegisteredReply>(reply);
    out.cluster_id = parts.store.info().cluster_id;
    out.forget = registered.forget;
    out.clean = registered.clean;
    out.removed = registered.removed;
    if (out.removed && !out.forget.empty()) log::info("node {} is not configured any more", name);
    if (registered.strange_job != kNoJob) log_strange_job(name, registered.strange_job, after);
    log_forgotten(name, out.forget, after);
    if (out.removed) return out;
    if (!elsewhere.empty()) log::info("{}", elsewhere);
    compare_files(parts.sent_files.get().lines_digest, there, name, *after.config);
    out.credential_key = parts.signer.public_key();
    out.new_key = after.credential_key_changed;
    out.controller_start = after.epoch_start;
    out.sent = net::now();
    out.config = sent.of(after.config, name);
    out.config_digest = parts.sent_files.digest();
    for (const JobId job : registered.missing)
      log::error("Batch JobId={} missing from batch node {}", job, name);
    if (const Node* node = state::find_node(after, name)) parts.liveness.heard_of(node->id);
    return out;
  };
  parts.engine.post(
      {state::RegisterNode{std::move(request)}, {}, answer(std::move(responder), make)});
}

// srun has a step there, which will not begin.
void tell_failed_prolog(ServiceParts& parts, const protocol::PrologEnded& report) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  const Job* job = report.status != 0 ? now->jobs.find(report.job) : nullptr;
  if (job == nullptr || job->restart_count != report.restart) return;
  for (const auto& step : job->steps)
    parts.refusals.note(step->id, "the prolog failed on " + report.nodes);
}

}  // namespace

void add_node_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<RegisterNodeRequest, RegisterNodeReply>(
      [&parts, callers = std::make_shared<Callers>()](const auto& context, auto request,
                                                      auto responder) {
        register_node(parts, *callers, context, std::move(request), std::move(responder));
      },
      net::kLongAndSlow);
  server.handle<ReportStepsRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        Status ok = only_agents(parts, context).and_then([&] {
          return same_cluster(parts, request.cluster_id);
        });
        if (!ok) return responder.fail(ok.error());
        to_own_clock(request.ended, request.sent);
        parts.engine.post(
            {state::EndSteps{std::move(request.ended)}, {}, answer_empty(std::move(responder))});
      },
      net::kLong);
  server.handle<ReportCleanedRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        Status ok = only_agents(parts, context).and_then([&] {
          return same_cluster(parts, request.cluster_id);
        });
        if (!ok) return responder.fail(ok.error());
        to_own_clock(request.cleaned, request.sent);
        parts.engine.post({state::JobsCleaned{std::move(request.cleaned)},
                           {},
                           answer_empty(std::move(responder))});
      },
      net::kLong);
  server.handle<ReportPrologsRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        Status ok = only_agents(parts, context).and_then([&] {
          return same_cluster(parts, request.cluster_id);
        });
        if (!ok) return responder.fail(ok.error());
        to_own_clock(request.ended, request.sent);
        state::PrologsDone done;
        for (const PrologEnded& report : request.ended) {
          tell_failed_prolog(parts, report);
          done.reports.push_back(
              {report.job, report.restart, report.nodes, report.status, report.happened});
        }
        parts.engine.post({std::move(done), {}, answer_empty(std::move(responder))});
      },
      net::kLong);
}

}  // namespace sluice::ctld
