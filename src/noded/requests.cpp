#include "noded/requests.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/hex_digits.hpp"
#include "common/base/time_text.hpp"
#include "common/base/version.hpp"
#include "common/daemon/log_setup.hpp"
#include "common/log/log.hpp"
#include "common/auth/token.hpp"
#include "common/protocol/admin.hpp"
#include "common/protocol/ctld.hpp"
#include "common/names/step_names.hpp"
#include "common/wire/codec.hpp"
#include "noded/node/inventory.hpp"
#include "noded/node/launch_age.hpp"

namespace sluice::noded {
namespace {

using net::CallContext;
using net::Responder;
using protocol::Empty;

// Only the controller gives orders; it runs as root or SlurmUser. Others are told of by the server,
// which writes no more lines than a disk can bear.
template <class Request, class Reply, class Run>
void handle_order(net::RpcServer& server, RequestParts& parts, Run run) {
  server.handle<Request, Reply>(
      [&parts, run](const CallContext& context, Request request, Responder<Reply> responder) {
        if (!context.is_super_user()) return responder.fail(ErrorCode::kAccessDenied);
        auto answer = std::make_shared<Responder<Reply>>(std::move(responder));
        parts.node.mailbox->post([&parts, run, answer, request = std::move(request)]() mutable {
          heard_controller(parts.node);
          answer->complete(run(parts, std::move(request)));
        });
      });
}

// What any user of the cluster may ask.
template <class Request, class Reply, class Run>
void handle_question(net::RpcServer& server, RequestParts& parts, Run run) {
  server.handle<Request, Reply>(
      [&parts, run](const CallContext& context, Request request, Responder<Reply> responder) {
        auto answer = std::make_shared<Responder<Reply>>(std::move(responder));
        parts.node.mailbox->post([&parts, run, answer, context, request = std::move(request)] {
          run(parts, context, request, answer);
        });
      });
}

// Whose steps the asker is told of; nullopt: everybody's.
std::optional<uint32_t> whose_steps(const RequestParts& parts, const CallContext& context) {
  const bool all = context.is_super_user() || !has_option(parts.node.config->private_data, "jobs");
  return all ? std::nullopt : std::optional(context.identity.uid);
}

uint32_t index_in(const StepLayout& layout, std::string_view name) {
  for (uint32_t index = 0; index < layout.nodes.size(); ++index) {
    if (layout.nodes[index].name == name) return index;
  }
  return UINT32_MAX;
}

// The end of a wide step is told to another node of it.
void set_route(RequestParts& parts, const protocol::StepLaunch& launch, uint32_t index) {
  const bool chosen = launch.step != nullptr && launch.step->tree_width != 0;
  const uint32_t parent =
      parent_position(index, chosen ? launch.step->tree_width : parts.node.config->tree_width);
  if (parent != UINT32_MAX) parts.reporter.set_route(launch.key, launch.layout.nodes[parent].name);
}

void log_launch(const StepId& step, uint32_t uid) {
  if (step.step == kBatchStep)
    log::info("Launching batch job {} for UID {}", step_log_name(step), uid);
  else log::info("launch task {} request from UID:{}", step_log_name(step), uid);
}

Result<Empty> launch(RequestParts& parts, protocol::LaunchStepRequest request) {
  if (!parts.node.verifier) return failure(ErrorCode::kRetry, "the node is not registered yet");
  if (!request.key.empty() && hex_digits(request.key) != parts.node.credential_key) {
    parts.registrar.start();
    return failure(ErrorCode::kRetry,
                   "the launch was signed with another credential.key than this node knows");
  }
  if (auto ok = parts.node.verifier->verify(request.launch, request.signature); !ok) {
    return failure(ErrorCode::kInvalidCredential, "Invalid job credential");
  }
  auto message = wire::decode<protocol::StepLaunch>(request.launch);
  if (!message) return tl::unexpected<Error>(message.error());
  if (message->job_spec == nullptr) return failure(ErrorCode::kBadRequest, "a launch without job");
  if (message->cluster_id != parts.node.cluster_id) return failure(ErrorCode::kWrongCluster);
  const uint32_t index = index_in(message->layout, parts.node.name);
  if (index == UINT32_MAX) {
    return failure(ErrorCode::kInvalidNodeName,
                   fmt::format("step {} has no part on node {}", step_id_text(message->key.id),
                               parts.node.name));
  }
  if (message->controller_start != kNoTime &&
      message->controller_start != parts.node.registered_with) {
    parts.registrar.start();
    return failure(ErrorCode::kRetry, "the node has not registered with this controller yet");
  }
  if (parts.steps.is_forgotten(message->key))
    return failure(ErrorCode::kAlreadyDone, protocol::kUsedJobId);
  parts.steps.adopt(message->key);
  // else the controller repeats an order of which it heard no answer
  const bool is_new = !parts.steps.knows(message->key);
  if (is_new) {
    if (auto ok = check_age(parts.node, message->issued); !ok) {
      log::error("the launch of {} was refused: {}", step_log_name(message->key.id),
                 ok.error().text);
      // which asks for the controller's time
      if (doubts_clock(parts.node, message->issued)) parts.registrar.start();
      return tl::unexpected<Error>(ok.error());
    }
  }
  if (auto ok = parts.node.last_job->note({message->job_round, message->key.id.job});
      !ok && is_new) {
    log::error("{}", ok.error().text);
    const bool full = ok.error().code == ErrorCode::kStorageFull;
    parts.steps.refuse(message->key, message->uid, full ? protocol::kSpoolIsFull : ok.error().text);
    return Empty{};  // a report follows, as of what cannot begin for other reasons
  }
  if (is_new) {
    log_launch(message->key.id, message->job_spec->uid);
    set_route(parts, *message, index);
  }
  if (auto ok = parts.jobs.launch(std::move(*message), std::move(request.launch), index); !ok) {
    return tl::unexpected<Error>(ok.error());
  }
  return Empty{};
}

Result<protocol::PingNodeReply> ping(RequestParts& parts,
                                     const protocol::PingNodeRequest& request) {
  NodeState& node = parts.node;
  const bool other = !node.cluster_id.empty() && request.cluster_id != node.cluster_id;
  if (other) {
    return failure(ErrorCode::kWrongCluster, "this node belongs to cluster " + node.cluster_id);
  }
  if (node.epoch != request.epoch || node.pinged_by != request.started || request.register_again) {
    node.epoch = request.epoch;
    node.pinged_by = request.started;
    parts.registrar.start();
  }
  return protocol::PingNodeReply{measure_load(), node.hardware.boot_id, node.hardware.agent_start};
}

void add_orders(net::RpcServer& server, RequestParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  handle_order<LaunchStepRequest, Empty>(server, parts, launch);
  handle_order<PingNodeRequest, PingNodeReply>(server, parts, ping);
  handle_order<SignalStepRequest, Empty>(
      server, parts, [](RequestParts& p, const SignalStepRequest& request) -> Result<Empty> {
        if (Status ok = p.steps.signal(request); !ok) return tl::unexpected<Error>(ok.error());
        return Empty{};
      });
  handle_order<TerminateStepRequest, Empty>(
      server, parts, [](RequestParts& p, TerminateStepRequest request) -> Result<Empty> {
        request.message = with_time(request.message);
        p.steps.terminate(request);  // it may have ended meanwhile, which is as good
        return Empty{};
      });
  handle_order<TerminateJobRequest, Empty>(
      server, parts, [](RequestParts& p, const TerminateJobRequest& request) -> Result<Empty> {
        p.jobs.terminate(request);
        return Empty{};
      });
  handle_order<RunPrologRequest, Empty>(
      server, parts, [](RequestParts& p, const RunPrologRequest& request) -> Result<Empty> {
        if (auto ok = p.node.last_job->note({request.job_round, request.job}); !ok)
          log::error("{}", ok.error().text);
        p.jobs.run_prolog(request);
        return Empty{};
      });
  handle_order<CheckHealthRequest, Empty>(
      server, parts, [](RequestParts& p, const CheckHealthRequest&) -> Result<Empty> {
        p.health.run({});
        return Empty{};
      });
  handle_order<RebootNodeRequest, Empty>(
      server, parts, [](RequestParts& p, const RebootNodeRequest& request) -> Result<Empty> {
        p.reboot.run(request);
        return Empty{};
      });
  handle_order<ReconfigureNodeRequest, Empty>(
      server, parts, [](RequestParts& p, ReconfigureNodeRequest request) -> Result<Empty> {
        if (!request.config.nodes.empty()) adopt_sent_config(p.node, std::move(request.config));
        log::info("the controller has another configuration");
        p.registrar.start();
        return Empty{};
      });
  handle_order<ShutdownNodeRequest, Empty>(
      server, parts, [](RequestParts& p, const ShutdownNodeRequest& request) -> Result<Empty> {
        if (request.reason.empty()) log::info("the controller orders a shutdown");
        else log::error("the controller orders a shutdown: {}", request.reason);
        p.end_process();
        return Empty{};
      });
}

// Reports from the nodes below this one in the tree.
template <class Request, class Report>
void gather(net::RpcServer& server, RequestParts& parts, std::vector<Report> Request::*reports) {
  server.handle<Request, Empty>(
      [&parts, reports](const CallContext& context, Request request, Responder<Empty> responder) {
        if (!context.is_super_user() && !context.identity.is_user(parts.slurmd_user)) {
          return responder.fail(ErrorCode::kAccessDenied);
        }
        auto answer = std::make_shared<Responder<Empty>>(std::move(responder));
        parts.node.mailbox->post([&parts, reports, answer, request = std::move(request)]() mutable {
          if (request.cluster_id != parts.node.cluster_id)
            return answer->fail(ErrorCode::kWrongCluster);
          for (Report& report : request.*reports)
            report.happened = protocol::by_own_clock(report.happened, request.sent, now());
          parts.reporter.add_gathered(std::move(request.*reports), [answer] { answer->reply({}); });
        });
      });
}

}  // namespace

void add_requests(net::RpcServer& server, RequestParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  add_orders(server, parts);
  add_broadcast_requests(server, parts);
  gather(server, parts, &ReportStepsRequest::ended);
  gather(server, parts, &ReportCleanedRequest::cleaned);
  gather(server, parts, &ReportPrologsRequest::ended);
  // sattach asks itself: a user may watch his own steps
  server.handle<AttachRequest, Empty>(
      [&parts](const CallContext& context, AttachRequest request, Responder<Empty> responder) {
        const uint32_t uid = context.is_super_user() ? 0 : context.identity.uid;
        auto answer = std::make_shared<Responder<Empty>>(std::move(responder));
        parts.node.mailbox->post([&parts, uid, answer, request = std::move(request)] {
          const Status done = parts.steps.attach(request, uid);
          if (done) answer->reply({});
          else answer->fail(done.error());
        });
      });
  // scontrol setdebug and setdebugflags with nodes=, from an administrator himself
  server.handle<SetDebugRequest, Empty>(
      [](const CallContext& context, const SetDebugRequest& request, Responder<Empty> responder) {
        if (!context.is_super_user()) return responder.fail(ErrorCode::kAccessDenied);
        if (auto ok = daemon::set_debug(request.level, request.flags, context.identity.uid); !ok)
          return responder.fail(ok.error());
        responder.reply({});
      });
  // the controller has seen to it that sstat may ask
  server.handle<StatStepRequest, StatStepReply>([&parts](const CallContext& context,
                                                         StatStepRequest request,
                                                         Responder<StatStepReply> responder) {
    if (!context.is_super_user()) return responder.fail(ErrorCode::kAccessDenied);
    auto answer = std::make_shared<Responder<StatStepReply>>(std::move(responder));
    parts.node.mailbox->post([&parts, answer, request] {
      parts.steps.stat(request.step,
                       [answer](const Result<StatStepReply>& reply) { answer->complete(reply); });
    });
  });
  handle_question<ListPidsRequest, ListPidsReply>(
      server, parts,
      [](RequestParts& p, const CallContext& context, const ListPidsRequest& request,
         const auto& answer) {
        p.steps.list_pids(request, whose_steps(p, context),
                          [answer](const ListPidsReply& reply) { answer->reply(reply); });
      });
  handle_question<ShowAgentRequest, ShowAgentReply>(
      server, parts,
      [](RequestParts& p, const CallContext& context, const ShowAgentRequest&, const auto& answer) {
        answer->reply(ShowAgentReply{describe_agent(p.node, p.steps, whose_steps(p, context))});
      });
}

std::vector<std::string> describe_agent(const NodeState& node, const Steps& steps,
                                        std::optional<uint32_t> only_of) {
  std::string active;
  for (const protocol::StepKey& key : steps.live(only_of)) {
    active += (active.empty() ? "" : ",") + step_id_text(key.id);
  }
  const NodeHardware& hardware = node.real_hardware;
  std::vector<std::string> lines;
  const auto line = [&lines](std::string_view name, const std::string& value) {
    lines.push_back(fmt::format("{:<24} = {}", name, value));
  };
  line("Active Steps", active.empty() ? "NONE" : active);
  line("Actual CPUs", std::to_string(hardware.cpus));
  line("Actual Boards", std::to_string(hardware.boards));
  line("Actual sockets", std::to_string(hardware.sockets));
  line("Actual cores", std::to_string(hardware.cores_per_socket));
  line("Actual threads per core", std::to_string(hardware.threads_per_core));
  line("Actual real memory", fmt::format("{} MB", hardware.real_memory_mib));
  line("Actual temp disk space", fmt::format("{} MB", hardware.tmp_disk_mib));
  line("Boot time", format_time(node.started));
  line("Hostname", node.name);
  line("Last slurmctld msg time", node.last_controller_message == kNoTime
                                      ? "NONE"
                                      : format_time(node.last_controller_message));
  line("Slurmd PID", std::to_string(::getpid()));
  line("Slurmd Debug", std::to_string(static_cast<uint32_t>(node.config->slurmd_debug)));
  line("Slurmd Logfile", node_path(node.config->slurmd_log_file, node.self));
  line("Version", kSlurmVersion);
  return lines;
}

}  // namespace sluice::noded
