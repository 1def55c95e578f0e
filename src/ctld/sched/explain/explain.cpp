#include "ctld/sched/explain/explain.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"
#include "ctld/sched/change.hpp"
#include "ctld/sched/explain/explain_limits.hpp"
#include "ctld/sched/explain/explain_nodes.hpp"
#include "ctld/sched/limit_plan.hpp"
#include "ctld/sched/pass_run.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/limits/billing.hpp"
#include "ctld/state/limits/soft_qos.hpp"
#include "ctld/state/rules/fits.hpp"
#include "ctld/state/rules/licenses.hpp"
#include "ctld/state/rules/reservations.hpp"

namespace sluice::sched {
namespace {

using state::ClusterState;
using state::FoundJob;

FoundJob find_named(const ClusterState& state, std::string_view text) {
  const size_t bar = text.find('_');
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    const auto leader = to_number<JobId>(text.substr(0, plus));
    const auto offset = to_number<uint32_t>(text.substr(plus + 1));
    return leader && offset ? FoundJob(state::find_component(state, *leader, *offset)) : FoundJob();
  }
  const auto id = to_number<JobId>(text.substr(0, bar));
  if (!id) return {};
  if (bar == std::string_view::npos) return state::find_job(state, *id);
  const auto task = to_number<uint32_t>(text.substr(bar + 1));
  return task ? state::find_array_task(state, *id, *task) : FoundJob();
}

std::string describe(const Job& job) {
  const JobSpec& spec = *job.spec;
  const std::string user =
      spec.user_name.empty() ? fmt::format("user {}", spec.uid) : spec.user_name.str();
  const std::string name =
      spec.name.empty() ? std::string() : fmt::format(" ({})", spec.name.view());
  return fmt::format("Job {}{} of {}", shown_id(job), name, user);
}

std::string describe_other(const Job& job) {
  const std::string start =
      describe(job) + " does not wait: it is " + std::string(job_state_text(job.state, job.flags));
  if (job.state == JobState::kRunning && job.allocation) {
    return fmt::format("{} on {} since {}.", start, job.allocation->node_list,
                       format_time(job.start));
  }
  if (is_cleaning(job))
    return start + ", and waits again when its last run is gone from its nodes.";
  if (is_finished(job) && !job.state_description.empty()) {
    return fmt::format("{}: {}.", start, job.state_description.view());
  }
  return start + ".";
}

// Of SluiceParameters=soft_limit_qos.
void explain_soft_run(const Job& job, std::vector<std::string>& lines) {
  if (job.state != JobState::kRunning || !runs_softly(job.account.get())) return;
  lines.push_back(
      fmt::format("A limit of its own QOS ({}) or its association held it back: it runs in QOS {} "
                  "until others need its nodes.",
                  job.account->own_qos.view(), job.spec->qos.view()));
}

void explain_soft_limit(const ClusterState& state, const Job& job, Time now,
                        std::vector<std::string>& lines) {
  const std::string name = state::soft_limit_qos(*state.config);
  const state::Partition* partition = state::find_partition(state, job.partition.view());
  if (name.empty() || partition == nullptr || job.hold != HoldKind::kNone) return;
  const auto limit =
      LimitPlan(state, now)
          .why_not(job, *partition, state::requested_amounts(state, *job.spec, *partition->config),
                   limit_of(job, *partition));
  if (!limit || !state::may_be_exceeded(*limit)) return;
  const QosRecord* soft = state::find_soft_qos(state);
  const std::string_view why = soft == nullptr
                                   ? state::why_no_soft_qos(state)
                                   : state::why_not_softly(state, job, *partition, *soft);
  if (!why.empty())
    return lines.push_back(fmt::format("It does not run in QOS {} meanwhile{} {}.", name,
                                       soft == nullptr ? ":" : ",", why));
  lines.push_back(fmt::format(
      "Over that limit it may run in QOS {}, until others need its nodes: when it finds "
      "room beside what is planned, in the limits of that QOS.",
      name));
}

// Why no pass looks at the job at all.
void explain_ineligible(const Job& job, Time now, std::vector<std::string>& lines) {
  if (job.hold == HoldKind::kAdmin) lines.emplace_back("It is held by an administrator.");
  const bool failed = (job.flags & (kJobLaunchFailed | kJobReservationDeletedHold)) != 0;
  if (job.hold == HoldKind::kUser && failed)
    lines.emplace_back("It was held, and not by anybody's request:");
  else if (job.hold == HoldKind::kUser) lines.emplace_back("It is held by its user.");
  if (job.hold != HoldKind::kNone && !job.state_description.empty()) {
    lines.push_back(fmt::format("  {}", job.state_description.view()));
  }
  if (!job.dependency.empty()) {
    const bool never = job.reason == JobReason::kDependencyNeverSatisfied;
    lines.push_back(fmt::format("It depends on other jobs: {}{}.", job.dependency.view(),
                                never ? ", which can never be fulfilled" : ""));
  }
  const Time begin = std::max(job.spec->begin, job.eligible);
  if (begin > now) lines.push_back(fmt::format("It may not begin before {}.", format_time(begin)));
}

// True when the partition itself does not keep the job out.
bool explain_partition(const ClusterState& state, const Job& job, const state::Partition& partition,
                       std::vector<std::string>& lines) {
  const PartitionConfig& p = *partition.config;
  const auto reason = why_partition_refuses(state, job, partition);
  if (!reason) return true;
  switch (*reason) {
    case JobReason::kPartitionDown:
      lines.push_back(fmt::format("Partition {} is down: it starts no jobs.", p.name));
      break;
    case JobReason::kPartitionInactive:
      lines.push_back(fmt::format("Partition {} is inactive.", p.name));
      break;
    case JobReason::kPartitionTimeLimit:
      lines.push_back(fmt::format("Partition {} allows at most {}; the job asks for {}.", p.name,
                                  format_minutes(p.max_time),
                                  format_minutes(limit_of(job, partition))));
      break;
    case JobReason::kMaxMemPerLimit:
      lines.push_back(fmt::format(
          "Partition {} gives a job at most {} MiB of a node's memory; the job asks for more.",
          p.name, p.max_mem_per_node_mib.value_or(state.config->max_mem_per_node_mib)));
      break;
    case JobReason::kAccountNotAllowed:
      lines.push_back(fmt::format("Partition {} starts no jobs of its account.", p.name));
      break;
    case JobReason::kQOSNotAllowed:
      lines.push_back(fmt::format("Partition {} starts no jobs of its QOS.", p.name));
      break;
    case JobReason::kPartitionConfig:
      lines.push_back(fmt::format("Partition {} does not let the job's user in.", p.name));
      break;
    default:
      lines.push_back(
          fmt::format("Partition {} takes jobs of {} to {} nodes; the job asks for {}.", p.name,
                      std::max(1U, p.min_nodes),
                      p.max_nodes == kUnlimited ? "any number of" : std::to_string(p.max_nodes),
                      std::max({1U, job.spec->min_nodes, job.spec->max_nodes})));
  }
  return false;
}

void explain_licenses(const ClusterState& state, const Job& job, Time now,
                      std::vector<std::string>& lines) {
  if (job.spec->licenses.empty()) return;
  const state::LicensePool pool(state, now);
  const state::Partition* partition = state::find_partition(state, job.partition.view());
  const Minutes limit = partition == nullptr ? kInfiniteMinutes : limit_of(job, *partition);
  const state::LicenseUse use{state::named_reservation(state, *job.spec),
                              state::planned_end(now, limit)};
  for (const auto& lack : pool.lacking(*job.spec, use)) {
    const std::string kept =
        lack.kept == 0 ? "" : fmt::format("; reservations keep {} before it would end", lack.kept);
    lines.push_back(
        fmt::format("It waits for licenses: it asks for {} of {}, of which {} of {} are free{}.",
                    lack.wanted, lack.name, lack.free, lack.total, kept));
  }
}

void explain_reservation(const ClusterState& state, const Job& job, Time now,
                         std::vector<std::string>& lines) {
  if (job.spec->reservation.empty()) return;
  for (const std::string& name : split_list(job.spec->reservation.view())) {
    const Reservation* found = state::find_reservation(state, name);
    if (found == nullptr) {
      lines.push_back(
          fmt::format("Reservation {} that it asks for is not there (any more).", name));
    } else if (!state::may_use(state, *found, job.spec->uid, job.spec->account.view())) {
      lines.push_back(fmt::format("Reservation {} that it asks for is not open to it.", name));
    } else if (!state::is_active(*found, now)) {
      lines.push_back(fmt::format("Reservation {} that it asks for begins at {}.", name,
                                  format_time(state::period_of(*found, now).start)));
    }
  }
}

// The turn in the job's partition, where it is one and it has a turn there.
std::unique_ptr<PassRun> explain_placement(const ClusterState& state, const Job& job, Time now,
                                           const Viewer& viewer, PassBudget& budget,
                                           std::vector<std::string>& lines) {
  std::unique_ptr<PassRun> turn;
  size_t partitions = 0;
  for (const std::string& name : state::partitions_of(state, job)) {
    ++partitions;
    const state::Partition* partition = state::find_partition(state, name);
    if (partition == nullptr) {
      lines.push_back(fmt::format("Partition {} does not exist.", name));
      continue;
    }
    if (!explain_partition(state, job, *partition, lines)) continue;
    if (!budget.take()) {
      lines.push_back(
          fmt::format("Partition {} was not looked at: this took too long already.", name));
      continue;
    }
    auto made = budget.make_pass(state, now);
    PassRun& run = *made;
    // false: it is not eligible, and all is as after a whole pass
    const bool has_turn = run.run_until(job.id, *partition);
    const auto request = request_of(state, run.resources().rules(), job, *partition);
    if (!request) {
      lines.push_back(fmt::format("In partition {} its demands cannot be met: {}.", name,
                                  request.error().text));
      continue;
    }
    for (std::string& line :
         explain_nodes(state, run.resources(), *request, limit_of(job, *partition), viewer)) {
      lines.push_back(std::move(line));
    }
    const auto over = run.over_limit(job, *partition, request->reservation);
    if (over && viewer.sees_limits_of(job)) explain_limit(state, job, *over, now, lines);
    if (has_turn) turn = std::move(made);
  }
  return partitions == 1 ? std::move(turn) : nullptr;
}

}  // namespace

