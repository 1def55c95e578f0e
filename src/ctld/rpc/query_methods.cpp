// What users and administrators look at: answered from the newest durable snapshot.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/node_query.hpp"
#include "ctld/query/job_query.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/sched/explain/explain.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/licenses.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;

constexpr Duration kExplainTime = std::chrono::seconds(1);

// Partitions that the user is shown only if he asks for all of them: hidden ones, and those of
// other groups than his.
std::vector<std::string> unseen_partitions(ServiceParts& parts, const CallContext& context,
                                           const state::ClusterState& state) {
  std::vector<std::string> names;
  if (asked_by_operator(state, context)) return names;
  std::optional<UserEntry> user;  // found once a partition is for some groups only
  for (const state::Partition& partition : *state.partitions) {
    const PartitionConfig& config = *partition.config;
    bool seen = !config.hidden;
    if (seen && !config.allow_groups.empty()) {
      if (!user) user = parts.users.find(context.identity.uid, context.identity.gid, parts.clock());
      seen = state::is_open_to(config, user->groups);
    }
    if (!seen) names.push_back(config.name);
  }
  return names;
}

protocol::NodeRecord node_record(const Node& node, const std::vector<NodeSoft>& soft,
                                 const state::ActiveReservations& reservations) {
  protocol::NodeRecord out;
  out.node = node;
  if (node.id < soft.size()) out.soft = soft[node.id];
  out.used_cpus = node.used_cpus;
  out.used_memory_mib = node.used_memory_mib;
  if (node.used_gres != nullptr) out.used_gres = *node.used_gres;
  out.running_jobs = node.running_jobs;
  out.completing_jobs = node.completing_jobs;
  out.shown_base = state::shown_base(node);
  out.shown_flags = state::shown_flags(node) | reservations.flags_of(node.id);
  out.reservation = reservations.names_of(node.id);
  return out;
}

Result<protocol::QueryNodesReply> query_nodes(ServiceParts& parts, const CallContext& context,
                                              const protocol::QueryNodesRequest& request) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const bool admin = asked_by_operator(*state, context);
  const bool hide_nodes = !admin && has_option(state->config->private_data, "nodes");
  const bool hide_partitions = !admin && has_option(state->config->private_data, "partitions");
  if ((hide_nodes && !request.partitions_only) || (hide_partitions && !request.nodes_only)) {
    return failure(ErrorCode::kAccessDenied);
  }
  std::optional<Bitmap> wanted;
  if (!request.nodes.empty()) {
    auto nodes = state::resolve_nodes(*state, request.nodes);
    if (!nodes) return tl::unexpected(nodes.error());
    wanted = std::move(*nodes);
  }
  std::vector<std::string> unseen;
  if (!request.hidden_partitions) unseen = unseen_partitions(parts, context, *state);
  protocol::QueryNodesReply reply;
  const std::vector<NodeSoft> soft = parts.liveness.soft();
  const state::ActiveReservations reservations(*state, parts.clock());
  const bool show_away = request.powered_down || has_option(state->config->private_data, "cloud");
  state->nodes.for_each([&](const Node& node) {
    const bool away = (node.flags & kNodeCloud) != 0 && (node.flags & kNodePoweredDown) != 0;
    if (hide_nodes || node.removed || (away && !show_away) || (wanted && !wanted->test(node.id)))
      return;
    std::vector<std::string> partitions;
    bool has_unseen = false;
    for (const state::Partition& partition : *state->partitions) {
      if (!partition.nodes.test(node.id)) continue;
      if (contains(unseen, partition.config->name)) has_unseen = true;
      else partitions.push_back(partition.config->name);
    }
    if (has_unseen && partitions.empty()) return;  // of unseen partitions only
    reply.nodes.push_back(node_record(node, soft, reservations));
    reply.nodes.back().partitions = std::move(partitions);
  });
  for (const state::Partition& partition : *state->partitions) {
    if (hide_partitions) break;
    if (contains(unseen, partition.config->name)) continue;
    reply.partitions.push_back({*partition.config, state::node_list(*state, partition.nodes),
                                partition.total_cpus,
                                static_cast<uint32_t>(partition.nodes.count())});
  }
  reply.now = parts.clock();
  return reply;
}

protocol::QueryLicensesReply query_licenses(const state::ClusterState& state, Time now) {
  protocol::QueryLicensesReply reply;
  const state::LicensePool pool(state, now);
  for (const auto& [name, total] : pool.totals())
    reply.licenses.push_back({name, total, pool.used(name), pool.reserved(name)});
  return reply;
}

