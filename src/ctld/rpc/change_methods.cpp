// Changes that users and administrators order: signals, holds, updates, nodes, partitions, the
// controller itself.
#include <array>
#include <cerrno>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <grp.h>

#include "common/base/text.hpp"
#include "common/daemon/log_setup.hpp"
#include "common/log/log.hpp"
#include "common/net/method_name.hpp"
#include "common/protocol/user_token.hpp"
#include "common/rpc/refusal_log.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/config/dynamic_nodes.hpp"
#include "common/config/partition_update.hpp"
#include "ctld/query/job_ranks.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/job_filter.hpp"
#include "ctld/state/rules/target.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;

Status only_super_user(const CallContext& context) {
  if (context.is_super_user()) return {};
  return failure(ErrorCode::kAccessDenied, "Invalid user id");
}

// What names no job is refused here: the engine reads no text that it need not.
Status check_target(const std::string& text) {
  const auto target = state::parse_target(text);
  return target ? Status{} : tl::unexpected(target.error());
}

// The groups of the user whose job this is; none: there is no such job.
std::vector<std::string> owner_groups(const ServiceParts& parts, const std::string& target) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  const auto named = state::parse_target(target);
  if (!named) return {};
  const state::FoundJob job = state::find_job(*now, named->job);
  return job ? parts.users.find(job->spec->uid, job->spec->gid, parts.clock()).groups
             : std::vector<std::string>();
}

void cancel_jobs(ServiceParts& parts, const CallContext& context,
                 protocol::CancelJobsRequest request,
                 Responder<protocol::CancelJobsReply> responder,
                 const std::shared_ptr<net::RefusalLog>& refusals) {
  const auto made = [refusals, uid = context.identity.uid, peer = context.peer](
                        const state::Reply& reply,
                        const state::ClusterState&) -> Result<protocol::CancelJobsReply> {
    const auto& out = std::get<protocol::CancelJobsReply>(reply);
    for (const protocol::CancelOutcome& one : out.outcomes) {
      if (one.code != ErrorCode::kAccessDenied) continue;
      const Error why{one.code, {}};
      refusals->note({"CancelJobs", uid, peer, why, "JobId=" + one.target});
      break;  // one line says enough of a request
    }
    return out;
  };
  if (request.each_id) {
    state::SignalJobs each{identity_of(context), std::move(request.filter.ids), request.signal,
                           request.flags, request.step_flags};
    return parts.engine.post({std::move(each), {}, answer(std::move(responder), made)});
  }
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  auto filter = state::JobFilter::make(*now, std::move(request.filter), context.identity.uid,
                                       state::UnknownNodes::kPassedOver);
  if (!filter) return responder.fail(filter.error());
  state::CancelJobs command{
      identity_of(context), std::make_shared<const state::JobFilter>(std::move(*filter)),
      request.signal,       request.flags,
      request.ends_steps,   true};
  // all jobs are looked at: by the engine only where there is something to do
  const auto found = state::decide(*now, command, parts.clock());
  if (!found) return responder.fail(found.error());
  const auto& seen = std::get<protocol::CancelJobsReply>(found->reply);
  if (request.find_only || seen.outcomes.empty()) return responder.reply(seen);
  command.find_only = false;
  parts.engine.post({std::move(command), {}, answer(std::move(responder), made)});
}

// Of jobs that wait, of the users whose jobs are named.
std::vector<state::JobRank> ranks(const ServiceParts& parts, std::string_view targets) {
  const auto snapshot = parts.publisher.newest()->state;
  return ranks_beside(*snapshot, parts.scheduler.policies(*snapshot), targets, parts.clock());
}

// JobSubmitPlugins=lua. Who may not change the job is refused by the engine.
Status ask_site(ServiceParts& parts, const CallContext& context, state::UpdateJob& command) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  if (!SubmitScript::is_wanted(*now->config)) return {};
  const auto target = state::parse_target(command.target);
  if (!target) return tl::unexpected(target.error());
  const state::FoundJob job = state::find_job(*now, target->job);
  if (!job || !state::is_owner_or_admin(*now, *job, context.identity.uid)) return {};
  return parts.submit_script.modify(*now, job, command);
}

void update_job(ServiceParts& parts, const CallContext& context, protocol::UpdateJobRequest request,
                Responder<protocol::CountReply> responder) {
  if (auto ok = check_target(request.target); !ok) return responder.fail(ok.error());
  state::UpdateJob command{
      identity_of(context), std::move(request.target), std::move(request.update), {}};
  if (has_option(parts.publisher.newest()->state->config->job_submit_plugins, "logging")) {
    log::info("JobSubmitPlugins=logging: uid {} changes job {}", command.who.uid, command.target);
  }
  if (Status ok = ask_site(parts, context, command); !ok) return responder.fail(ok.error());
  if (command.update.partitions) command.owner_groups = owner_groups(parts, command.target);
  const bool gives_priority = command.update.priority.value_or(0) != 0;
  if (gives_priority && !asked_by_operator(*parts.publisher.newest()->state, context))
    command.ranks = ranks(parts, command.target);
  parts.engine.post({std::move(command), {}, answer_count(std::move(responder))});
}

