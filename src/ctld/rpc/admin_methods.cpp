// Reboots, steps, triggers, crontabs, and values that hold until the next start.
#include <utility>

#include "common/protocol/admin.hpp"
#include "common/names/errors.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;

constexpr size_t kMostCrontabBytes = size_t{64} << 10;
constexpr size_t kMostCrontabJobs = 1000;
constexpr size_t kMostTriggerBytes = 4096;

void set_trigger(ServiceParts& parts, const CallContext& context, Trigger trigger,
                 Responder<protocol::Empty> responder) {
  const state::Identity who = identity_of(context);
  const bool bounded =
      trigger.program.size() <= kMostTriggerBytes && trigger.nodes.size() <= kMostTriggerBytes;
  if (!bounded)
    return responder.fail(ErrorCode::kBadRequest,
                          "the trigger's program or list of nodes is too long");
  trigger.user_name = parts.users.find(who.uid, who.gid, parts.clock()).name;
  parts.engine.post(
      {state::SetTrigger{who, std::move(trigger)}, {}, answer_empty(std::move(responder))});
}

// Under PrivateData=jobs everyone sees his own.
protocol::QueryTriggersReply query_triggers(const ServiceParts& parts, const CallContext& context) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  protocol::QueryTriggersReply reply{*state->triggers};
  if (!has_option(state->config->private_data, "jobs") || asked_by_operator(*state, context))
    return reply;
  std::erase_if(reply.triggers,
                [&](const Trigger& trigger) { return trigger.uid != context.identity.uid; });
  return reply;
}

// Whose crontab: one's own; anybody's for root. SlurmUser does not become root by it.
Status check_owner(const CallContext& context, uint32_t uid) {
  const bool for_other = context.is_root() || (context.is_super_user() && uid != 0);
  if (for_other || context.identity.is_user(uid)) return {};
  return failure(ErrorCode::kAccessDenied);
}

// JobSubmitPlugins=lua, for one line.
Status ask_site(ServiceParts& parts, state::ReplaceCrontab& command, protocol::CronEntry& entry,
                std::vector<std::string>& said) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  if (!SubmitScript::is_wanted(*now->config)) return {};
  state::SubmitJob job{command.who, entry.spec, command.groups};
  const auto lines = parts.submit_script.submit(*now, job, entry.script, entry.environment);
  if (!lines) return tl::unexpected(lines.error());
  entry.spec = std::move(job.job);
  said.insert(said.end(), lines->begin(), lines->end());
  command.seen_by_site = true;
  return check_blobs(parts, entry.script, entry.environment);
}

void replace_crontab(ServiceParts& parts, const CallContext& context,
                     protocol::ReplaceCrontabRequest request,
                     Responder<protocol::ReplaceCrontabReply> responder) {
  if (auto ok = check_owner(context, request.uid); !ok) return responder.fail(ok.error());
  state::ReplaceCrontab command;
  command.who = identity_of(context);  // the group, too, is the proved one: a job runs with it
  if (context.is_super_user()) command.who = {request.uid, request.gid};
  const bool bounded =
      request.text.size() <= kMostCrontabBytes && request.entries.size() <= kMostCrontabJobs;
  if (!bounded) return responder.fail(ErrorCode::kBadRequest, "the crontab is too long");
  command.text = std::move(request.text);
  const UserEntry user = parts.users.find(command.who.uid, command.who.gid, parts.clock());
  if (user.name.empty()) return responder.fail(ErrorCode::kAccessDenied, "Invalid user id");
  command.groups = user.groups;
  std::vector<journal::Blob> blobs;
  std::vector<std::string> said;
  for (protocol::CronEntry& entry : request.entries) {
    if (auto ok = check_blobs(parts, entry.script, entry.environment); !ok)
      return responder.fail(ok.error());
    entry.spec.submit_host = parts.submit_hosts.name_of(context, entry.spec.submit_host.view());
    entry.spec.uid = command.who.uid;
    entry.spec.gid = command.who.gid;
    entry.spec.user_name = user.name;
    entry.spec.group_name = user.group_name;
    if (auto ok = ask_site(parts, command, entry, said); !ok)
      return responder.reply({{}, entry.spec.cron_line, error_text(ok.error()), {}});
    entry.spec.script_blob = keep_blob(std::move(entry.script), blobs);
    entry.spec.environment_blob = keep_blob(std::move(entry.environment), blobs);
    command.jobs.push_back(std::move(entry.spec));
  }
  auto make = [said = std::move(said)](
                  const state::Reply& reply,
                  const state::ClusterState&) -> Result<protocol::ReplaceCrontabReply> {
    const auto& done = std::get<state::CrontabReply>(reply);
    return protocol::ReplaceCrontabReply{done.jobs, done.failed_line,
                                         done.failed_line != 0 ? error_text(done.error) : "", said};
  };
  parts.engine.post({std::move(command), std::move(blobs), answer(std::move(responder), make)});
}

Result<protocol::QueryCrontabReply> query_crontab(ServiceParts& parts, const CallContext& context,
                                                  uint32_t uid) {
  if (auto ok = check_owner(context, uid); !ok) return tl::unexpected(ok.error());
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  if (!has_option(state->config->scron_parameters, "enable")) return failure(ErrorCode::kDisabled);
  const auto at = state->crontabs->find(uid);
  if (at == state->crontabs->end()) return protocol::QueryCrontabReply{};
  return protocol::QueryCrontabReply{true, at->second.text, at->second.jobs};
}

void set_runtime(ServiceParts& parts, const CallContext& context,
                 const protocol::SetRuntimeRequest& request, Responder<protocol::Empty> responder) {
  if (!context.is_super_user()) return responder.fail(ErrorCode::kAccessDenied);
  const auto state = parts.publisher.newest()->state;
  if (request.schedule_log_level && state->config->slurm_sched_log_file.empty()) {
    return responder.fail(ErrorCode::kDisabled);  // as in Slurm: there is no such log
  }
  parts.runtime.set(request.fair_share_dampening, request.schedule_log_level);
  responder.reply({});
}

}  // namespace

void add_admin_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<RebootNodesRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        parts.engine.post({state::RebootNodes{identity_of(context), std::move(request)},
                           {},
                           answer_empty(std::move(responder))});
      });
  server.handle<UpdateStepRequest, Empty>([&parts](const auto& context, auto request,
                                                   auto responder) {
    parts.engine.post(
        {state::UpdateStep{identity_of(context), request}, {}, answer_empty(std::move(responder))});
  });
  server.handle<SetTriggerRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        set_trigger(parts, context, std::move(request.trigger), std::move(responder));
      },
      net::kSlow);
  server.handle<ClearTriggersRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        parts.engine.post({state::ClearTriggers{identity_of(context), request.filter},
                           {},
                           answer_empty(std::move(responder))});
      });
  server.handle<QueryTriggersRequest, QueryTriggersReply>(
      [&parts](const auto& context, auto, auto responder) {
        responder.reply(query_triggers(parts, context));
      });
  server.handle<ReplaceCrontabRequest, ReplaceCrontabReply>(
      [&parts](const auto& context, auto request, auto responder) {
        replace_crontab(parts, context, std::move(request), std::move(responder));
      },
      net::kLongAndSlow);
  server.handle<QueryCrontabRequest, QueryCrontabReply>(
      [&parts](const auto& context, auto request, auto responder) {
        responder.complete(query_crontab(parts, context, request.uid));
      });
  server.handle<SetRuntimeRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        set_runtime(parts, context, request, std::move(responder));
      });
}

}  // namespace sluice::ctld