Result<protocol::ExplainReply> explain(const ClusterState& state, const SchedulerView* soft,
                                       std::string_view job_id, Time now,
                                       const ExplainLimits& limits) {
  const Viewer viewer{limits.visible, limits.only_limits_of};
  PassBudget budget(limits.most_passes, limits.out_of_time, limits.kept);
  const FoundJob job = find_named(state, job_id);
  if (!job || !viewer.sees(*job)) return failure(ErrorCode::kInvalidJobId);
  protocol::ExplainReply reply;
  if (job->state != JobState::kPending) {
    reply.lines.push_back(describe_other(*job));
    explain_soft_run(*job, reply.lines);
    return reply;
  }
  const SchedulerHints* known = soft == nullptr ? nullptr : soft->find(job->id);
  std::string first = describe(*job) + " waits";
  if (known != nullptr && known->reason != JobReason::kNone) {
    first += fmt::format(" ({}), priority {}", reason_text(known->reason), known->priority);
  }
  reply.lines.push_back(first + ".");
  explain_ineligible(*job, now, reply.lines);
  explain_soft_limit(state, *job, now, reply.lines);
  if (job->het != nullptr) {
    reply.lines.push_back(
        fmt::format("It starts together with the other {} of its heterogeneous job.",
                    count_of(job->het->size - 1, "component")));
  }
  if (job->array != nullptr && job->array->task == kNoTask && job->array->max_running > 0) {
    const state::ArrayTasks* tasks = state.arrays.find(job->array->array_job);
    reply.lines.push_back(fmt::format("Of its array {} may run at once, and {} hold nodes.",
                                      count_of(job->array->max_running, "task"),
                                      tasks == nullptr ? 0 : tasks->running));
  }
  explain_licenses(state, *job, now, reply.lines);
  explain_reservation(state, *job, now, reply.lines);
  auto turn = explain_placement(state, *job, now, viewer, budget, reply.lines);
  if (known != nullptr && known->expected_start != kNoTime) {
    reply.lines.push_back(fmt::format("It is expected to start at {} on {}.",
                                      format_time(known->expected_start),
                                      known->planned_nodes.view()));
  }
  const auto change = find_change(state, *job, now, budget, std::move(turn));
  if (!change && budget.spent()) {
    reply.lines.push_back(fmt::format(
        "No change that would let it start now was found after {}; not all could be tried.",
        count_of(budget.used(), "try", "tries")));
    return reply;
  }
  if (!change) {
    reply.lines.emplace_back("No change to the job would let it start now.");
    return reply;
  }
  const std::string words = change_in_words(change->update);
  if (words.empty()) {
    reply.lines.emplace_back("It will start with the next pass of the scheduler.");
    return reply;
  }
  reply.lines.push_back(
      fmt::format("{}, and it can start now:",
                  (change->by_admin ? "An administrator can " : "You can ") + words));
  std::string id = shown_id(*job);
  // those of an array that run are left alone
  if (job->array != nullptr && job->array->task == kNoTask && !change->update.array_max_running)
    id = fmt::format("{}_[{}]", job->array->array_job, job->array->pending.to_text());
  for (const std::string& command : change_commands(change->update, id)) {
    reply.lines.push_back("  " + command);
  }
  reply.change = change->update;
  return reply;
}

}  // namespace sluice::sched