// Holds and releases are changes of the priority to the site's script, which can refuse them.
Status ask_site(ServiceParts& parts, const CallContext& context,
                const protocol::JobActionRequest& request) {
  using protocol::JobAction;
  const bool holds = request.action == JobAction::kHold || request.action == JobAction::kUserHold;
  if (!holds && request.action != JobAction::kRelease) return {};
  state::UpdateJob command{identity_of(context), request.target, {}, {}};
  command.update.priority = holds ? 0 : UINT32_MAX;
  return ask_site(parts, context, command);
}

void change_job(ServiceParts& parts, const CallContext& context,
                const protocol::JobActionRequest& request,
                Responder<protocol::CountReply> responder) {
  if (auto ok = check_target(request.target); !ok) return responder.fail(ok.error());
  if (auto ok = ask_site(parts, context, request); !ok) return responder.fail(ok.error());
  parts.engine.post(
      {state::ChangeJob{identity_of(context), request.target, request.action, request.special_exit},
       {},
       answer_count(std::move(responder))});
}

// Nobody would be let in by it, which is more likely a slip than meant.
void warn_of_unknown_groups(const protocol::UpdatePartitionRequest& request) {
  for (const auto& [key, value] : request.values) {
    if (!iequals(std::string_view(key).substr(0, key.find_first_of("+-")), "AllowGroups")) continue;
    for (const std::string& name : split_list(value)) {
      group entry{};
      group* found = nullptr;
      std::array<char, 16384> buffer{};
      const int error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
      if (found != nullptr || error == ERANGE || iequals(name, "ALL")) continue;
      log::warning("partition {}: AllowGroups names \"{}\", which is no group of this host",
                   request.name, name);
    }
  }
}

// Without values, as it is now; with them, what they make of it is worked out when it is decided:
// others may change it, too.
void update_partition(ServiceParts& parts, const CallContext& context,
                      const protocol::UpdatePartitionRequest& request,
                      Responder<protocol::Empty> responder) {
  if (auto ok = only_super_user(context); !ok) return responder.fail(ok.error());
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  state::UpdatePartition command{identity_of(context), request.action, request.name, {}};
  if (request.action != protocol::PartitionAction::kDelete) {
    const state::Partition* present = state::find_partition(*now, request.name);
    if (request.action == protocol::PartitionAction::kUpdate && present == nullptr) {
      return responder.fail(ErrorCode::kInvalidPartition);
    }
    if (present != nullptr) command.config = *present->config;
    command.config.name = request.name;
    command.values = request.values;
    const std::vector<std::string> ignored =
        tables::partition_keys_without_effect(*now->config, request.values);
    if (const auto refused = tables::refused_names(ignored, *now->config); !refused.empty()) {
      return responder.fail({ErrorCode::kInvalidUpdate, refused.front()});
    }
    for (const std::string& key : ignored)
      log::warning("partition {}: {} has no effect", request.name, key);
    warn_of_unknown_groups(request);
  }
  parts.engine.post({std::move(command), {}, answer_empty(std::move(responder))});
}

void create_nodes(ServiceParts& parts, const CallContext& context,
                  const protocol::CreateNodesRequest& request,
                  Responder<protocol::Empty> responder) {
  if (!context.is_super_user()) return responder.fail(ErrorCode::kInvalidUser);
  auto nodes = tables::created_nodes(*parts.publisher.newest()->state->config, request.values);
  if (!nodes) return responder.fail(nodes.error());
  parts.engine.post({state::CreateNodes{identity_of(context), std::move(*nodes)},
                     {},
                     answer_empty(std::move(responder))});
}

void top_job(ServiceParts& parts, const CallContext& context, std::string target,
             Responder<protocol::CountReply> responder) {
  if (const auto named = state::split_targets(target); !named) return responder.fail(named.error());
  const auto now = parts.publisher.newest()->state;
  // none for those who may not use them: each request takes a list of jobs with it
  const bool may = has_option(now->config->scheduler_parameters, "enable_user_top") ||
                   asked_by_operator(*now, context);
  auto known = may ? ranks(parts, target) : std::vector<state::JobRank>();
  parts.engine.post({state::TopJob{identity_of(context), std::move(target), std::move(known)},
                     {},
                     answer_count(std::move(responder))});
}

