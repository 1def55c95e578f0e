// Submitting jobs, creating steps, waiting for jobs, giving allocations back.
#include <algorithm>
#include <utility>

#include "common/protocol/stepd.hpp"
#include "ctld/journal/blob_key.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/launch_message.hpp"

namespace sluice::ctld {

SharedText keep_blob(std::string bytes, std::vector<journal::Blob>& blobs) {
  if (bytes.empty()) return {};
  std::string key = journal::blob_key(bytes);
  blobs.push_back({key, std::move(bytes)});
  return key;
}

Result<state::SubmitJob> make_submit(ServiceParts& parts, const net::CallContext& context, JobSpec spec,
                                     std::vector<JobSpec> components) {
  state::SubmitJob command;
  command.who = identity_of(context);
  const bool for_other = context.is_super_user() && spec.uid != 0 && spec.uid != command.who.uid;
  if (!for_other) {
    spec.uid = command.who.uid;
    if (!context.is_super_user() || spec.gid == 0) spec.gid = command.who.gid;
  }
  if (context.is_super_user()) command.who = {spec.uid, spec.gid};
  const UserEntry user = parts.users.find(spec.uid, spec.gid, parts.clock());
  if (user.name.empty()) {
    return failure(ErrorCode::kAccessDenied, "Invalid user id");
  }
  spec.user_name = user.name;
  spec.group_name = user.group_name;
  command.groups = user.groups;
  command.job = std::move(spec);
  for (JobSpec& component : components) {  // they are all of one user
    component.uid = command.job.uid;
    component.gid = command.job.gid;
    component.user_name = command.job.user_name;
    component.group_name = command.job.group_name;
  }
  command.components = std::move(components);
  return command;
}

namespace {

using net::CallContext;
using net::Responder;

// Decides on the newest snapshot without posting anything, and asks the scheduler.
Result<protocol::SubmitJobReply> test_only(ServiceParts& parts, const state::SubmitJob& command) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  const auto decision = state::decide(*now, command, parts.clock());
  if (!decision) return tl::unexpected(decision.error());
  protocol::SubmitJobReply reply;
  Bitmap nodes;
  for (const state::Event& event : decision->events) {
    const auto* submitted = std::get_if<state::JobSubmitted>(&event);
    if (submitted == nullptr) continue;
    const auto found = sched::test_start(*now, submitted->job, parts.clock());
    if (!found) return tl::unexpected(found.error());
    if (reply.job == kNoJob) {
      reply.job = submitted->job.id;
      reply.partition = found->partition;
    }
    reply.start = std::max(reply.start, found->start);  // the components start together
    reply.cpus += found->cpus;
    if (const auto more = state::resolve_nodes(*now, found->nodes)) nodes |= *more;
  }
  reply.nodes = state::node_list(*now, nodes);
  if (reply.job == kNoJob) return failure("the job cannot be tested");
  return reply;
}

void submit(ServiceParts& parts, const CallContext& context, protocol::SubmitJobRequest request,
            Responder<protocol::SubmitJobReply> responder) {
  std::vector<journal::Blob> blobs;
  request.spec.script_blob = keep_blob(std::move(request.script), blobs);
  request.spec.environment_blob = keep_blob(std::move(request.environment), blobs);
  auto command = make_submit(parts, context, std::move(request.spec), std::move(request.components));
  if (!command) return responder.fail(command.error());
  if (request.test_only) return responder.complete(test_only(parts, *command));
  auto make = [](const state::Reply& reply, const state::ClusterState&) -> Result<protocol::SubmitJobReply> {
    const auto& submitted = std::get<state::JobSubmittedReply>(reply);
    protocol::SubmitJobReply out;
    out.job = submitted.job;
    out.messages = submitted.messages;
    return out;
  };
  parts.engine.post({std::move(*command), std::move(blobs), answer(std::move(responder), make)});
}

std::vector<protocol::NodeAddress> step_addresses(const state::ClusterState& state, const StepLayout& layout) {
  std::vector<protocol::NodeAddress> out;
  for (const StepNode& part : layout.nodes) {
    if (const Node* node = state.nodes.find(part.node)) out.push_back(state::node_address(*node));
  }
  return out;
}

// What srun is told of a step that was just made.
Result<protocol::CreateStepReply> describe_new_step(const state::ClusterState& after, StepId id) {
  protocol::CreateStepReply out;
  out.id = id;
  const Job* job = after.jobs.find(id.job);
  const Step* step = job != nullptr ? state::find_step(*job, id.step) : nullptr;
  if (step == nullptr) return failure(ErrorCode::kInvalidStepId);
  out.layout = *step->layout;
  out.nodes = step_addresses(after, *step->layout);
  return out;
}

void create_step(ServiceParts& parts, const CallContext& context, protocol::CreateStepRequest request,
                 Responder<protocol::CreateStepReply> responder) {
  state::CreateStep command;
  command.who = identity_of(context);
  command.job = request.job;
  command.step = std::move(request.spec);
  std::vector<journal::Blob> blobs;
  command.step.environment_blob = keep_blob(std::move(request.environment), blobs);
  auto make = [](const state::Reply& reply, const state::ClusterState& after) -> Result<protocol::CreateStepReply> {
    return describe_new_step(after, std::get<state::StepCreatedReply>(reply).id);
  };
  parts.engine.post({std::move(command), std::move(blobs), answer(std::move(responder), make)});
}

void create_het_step(ServiceParts& parts, const CallContext& context, protocol::CreateHetStepRequest request,
                     Responder<protocol::CreateHetStepReply> responder) {
  state::CreateHetStep command;
  command.who = identity_of(context);
  std::vector<journal::Blob> blobs;
  for (protocol::CreateStepRequest& part : request.parts) {
    part.spec.environment_blob = keep_blob(std::move(part.environment), blobs);
    command.parts.push_back({part.job, std::move(part.spec)});
  }
  auto make = [](const state::Reply& reply, const state::ClusterState& after) -> Result<protocol::CreateHetStepReply> {
    protocol::CreateHetStepReply out;
    for (const StepId id : std::get<state::HetStepCreatedReply>(reply).parts) {
      auto part = describe_new_step(after, id);
      if (!part) return tl::unexpected(part.error());
      out.parts.push_back(std::move(*part));
    }
    return out;
  };
  parts.engine.post({std::move(command), std::move(blobs), answer(std::move(responder), make)});
}

// The job's owner or an administrator.
Status may_see(const state::ClusterState& state, JobId id, uint32_t uid) {
  const Job* job = state.jobs.find(id);
  if (job == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (job->spec->uid != uid && !state::is_admin(state, uid)) return failure(ErrorCode::kAccessDenied);
  return {};
}

Result<protocol::DescribeStepReply> describe_step(const state::ClusterState& state, const CallContext& context, StepId id) {
  if (auto ok = may_see(state, id.job, context.identity.uid); !ok) return tl::unexpected(ok.error());
  const Step* step = state::find_step(state.jobs.at(id.job), id.step);
  if (step == nullptr) return failure(ErrorCode::kInvalidStepId);
  return protocol::DescribeStepReply{*step, step_addresses(state, *step->layout)};
}

// Tells the step's daemons to connect to one more listener; answered when the agents have been told.
void attach_step(ServiceParts& parts, const CallContext& context, const protocol::AttachStepRequest& request,
                 Responder<protocol::DescribeStepReply> responder) {
  const auto now = parts.publisher.newest();
  auto description = describe_step(*now->state, context, request.id);
  if (!description) return responder.fail(description.error());
  const Job& job = now->state->jobs.at(request.id.job);
  Bitmap nodes;
  for (const StepNode& part : description->step.layout->nodes) nodes.set(part.node);
  const protocol::AttachRequest order{{request.id, job.restart_count}, request.io, request.with_stdin};
  auto shared = std::make_shared<Responder<protocol::DescribeStepReply>>(std::move(responder));
  parts.links.send(*now->state, nodes, order, [shared, reply = std::move(*description)](const auto& results) {
    for (const net::FanoutResult& result : results) {
      if (result.code == ErrorCode::kOk) return shared->complete(reply);
    }
    shared->fail(ErrorCode::kInvalidStepId);
  });
}

}  // namespace

void add_submit_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<SubmitJobRequest, SubmitJobReply>([&parts](const auto& context, auto request, auto responder) {
    submit(parts, context, std::move(request), std::move(responder));
  });
  server.handle<CreateStepRequest, CreateStepReply>([&parts](const auto& context, auto request, auto responder) {
    create_step(parts, context, std::move(request), std::move(responder));
  });
  server.handle<CreateHetStepRequest, CreateHetStepReply>([&parts](const auto& context, auto request, auto responder) {
    create_het_step(parts, context, std::move(request), std::move(responder));
  });
  server.handle<DescribeStepRequest, DescribeStepReply>([&parts](const auto& context, auto request, auto responder) {
    responder.complete(describe_step(*parts.publisher.newest()->state, context, request.id));
  });
  server.handle<AttachStepRequest, DescribeStepReply>([&parts](const auto& context, auto request, auto responder) {
    attach_step(parts, context, request, std::move(responder));
  });
  server.handle<EndAllocationRequest, Empty>([&parts](const auto& context, auto request, auto responder) {
    parts.engine.post({state::EndAllocation{identity_of(context), request.job, request.exit_status}, {},
                       answer_empty(std::move(responder))});
  });
  server.handle_stream<WatchJobRequest, JobWatchUpdate>([&parts](const auto& context, auto request, auto writer) {
    const auto newest = [&parts] { return parts.publisher.newest()->state; };
    if (auto ok = may_see(*newest(), request.job, context.identity.uid); !ok) return writer.finish(ok);
    parts.watches.add(request, newest, writer);
  });
}

}  // namespace sluice::ctld
