// Submitting jobs, waiting for them, giving allocations back.
#include <algorithm>
#include <utility>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/names/errors.hpp"
#include "ctld/journal/blob_key.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/sched/pass.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/decide.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/limits/visible_jobs.hpp"
#include "ctld/state/core/fold.hpp"

namespace sluice::ctld {

SharedText keep_blob(std::string bytes, std::vector<journal::Blob>& blobs) {
  if (bytes.empty()) return {};
  std::string key = journal::blob_key(bytes);
  blobs.push_back({key, std::move(bytes)});
  return key;
}

Result<state::SubmitJob> make_submit(ServiceParts& parts, const net::CallContext& context,
                                     JobSpec spec, std::vector<JobSpec> components) {
  state::SubmitJob command;
  command.who = identity_of(context);
  const bool for_other = context.is_super_user() && spec.uid != 0 && spec.uid != command.who.uid;
  if (!for_other) {
    spec.uid = command.who.uid;
    if (!context.is_super_user() || spec.gid == 0) spec.gid = command.who.gid;
  }
  if (context.is_super_user()) command.who = {spec.uid, spec.gid};
  const UserEntry user = parts.users.find(spec.uid, spec.gid, parts.clock());
  if (user.name.empty()) { return failure(ErrorCode::kAccessDenied, "Invalid user id"); }
  spec.user_name = user.name;
  spec.group_name = user.group_name;
  spec.submit_host = parts.submit_hosts.name_of(context, spec.submit_host.view());
  spec.cron = {};  // scrontab's alone
  spec.cron_line = 0;
  command.groups = user.groups;
  command.job = std::move(spec);
  for (JobSpec& component : components) {  // they are all of one user
    component.uid = command.job.uid;
    component.cron = {};
    component.cron_line = 0;
    component.gid = command.job.gid;
    component.user_name = command.job.user_name;
    component.submit_host = command.job.submit_host;
    component.group_name = command.job.group_name;
  }
  command.components = std::move(components);
  return command;
}

namespace {

using Right = bool(const state::ClusterState&, const Job&, uint32_t uid);

Status check_right(Right& has, const state::ClusterState& state, JobId id, uint32_t uid) {
  const state::FoundJob job = state::find_job(state, id);
  if (!job) return failure(ErrorCode::kInvalidJobId);
  return has(state, *job, uid) ? Status() : failure(ErrorCode::kAccessDenied);
}

}  // namespace

Status may_see(const state::ClusterState& state, JobId id, uint32_t uid) {
  return check_right(state::is_owner_or_admin, state, id, uid);
}

Status may_attach(const state::ClusterState& state, JobId id, uint32_t uid) {
  return check_right(state::may_act_as_owner, state, id, uid);
}

Status check_blobs(const ServiceParts& parts, std::string_view script,
                   std::string_view environment) {
  constexpr size_t kUsualMost = 4U << 20;
  // more than the kernel gives a program, whatever its limits are
  constexpr size_t kMostEnvironment = 6U << 20;
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const auto most = to_number<size_t>(
      option_value(state->config->scheduler_parameters, "max_script_size").value_or(""));
  if (script.size() > most.value_or(kUsualMost)) return failure(std::string(state::kTooLong));
  if (environment.size() <= kMostEnvironment) return {};
  return failure(ErrorCode::kBadRequest,
                 "the environment is longer than 6 MiB, which no program can be started with");
}

namespace {

using net::CallContext;
using net::Responder;

// What the search for a start may take; the one at its turn has as much again.
std::function<bool()> test_time(ServiceParts& parts) {
  constexpr Duration kTime = std::chrono::milliseconds(500);
  const Time end = parts.clock() + kTime;
  return [&parts, end] { return parts.clock() >= end; };
}

// At its turn among all that wait, where there is time to find out.
std::optional<sched::TestStart> test_in_turn(ServiceParts& parts, const state::ClusterState& state,
                                             JobId job) {
  sched::WorkBudget budget;
  budget.kept = parts.scheduler.kept();
  budget.out_of_time = test_time(parts);
  return sched::test_start_in_turn(state, job, parts.clock(), budget);
}

// Only those that the user may see.
std::string preempted_text(const state::ClusterState& state, uint32_t uid,
                           const std::vector<JobId>& jobs) {
  const state::VisibleJobs visible(state, uid);
  std::string out;
  for (const JobId id : jobs) {
    const Job* job = state.jobs.find(id);
    if (job == nullptr || !visible.contains(*job)) continue;
    out += (out.empty() ? "" : ",") + std::to_string(id);
  }
  return out;
}

// Decides on the newest snapshot without posting anything, and asks the scheduler.
Result<protocol::SubmitJobReply> test_only(ServiceParts& parts, const state::SubmitJob& command) {
  // a copy: it is to know the user's groups, and the job
  state::ClusterState now = *parts.publisher.newest()->state;
  const auto decision = state::decide(now, command, parts.clock());
  if (!decision) return tl::unexpected(decision.error());
  protocol::SubmitJobReply reply;
  Bitmap nodes;
  const auto out_of_time = test_time(parts);
  for (const state::Event& event : decision->events) {
    if (const auto* submitted = std::get_if<state::JobSubmitted>(&event)) {
      const auto found = sched::test_start(now, submitted->job, parts.clock(), out_of_time);
      if (!found) return tl::unexpected(found.error());
      if (reply.job == kNoJob) {
        reply.job = submitted->job.id;
        reply.partition = found->partition;
      }
      reply.start = std::max(reply.start, found->start);  // the components start together
      reply.cpus += found->cpus;
      if (const auto more = state::resolve_nodes(now, found->nodes)) nodes |= *more;
    }
    state::apply(now, event);
  }
  reply.nodes = state::node_list(now, nodes);
  if (reply.job == kNoJob) return failure("the job cannot be tested");
  const auto in_turn = test_in_turn(parts, now, reply.job);
  if (!in_turn) return reply;
  reply.start = in_turn->start;
  reply.nodes = in_turn->nodes;
  reply.partition = in_turn->partition;
  if (in_turn->cpus != 0) reply.cpus = in_turn->cpus;
  const std::string text = preempted_text(now, command.who.uid, in_turn->preempted);
  if (!text.empty()) reply.messages.push_back("  Preempts: " + text);
  return reply;
}

// JobSubmitPlugins=logging
void log_submission(const state::SubmitJob& command) {
  const auto say = [&](const JobSpec& spec) {
    log::info(
        "JobSubmitPlugins=logging: uid {} submits \"{}\": partition {}, account {}, {} to {} nodes, {} tasks, "
        "{} minutes",
        command.who.uid, spec.name.view(), spec.partitions.view(), spec.account.view(),
        spec.min_nodes, spec.max_nodes, spec.num_tasks, spec.time_limit);
  };
  say(command.job);
  for (const JobSpec& component : command.components) say(component);
}

// What comes with words of its own is another bound than MaxJobCount.
void log_full(const Result<state::Reply>& reply, const ClusterConfig& config) {
  if (reply || reply.error().code != ErrorCode::kTooManyJobs) return;
  if (!reply.error().text.empty()) return log::error("job_allocate: {}", reply.error().text);
  log::error("job_allocate: MaxJobCount limit from slurm.conf reached ({})", config.max_job_count);
}

// JobSubmitPlugins that are the edge's. What the user is told.
Result<std::vector<std::string>> ask_site(ServiceParts& parts, state::SubmitJob& command,
                                          std::string& script, std::string& environment) {
  const state::ClusterSnapshot now = parts.publisher.newest()->state;
  if (has_option(now->config->job_submit_plugins, "logging")) log_submission(command);
  if (!SubmitScript::is_wanted(*now->config)) return std::vector<std::string>();
  auto said = parts.submit_script.submit(*now, command, script, environment);
  if (!said) return said;
  if (auto ok = check_blobs(parts, script, environment); !ok) return tl::unexpected(ok.error());
  return said;
}

// Before those of the controller itself; a refusal has them, too.
Result<protocol::SubmitJobReply> with_words(Result<protocol::SubmitJobReply> reply,
                                            const std::vector<std::string>& said) {
  if (reply) {
    reply->messages.insert(reply->messages.begin(), said.begin(), said.end());
    return reply;
  }
  if (said.empty()) return reply;
  Error error = reply.error();
  std::string text = join(said, "\n");
  if (error.code == ErrorCode::kError || !error.text.empty()) text += "\n" + error_text(error);
  return failure(error.code, std::move(text));
}

void submit(ServiceParts& parts, const CallContext& context, protocol::SubmitJobRequest request,
            Responder<protocol::SubmitJobReply> responder) {
  if (auto ok = check_blobs(parts, request.script, request.environment); !ok)
    return responder.fail(ok.error());
  auto command =
      make_submit(parts, context, std::move(request.spec), std::move(request.components));
  if (!command) return responder.fail(command.error());
  auto said = ask_site(parts, *command, request.script, request.environment);
  if (!said) return responder.fail(said.error());
  std::vector<journal::Blob> blobs;
  command->job.script_blob = keep_blob(std::move(request.script), blobs);
  command->job.environment_blob = keep_blob(std::move(request.environment), blobs);
  if (request.test_only) {
    return answer_by_planning<protocol::SubmitJobReply>(
        parts, context, std::move(responder),
        [&parts, said = std::move(*said), command = std::move(*command)] {
          return with_words(test_only(parts, command), said);
        });
  }
  auto make = [said = std::move(*said)](
                  const state::Reply& reply,
                  const state::ClusterState&) -> Result<protocol::SubmitJobReply> {
    const auto& submitted = std::get<state::JobSubmittedReply>(reply);
    protocol::SubmitJobReply out;
    out.job = submitted.job;
    out.messages = submitted.messages;
    return with_words(std::move(out), said);
  };
  auto done = answer(std::move(responder), make);
  parts.engine.post({std::move(*command), std::move(blobs),
                     [done = std::move(done)](const Result<state::Reply>& reply,
                                              const state::ClusterSnapshot& after) {
                       log_full(reply, *after->config);
                       done(reply, after);
                     }});
}

// The stream itself: what many watch is encoded once.
void watch(ServiceParts& parts, const CallContext& context, std::string_view bytes,
           const std::shared_ptr<net::StreamSink>& sink) {
  const Watches::Writer writer(sink);
  const auto request = context.decode<protocol::WatchJobRequest>(bytes);
  if (!request) return writer.finish(tl::unexpected(request.error()));
  sink->note_subject(net::subject_of(*request));
  sink->note_work_done();
  const auto newest = [&parts] { return parts.publisher.newest()->state; };
  const uint32_t uid = context.identity.uid;
  if (Status ok = may_see(*newest(), request->job, uid); !ok) return writer.finish(std::move(ok));
  parts.watches.add(*request, uid, newest, writer);
}

}  // namespace

void add_submit_methods(net::RpcServer& server, ServiceParts& parts) {
  using namespace protocol;  // NOLINT(google-build-using-namespace): of this function only
  server.handle<SubmitJobRequest, SubmitJobReply>(
      [&parts](const auto& context, auto request, auto responder) {
        submit(parts, context, std::move(request), std::move(responder));
      },
      net::kLongAndSlow);
  server.handle<EndAllocationRequest, Empty>([&parts](const auto& context, auto request,
                                                      auto responder) {
    parts.engine.post({state::EndAllocation{identity_of(context), request.job, request.exit_status},
                       {},
                       answer_empty(std::move(responder))});
  });
  server.add_raw_stream(
      net::method_name<WatchJobRequest>(), {},
      [&parts](const auto& context, auto bytes, auto sink) { watch(parts, context, bytes, sink); });
}

}  // namespace sluice::ctld
