// sdiag: what the controller has counted.
#include <chrono>
#include <utility>
#include <vector>

#include "common/base/text.hpp"
#include "ctld/rpc/services.hpp"

namespace sluice::ctld {
namespace {

constexpr int kClockCalls = 1000;

uint64_t measure_clock(const engine::Clock& clock) {
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kClockCalls; ++i) static_cast<void>(clock());
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now() - begun)
                                   .count());
}

void count_states(const state::ClusterState& state, protocol::QueryStatisticsReply& reply) {
  state.pending.for_each([&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    const bool array = job.array != nullptr && job.array->task == kNoTask;
    reply.jobs_pending += array ? job.array->pending.size() : 1;
    return true;
  });
  state.active.for_each([&](uint32_t id) {
    if (state.jobs.at(id).state == JobState::kRunning) ++reply.jobs_running;
    return true;
  });
}

// Who asks how often is told as who runs what is: under PrivateData=jobs, users or usage everyone
// sees himself alone.
void hide_others(const ServiceParts& parts, const net::CallContext& context,
                 protocol::QueryStatisticsReply& reply) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const auto hides = [&](const char* what) {
    return has_option(state->config->private_data, what);
  };
  if (asked_by_operator(*state, context) || !(hides("jobs") || hides("users") || hides("usage")))
    return;
  std::erase_if(reply.by_user, [&](const auto& one) { return one.uid != context.identity.uid; });
}

protocol::QueryStatisticsReply statistics(ServiceParts& parts, bool reset) {
  protocol::QueryStatisticsReply reply;
  reply.now = reply.states_time = parts.clock();
  parts.report_history(reply);
  parts.calls.report(reply, reset, reply.now);
  engine::EventCounts& events = parts.engine.counts();
  reply.jobs_submitted = events.submitted;
  reply.jobs_started = events.started;
  reply.jobs_completed = events.completed;
  reply.jobs_canceled = events.canceled;
  reply.jobs_failed = events.failed;
  if (reset) events.reset();
  parts.scheduler.report(reply, reset);
  parts.report_orders(reply);
  count_states(*parts.publisher.newest()->state, reply);
  reply.clock_us = measure_clock(parts.clock);
  return reply;
}

}  // namespace

void add_statistics_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<QueryStatisticsRequest, QueryStatisticsReply>(
      [&parts, &server](const auto& context, auto request, auto responder) {
        if (request.reset && !asked_by_operator(*parts.publisher.newest()->state, context))
          return responder.fail(ErrorCode::kAccessDenied);
        protocol::QueryStatisticsReply reply = statistics(parts, request.reset);
        reply.server_threads = server.threads_at_work();
        hide_others(parts, context, reply);
        responder.reply(std::move(reply));
      });
}

}  // namespace sluice::ctld
