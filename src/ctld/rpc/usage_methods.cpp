// sstat: the agents of a step's nodes are asked what its tasks use.
#include <algorithm>
#include <mutex>
#include <utility>

#include "common/base/step_part.hpp"
#include "common/protocol/usage.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;
using protocol::QueryUsageReply;
using protocol::QueryUsageRequest;

// The steps that are meant, named ones first, then by number, as sstat lists them.
std::vector<std::shared_ptr<const Step>> chosen_steps(const Job& job,
                                                      const QueryUsageRequest& request) {
  const bool any = request.step.step == protocol::kAnyStep;
  std::vector<std::shared_ptr<const Step>> steps;
  for (const auto& step : job.steps) {
    const bool named = step->id.step > kMaxNormalStep;
    if (any ? request.all_steps || !named
            : step->id.step == request.step.step ||
                  number_of_step(step->id.step) == request.step.step)
      steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const Step& step) { return static_cast<int32_t>(step.id.step); };
    return rank(*a) < rank(*b);
  });
  if (any && !request.all_steps && steps.size() > 1) steps.resize(1);
  return steps;
}

// Answers of the nodes of all steps; the last of them sends the reply.
struct Gathering {
  std::mutex mutex;
  QueryUsageReply reply;
  size_t steps_left = 0;
  std::shared_ptr<Responder<QueryUsageReply>> responder;

  void take(size_t index, const std::vector<net::FanoutResult>& results) {
    const std::lock_guard lock(mutex);
    for (const net::FanoutResult& result : results) {
      protocol::NodeUsage& usage = reply.steps[index].nodes.emplace_back();
      usage.node = result.node;
      usage.code = result.code;
      if (result.code != ErrorCode::kOk) continue;
      if (auto stats = wire::decode<protocol::StatStepReply>(result.reply)) {
        usage.stats = std::move(*stats);
      } else {
        usage.code = stats.error().code;
      }
    }
    if (--steps_left == 0) responder->complete(std::move(reply));
  }
};

void query_usage(ServiceParts& parts, const CallContext& context, const QueryUsageRequest& request,
                 Responder<QueryUsageReply> responder) {
  const auto now = parts.publisher.newest();
  const state::ClusterState& state = *now->state;
  const Job* job = state.jobs.find(request.step.job);
  if (job == nullptr) return responder.fail(ErrorCode::kInvalidJobId);
  if (!state::is_owner_or_admin(state, *job, context.identity.uid))
    return responder.fail(ErrorCode::kAccessDenied);
  const auto steps = chosen_steps(*job, request);
  if (steps.empty()) return responder.fail(ErrorCode::kInvalidStepId);
  const auto gathering = std::make_shared<Gathering>();
  gathering->responder = std::make_shared<Responder<QueryUsageReply>>(std::move(responder));
  gathering->steps_left = steps.size();
  for (const auto& step : steps) gathering->reply.steps.push_back({*step, {}});
  for (size_t index = 0; index < steps.size(); ++index) {
    Bitmap nodes;
    const Step& step = *steps[index];
    for (size_t at = 0; at < step.layout->nodes.size(); ++at) {
      if (step.nodes_left.test(at)) nodes.set(step.layout->nodes[at].node);
    }
    parts.links.send(state, nodes, protocol::StatStepRequest{step.id},
                     [gathering, index](const auto& results) { gathering->take(index, results); });
  }
}

}  // namespace

void add_usage_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<QueryUsageRequest, QueryUsageReply>(
      [&parts](const auto& context, auto request, auto responder) {
        query_usage(parts, context, request, std::move(responder));
      });
}

}  // namespace sluice::ctld
