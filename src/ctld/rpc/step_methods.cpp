// Steps for srun, and what sattach asks of them.
#include <algorithm>
#include <memory>
#include <utility>

#include "common/net/address.hpp"
#include "common/protocol/stepd.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;

std::vector<protocol::NodeAddress> step_addresses(const state::ClusterState& state,
                                                  const StepLayout& layout) {
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

bool is_loopback(std::string_view address) { return address.starts_with("127."); }

// An srun on this host leaves it to us to say at which address the job's nodes reach it: what the
// way to them begins with. A node on this host too may have a name that leads here alone, so
// another one's word is better.
void complete_endpoint(const state::ClusterState& now, uint32_t uid, JobId id, IoEndpoint& io) {
  if (io.port == 0 || !io.host.empty() || !may_attach(now, id, uid)) return;
  io.host = "127.0.0.1";
  const Job* job = now.jobs.find(id);
  if (job == nullptr || job->allocation == nullptr || job->allocation->nodes.empty()) return;
  for (auto part = job->allocation->nodes.rbegin();
       part != job->allocation->nodes.rend() && is_loopback(io.host); ++part) {
    const Node* node = now.nodes.find(part->node);
    const std::string there = node == nullptr ? std::string() : state::node_address(*node).host;
    if (!there.empty() && !is_loopback(there))
      io.host = net::address_towards(there).value_or(io.host);
  }
}

constexpr Duration kLongestPatience = std::chrono::seconds(5);
constexpr Duration kLongestWait = std::chrono::hours(24 * 365);  // that a request tells of

// Of the srun that asks.
struct Patience {
  Duration left{0}, waited{0};
};

// A request for steps, tried again whenever a step of its jobs has ended while others use what it
// needs.
struct PatientRequest {
  state::Command command;
  std::vector<journal::Blob> blobs;
  std::vector<JobId> jobs;
  // when it was asked for first; when its answer is due
  StepWaiters::Clock::time_point since, until;
  engine::Done answer;
  std::function<bool()> is_gone;            // nobody waits for the answer any more
  std::function<void(Duration)> note_wait;  // held for so long
  [[nodiscard]] size_t bytes() const {
    size_t sum = 0;
    for (const journal::Blob& blob : blobs) sum += blob.bytes.size();
    return sum;
  }
};

void try_to_create(ServiceParts& parts, const std::shared_ptr<const PatientRequest>& request) {
  if (request->is_gone()) return;  // a step that nobody waits for would run unattended
  auto done = [&parts, request](const Result<state::Reply>& reply,
                                const state::ClusterSnapshot& after) {
    const bool busy = !reply && reply.error().code == ErrorCode::kStepsBusy;
    const auto again = [&parts, request, since = StepWaiters::Clock::now()] {
      request->note_wait(std::chrono::duration_cast<Duration>(StepWaiters::Clock::now() - since));
      try_to_create(parts, request);
    };
    if (busy && parts.step_waiters.hold(request->jobs, request->until, request->bytes(), again,
                                        request->since))
      return;
    request->answer(reply, after);
  };
  parts.engine.post({request->command, request->blobs, std::move(done)});
}

template <class Reply, class Make>
void try_to_create(ServiceParts& parts, PatientRequest request, Patience patience,
                   Responder<Reply> responder, Make make) {
  const auto shared = std::make_shared<Responder<Reply>>(std::move(responder));
  request.answer = answer(shared, make);
  request.is_gone = [shared] { return shared->is_gone(); };
  request.note_wait = [shared](Duration time) { shared->note_wait(time); };
  const auto now = StepWaiters::Clock::now();
  request.since = now - std::clamp(patience.waited, Duration(0), kLongestWait);
  request.until = now + std::clamp(patience.left, Duration(0), kLongestPatience);
  try_to_create(parts, std::make_shared<const PatientRequest>(std::move(request)));
}

void create_step(ServiceParts& parts, const CallContext& context,
                 protocol::CreateStepRequest request,
                 Responder<protocol::CreateStepReply> responder) {
  if (auto ok = check_blobs(parts, {}, request.environment); !ok) return responder.fail(ok.error());
  state::CreateStep command;
  command.who = identity_of(context);
  command.job = request.job;
  command.step = std::move(request.spec);
  complete_endpoint(*parts.publisher.newest()->state, command.who.uid, command.job,
                    command.step.io);
  std::vector<journal::Blob> blobs;
  command.step.environment_blob = keep_blob(std::move(request.environment), blobs);
  auto make = [](const state::Reply& reply,
                 const state::ClusterState& after) -> Result<protocol::CreateStepReply> {
    return describe_new_step(after, std::get<state::StepCreatedReply>(reply).id);
  };
  try_to_create(parts, {std::move(command), std::move(blobs), {request.job}},
                {request.patience, request.waited}, std::move(responder), make);
}

void create_het_step(ServiceParts& parts, const CallContext& context,
                     protocol::CreateHetStepRequest request,
                     Responder<protocol::CreateHetStepReply> responder) {
  state::CreateHetStep command;
  command.who = identity_of(context);
  std::vector<journal::Blob> blobs;
  std::vector<JobId> jobs;
  for (protocol::CreateStepRequest& part : request.parts) {
    if (auto ok = check_blobs(parts, {}, part.environment); !ok) return responder.fail(ok.error());
    complete_endpoint(*parts.publisher.newest()->state, command.who.uid, part.job, part.spec.io);
    part.spec.environment_blob = keep_blob(std::move(part.environment), blobs);
    jobs.push_back(part.job);
    command.parts.push_back({part.job, std::move(part.spec)});
  }
  auto make = [](const state::Reply& reply,
                 const state::ClusterState& after) -> Result<protocol::CreateHetStepReply> {
    protocol::CreateHetStepReply out;
    for (const StepId id : std::get<state::HetStepCreatedReply>(reply).parts) {
      auto part = describe_new_step(after, id);
      if (!part) return tl::unexpected(part.error());
      out.parts.push_back(std::move(*part));
    }
    return out;
  };
  Patience patience;
  if (!request.parts.empty())
    patience = {request.parts.front().patience, request.parts.front().waited};
  try_to_create(parts, {std::move(command), std::move(blobs), std::move(jobs)}, patience,
                std::move(responder), make);
}

Result<protocol::DescribeStepReply> describe_step(const state::ClusterState& state,
                                                  const CallContext& context, StepId id) {
  if (auto ok = may_attach(state, id.job, context.identity.uid); !ok)
    return tl::unexpected(ok.error());
  const state::FoundJob job = state::find_job(state, id.job);
  // whatever is left of the step
  if (is_terminal(job->state)) return failure(ErrorCode::kAlreadyDone);
  const Step* step = state::find_step(*job, id.step);
  if (step == nullptr)
    return failure(job->state == JobState::kPending ? ErrorCode::kJobPending
                                                    : ErrorCode::kInvalidStepId);
  return protocol::DescribeStepReply{*step, step_addresses(state, *step->layout)};
}

// Tells the step's daemons to connect to one more listener; answered when the agents have been
// told.
void attach_step(ServiceParts& parts, const CallContext& context,
                 const protocol::AttachStepRequest& request,
                 Responder<protocol::DescribeStepReply> responder) {
  if (const Status ok = state::check_listener(request.io); !ok) return responder.fail(ok.error());
  const auto now = parts.publisher.newest();
  auto description = describe_step(*now->state, context, request.id);
  if (!description) return responder.fail(description.error());
  if (description->step.state >= StepState::kCompleted)
    return responder.fail(Error{ErrorCode::kAlreadyDone, {}});
  const Job& job = now->state->jobs.at(request.id.job);
  Bitmap nodes;
  for (const StepNode& part : description->step.layout->nodes) nodes.set(part.node);
  protocol::AttachRequest order{{request.id, job.restart_count}, request.io, request.with_stdin};
  complete_endpoint(*now->state, context.identity.uid, request.id.job, order.io);
  auto shared = std::make_shared<Responder<protocol::DescribeStepReply>>(std::move(responder));
  parts.links.send(*now->state, nodes, order,
                   [shared, reply = std::move(*description)](const auto& results) {
                     for (const net::FanoutResult& result : results) {
                       if (result.code == ErrorCode::kOk) return shared->complete(reply);
                     }
                     shared->fail(ErrorCode::kInvalidStepId);
                   });
}

}  // namespace

void add_step_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<CreateStepRequest, CreateStepReply>(
      [&parts](const auto& context, auto request, auto responder) {
        create_step(parts, context, std::move(request), std::move(responder));
      },
      net::kLong);
  server.handle<CreateHetStepRequest, CreateHetStepReply>(
      [&parts](const auto& context, auto request, auto responder) {
        create_het_step(parts, context, std::move(request), std::move(responder));
      },
      net::kLong);
  server.handle<DescribeStepRequest, DescribeStepReply>(
      [&parts](const auto& context, auto request, auto responder) {
        auto description = describe_step(*parts.publisher.newest()->state, context, request.id);
        const bool gone = !description && description.error().code != ErrorCode::kAccessDenied;
        if (gone && description.error().text.empty())
          description.error().text = parts.refusals.reason(request.id);
        responder.complete(std::move(description));
      });
  server.handle<AttachStepRequest, DescribeStepReply>(
      [&parts](const auto& context, auto request, auto responder) {
        attach_step(parts, context, request, std::move(responder));
      });
}

}  // namespace sluice::ctld