// Of the controller itself.
void add_control_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<ReconfigureRequest, Empty>(
      [&parts](const auto& context, auto, auto responder) {
        if (auto ok = only_super_user(context); !ok) return responder.fail(ok.error());
        log::info("_slurm_rpc_reconfigure_controller: by uid {}", context.identity.uid);
        if (auto ok = parts.reconfigure(); !ok) return responder.fail(ok.error());
        responder.reply({});
      },
      net::kSlow);
  server.handle<ShutdownRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        if (auto ok = only_super_user(context); !ok) return responder.fail(ok.error());
        responder.reply({});
        log::info("_slurm_rpc_shutdown_controller: by uid {}", context.identity.uid);
        parts.shutdown(request.controller_only);
      });
  server.handle<SetDebugRequest, Empty>([](const auto& context, auto request, auto responder) {
    if (!context.is_super_user())
      return responder.fail(ErrorCode::kAccessDenied, "Permission denied");
    if (auto ok = daemon::set_debug(request.level, request.flags, context.identity.uid); !ok)
      return responder.fail(ok.error());
    responder.reply({});
  });
}

}  // namespace

std::shared_ptr<net::RefusalLog> make_refusal_log() {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  const auto names = [](std::initializer_list<std::string_view> methods) {
    std::vector<std::string> out;
    for (const std::string_view method : methods) out.emplace_back(net::short_method_name(method));
    return out;
  };
  std::vector<std::string> of_agents =
      names({RegisterNodeRequest::kMethod, ReportStepsRequest::kMethod,
             ReportCleanedRequest::kMethod, ReportPrologsRequest::kMethod});
  std::vector<std::string> by_admins = names(
      {UpdateNodeRequest::kMethod, UpdatePartitionRequest::kMethod,
       ChangeReservationRequest::kMethod, CreateNodesRequest::kMethod, DeleteNodesRequest::kMethod,
       RebootNodesRequest::kMethod, ReconfigureRequest::kMethod, SetDebugRequest::kMethod});
  std::vector<std::string> changes =
      names({SubmitJobRequest::kMethod, UpdateJobRequest::kMethod, UpdateStepRequest::kMethod,
             SignalRequest::kMethod, JobActionRequest::kMethod, ReplaceCrontabRequest::kMethod,
             SetTriggerRequest::kMethod, ClearTriggersRequest::kMethod, NotifyRequest::kMethod,
             CreateUserTokenRequest::kMethod, RegisterNodeRequest::kMethod});
  changes.insert(changes.end(), by_admins.begin(), by_admins.end());
  return std::make_shared<net::RefusalLog>(std::move(of_agents), std::move(changes),
                                           std::move(by_admins));
}

void add_change_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<SignalRequest, CountReply>(
      [&parts](const auto& context, auto request, auto responder) {
        if (auto ok = check_target(request.target); !ok) return responder.fail(ok.error());
        parts.engine.post(
            {state::SignalJob{identity_of(context), request.target, request.signal, request.flags},
             {},
             answer_count(std::move(responder))});
      });
  server.handle<CancelJobsRequest, CancelJobsReply>(
      [&parts, refusals = std::make_shared<net::RefusalLog>()](const auto& context, auto request,
                                                               auto responder) {
        cancel_jobs(parts, context, std::move(request), std::move(responder), refusals);
      },
      net::kSlow);
  server.handle<JobActionRequest, CountReply>(
      [&parts](const auto& context, auto request, auto responder) {
        if (request.action == JobAction::kTop)
          return top_job(parts, context, std::move(request.target), std::move(responder));
        change_job(parts, context, request, std::move(responder));
      },
      net::kSlow);
  server.handle<UpdateJobRequest, CountReply>(
      [&parts](const auto& context, auto request, auto responder) {
        update_job(parts, context, std::move(request), std::move(responder));
      },
      net::kSlow);
  server.handle<NotifyRequest, CountReply>(
      [&parts](const auto& context, auto request, auto responder) {
        if (auto ok = check_target(request.target); !ok) return responder.fail(ok.error());
        parts.engine.post({state::NotifyJob{identity_of(context), request.target, request.message},
                           {},
                           answer_count(std::move(responder))});
      });
  server.handle<UpdateNodeRequest, Empty>([&parts](const auto& context, auto request,
                                                   auto responder) {
    const auto made = [](const state::Reply& reply, const state::ClusterState&) -> Result<Empty> {
      const auto* part = std::get_if<state::DoneInPart>(&reply);
      return part == nullptr ? Result<Empty>(Empty{}) : tl::unexpected(part->error);
    };
    parts.engine.post({state::UpdateNode{identity_of(context), std::move(request.update)},
                       {},
                       answer(std::move(responder), made)});
  });
  server.handle<UpdatePartitionRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        update_partition(parts, context, request, std::move(responder));
      },
      net::kSlow);
  server.handle<CreateNodesRequest, Empty>(
      [&parts](const auto& context, auto request, auto responder) {
        create_nodes(parts, context, request, std::move(responder));
      });
  server.handle<DeleteNodesRequest, CountReply>(
      [&parts](const auto& context, auto request, auto responder) {
        parts.engine.post({state::DeleteNodes{identity_of(context), std::move(request.nodes)},
                           {},
                           answer_count(std::move(responder))});
      });
  add_control_methods(server, parts);
}

}  // namespace sluice::ctld