protocol::QueryConfigReply query_config(ServiceParts& parts) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  protocol::QueryConfigReply reply;
  reply.config = *state->config;
  // what it is, is nobody's business; that it is there, scontrol shows
  if (const auto secret = reply.config.values.find("JobCompPass");
      secret != reply.config.values.end())
    secret->second = "(hidden)";
  reply.boot_time = parts.boot_time;
  reply.next_job_id = state->next_job_id;
  reply.host = parts.host;
  reply.config_path = state->config->config_path;
  reply.runtime["SlurmctldDebug"] = log::level_name(log::level());
  reply.runtime["DebugFlags"] = log::debug_flag_names(log::debug_flags());
  const auto [dampening, log_level] = parts.runtime.get();
  if (dampening) reply.runtime["FairShareDampeningFactor"] = std::to_string(*dampening);
  if (log_level) reply.runtime["SlurmSchedLogLevel"] = std::to_string(*log_level);
  reply.now = parts.clock();
  return reply;
}

Result<protocol::BatchScriptReply> batch_script(ServiceParts& parts, const CallContext& context,
                                                JobId id) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const state::FoundJob job = state::find_job(*state, id);
  if (!job) return failure(ErrorCode::kInvalidJobId);
  if (context.identity.uid != job->spec->uid && !asked_by_operator(*state, context))
    return failure(ErrorCode::kAccessDenied);
  if (job->spec->script_blob.empty())
    return failure(ErrorCode::kNotFound, "job script not available");
  auto script = parts.store.blob(job->spec->script_blob);
  if (!script) return tl::unexpected(script.error());
  return protocol::BatchScriptReply{std::move(*script)};
}

// Runs passes of the scheduler, so on a thread of its own and for a limited time.
Result<protocol::ExplainReply> explain(ServiceParts& parts, uint32_t uid, const std::string& job) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const Time end = parts.clock() + kExplainTime;
  sched::ExplainLimits limits;
  limits.visible = state::VisibleJobs(*state, uid);
  if (!state::is_operator(*state, uid)) {
    const auto hides = [&](const char* what) {
      return has_option(state->config->private_data, what);
    };
    if (hides("usage") || hides("users") || hides("accounts")) limits.only_limits_of = uid;
  }
  limits.kept = parts.scheduler.kept();
  limits.out_of_time = [&parts, end] { return parts.clock() >= end; };
  return sched::explain(*state, parts.scheduler.soft().get(), job, parts.clock(), limits);
}

}  // namespace

void add_query_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle_stream<QueryJobsRequest, JobChunk>(
      [&parts](const auto& context, auto request, auto writer) {
        const state::ClusterSnapshot state = parts.publisher.newest()->state;
        std::vector<std::string> unseen;
        if (!request.hidden_partitions) unseen = unseen_partitions(parts, context, *state);
        auto query = std::make_shared<JobQuery>(
            std::move(request), JobQuery::Asker{context.identity.uid, std::move(unseen)}, state,
            parts.scheduler.soft(), parts.clock(), parts.scheduler.policies(*state));
        writer.pull([query] { return query->next(); });
      },
      net::kSlow);
  server.handle<QueryNodesRequest, QueryNodesReply>(
      [&parts](const auto& context, auto request, auto responder) {
        responder.complete(query_nodes(parts, context, request));
      },
      net::kSlow);
  server.handle<QueryLicensesRequest, QueryLicensesReply>(
      [&parts](const auto&, auto, auto responder) {
        responder.reply(query_licenses(*parts.publisher.newest()->state, parts.clock()));
      },
      net::kSlow);
  server.handle<QueryConfigRequest, QueryConfigReply>(
      [&parts](const auto&, auto, auto responder) { responder.reply(query_config(parts)); });
  server.handle<BatchScriptRequest, BatchScriptReply>(
      [&parts](const auto& context, auto request, auto responder) {
        responder.complete(batch_script(parts, context, request.job));
      },
      net::kSlow);
  server.handle<ExplainRequest, ExplainReply>(
      [&parts](const auto& context, auto request, auto responder) {
        answer_by_planning<ExplainReply>(
            parts, context, std::move(responder),
            [&parts, uid = context.identity.uid, job = std::move(request.job)] {
              return explain(parts, uid, job);
            });
      });
}

}  // namespace sluice::ctld
