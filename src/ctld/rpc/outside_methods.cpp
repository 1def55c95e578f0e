// srun -Z: tasks on nodes without a job, for SlurmUser and root. Nothing of it enters the state;
// agents only ask for the controller's signature.
#include <algorithm>

#include "common/os/is_away.hpp"
#include "common/os/clock.hpp"
#include "common/names/errors.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/rules/step/launch_message.hpp"
#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;
using protocol::CreateStepReply;
using protocol::LaunchOutsideRequest;

// A job that has all of these nodes, as far as laying out a step goes.
Result<Job> stand_in(const state::ClusterState& state, const LaunchOutsideRequest& request,
                     Time now) {
  const auto nodes = state::resolve_nodes(state, request.node_list);
  if (!nodes || nodes->none()) return failure(ErrorCode::kInvalidNodeName);
  auto allocation = std::make_shared<Allocation>();
  nodes->for_each([&](size_t id) {
    const Node& node = state.nodes.at(static_cast<NodeId>(id));
    NodeAllocation part;
    part.node = node.id;
    part.cores = Bitmap::first(node.config->cores());
    part.cpus = node.config->cpus;
    allocation->cpus += part.cpus;
    allocation->nodes.push_back(std::move(part));
  });
  allocation->node_list = state::node_list(state, *nodes);
  allocation->whole_nodes = true;
  Job job;
  job.id = request.id.job;
  job.spec = std::make_shared<JobSpec>(request.job);
  job.state = JobState::kRunning;
  job.start = now;
  job.end = kNever;
  job.allocation = std::move(allocation);
  return job;
}

Result<Step> make_step(const state::ClusterState& state, const Job& job, StepSpec spec, StepId id) {
  spec.uid = job.spec->uid;
  spec.gid = job.spec->gid;
  StepSpec wide = spec;
  wide.overcommit = true;  // nobody counts what runs there
  auto layout = state::lay_out_step(state, job, wide);
  if (!layout) return tl::unexpected(layout.error());
  Step step;
  step.id = id;
  step.layout = std::make_shared<StepLayout>(std::move(*layout));
  step.spec = std::make_shared<StepSpec>(std::move(spec));
  return step;
}

Error refusal_of(const net::FanoutResult& result) {
  constexpr uint32_t kNoConnection = 1001;  // as scontrol errnumstr knows it
  const bool away = is_unanswered(result.code);
  return away ? Error{ErrorCode::kError, error_number_text(kNoConnection)}
              : Error{result.code, result.text};
}

// A node that does not take it: the others are told to end what they began.
void launched(ServiceParts& parts, const state::ClusterState& state, const Bitmap& nodes,
              const std::vector<net::FanoutResult>& results, Responder<CreateStepReply>& responder,
              const CreateStepReply& reply) {
  const auto bad = std::ranges::find_if(
      results, [](const auto& result) { return result.code != ErrorCode::kOk; });
  if (bad == results.end()) return responder.complete(reply);
  protocol::TerminateJobRequest end;
  end.job = reply.id.job;
  end.at_once = true;
  parts.links.send(state, nodes, end, {});
  responder.fail(refusal_of(*bad));
}

void launch_outside(ServiceParts& parts, const CallContext& context, LaunchOutsideRequest request,
                    Responder<CreateStepReply> responder) {
  const bool own = request.job.uid == context.identity.uid;
  if (!context.is_super_user() || !own) return responder.fail(ErrorCode::kAccessDenied);
  if (!is_outside_jobs(request.id.job) || request.id.step > kMaxNormalStep)
    return responder.fail(ErrorCode::kBadRequest);
  auto submitter = make_submit(parts, context, std::move(request.job));  // names of user and group
  if (!submitter) return responder.fail(submitter.error());
  request.job = std::move(submitter->job);
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const auto job = stand_in(*state, request, parts.clock());
  if (!job) return responder.fail(job.error());
  const auto step = make_step(*state, *job, std::move(request.spec), request.id);
  if (!step) return responder.fail(step.error());
  protocol::StepLaunch message = state::describe_launch(*state, *job, *step);
  message.environment = std::move(request.environment);
  message.issued = net::now();
  protocol::LaunchStepRequest order;
  order.launch = wire::encode(message);
  order.signature = parts.signer.sign(order.launch);
  CreateStepReply reply;
  reply.id = request.id;
  reply.layout = *step->layout;
  Bitmap nodes;
  for (const StepNode& part : step->layout->nodes) {
    nodes.set(part.node);
    reply.nodes.push_back(state::node_address(state->nodes.at(part.node)));
  }
  auto shared = std::make_shared<Responder<CreateStepReply>>(std::move(responder));
  parts.links.send(
      *state, nodes, order,
      [&parts, state, nodes, shared, reply = std::move(reply)](const auto& results) {
        launched(parts, *state, nodes, results, *shared, reply);
      },
      step->spec->tree_width);
}

}  // namespace

void add_outside_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<LaunchOutsideRequest, CreateStepReply>(
      [&parts](const auto& context, auto request, auto responder) {
        launch_outside(parts, context, std::move(request), std::move(responder));
      });
}

}  // namespace sluice::ctld
