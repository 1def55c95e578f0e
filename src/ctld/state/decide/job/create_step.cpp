// srun inside an allocation.
#include <algorithm>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/step_part.hpp"
#include "common/base/text.hpp"
#include "common/syntax/submit_values.hpp"
#include "ctld/state/core/heavy_texts.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/job/targets.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/step/step_layout.hpp"

namespace sluice::state {
namespace {

// in one job, or one in each component
constexpr size_t kMostParts = std::max<size_t>(kMostStepParts, kMostHetComponents);

// The same request again (its reply was lost): the step that is there already.
const Step* find_repeated(const Job& job, const StepSpec& spec) {
  if (spec.request_id == 0) return nullptr;
  for (const auto& step : job.steps) {
    if (step->spec != nullptr && step->spec->request_id == spec.request_id) return step.get();
  }
  return nullptr;
}

// That step is there no more: it ran, and nobody can follow it.
Status check_not_over(const Job& job, const StepSpec& spec) {
  if (spec.request_id == 0 ||
      std::ranges::find(job.ended_requests, spec.request_id) == job.ended_requests.end())
    return {};
  return failure(ErrorCode::kInvalidStepId,
                 "The step ended before the answer to its request arrived");
}

// May this user start a step in the job now?
Status may_create(const ClusterState& state, Identity who, JobId id) {
  const Job* job = state.jobs.find(id);
  if (job == nullptr) return failure(ErrorCode::kInvalidJobId);
  if (!may_act_as_owner(state, *job, who.uid)) return failure(ErrorCode::kAccessDenied);
  if (job->state == JobState::kPending) return failure(ErrorCode::kJobPending);
  if (!is_running(*job)) return failure(ErrorCode::kAlreadyDone);
  if (!is_ready(state, *job)) return failure(ErrorCode::kStepsBusy);  // for as long as that takes
  if (job->state == JobState::kSuspended) return failure(ErrorCode::kDisabled);
  return {};
}

// CpuBind of the job's nodes where all have the same, else of its partition.
std::string usual_binding_of(const ClusterState& state, const Job& job) {
  const auto& nodes = job.allocation->nodes;
  const std::string& first = state.nodes.at(nodes.front().node).config->cpu_bind;
  const bool same = std::ranges::all_of(nodes, [&](const NodeAllocation& part) {
    return state.nodes.at(part.node).config->cpu_bind == first;
  });
  if (same && !first.empty()) return first;
  const Partition* partition = find_partition(state, job.partition.view());
  return partition != nullptr ? partition->config->cpu_bind : std::string();
}

// TaskPluginParam's; of several the first in this order.
std::string usual_binding_of(const ClusterConfig& config) {
  for (const std::string_view name : {"None", "Sockets", "Cores", "Threads"}) {
    if (has_option(config.task_plugin_param, name)) return to_lower(name);
  }
  return {};
}

// What the site says of binding, where the user does not.
void complete_binding(const ClusterState& state, const Job& job, StepSpec& spec) {
  const auto& plugins = state.config->task_plugin;
  const bool binds = std::ranges::any_of(
      plugins, [](const std::string& name) { return name.ends_with("affinity"); });
  if (!binds) return;
  std::vector<std::string> words;
  if (!spec.cpu_bind.empty()) words.push_back(spec.cpu_bind.str());
  if (!says_how_to_bind(spec.cpu_bind.view())) {
    std::string usual = usual_binding_of(state, job);
    if (usual.empty()) usual = usual_binding_of(*state.config);
    if (!usual.empty()) words.push_back(std::move(usual));
  }
  const bool reports = has_option(state.config->task_plugin_param, "Verbose");
  if (reports && !says_whether_to_report(spec.cpu_bind.view()))
    words.insert(words.begin(), "verbose");
  spec.cpu_bind = join(words, ",");
}

Result<std::shared_ptr<Step>> make_new_step(const ClusterState& state, const Job& job,
                                            const StepSpec& wanted, Time now,
                                            const Bitmap& taken = {}) {
  if (job.next_step >= state.config->max_step_count || job.next_step >= kFirstStepPart) {
    return failure(ErrorCode::kInvalidStepId, "Step limit reached for this job");
  }
  if (Status ok = check_texts(wanted); !ok) return tl::unexpected(ok.error());
  if (Status ok = check_heavy_text(state, job.spec->uid, wanted); !ok)
    return tl::unexpected(ok.error());
  const size_t held = job.allocation->nodes.size();
  if (wanted.min_nodes > held) {
    return failure(ErrorCode::kTooManyNodes,
                   fmt::format("Only allocated {} nodes asked for {}", held, wanted.min_nodes));
  }
  auto spec = std::make_shared<StepSpec>(wanted);
  // as followed from its GPUs
  if (wanted.own_job && wanted.num_tasks == 0) spec->num_tasks = job.spec->num_tasks;
  auto layout = lay_out_step(state, job, *spec, taken);
  if (!layout) return tl::unexpected(layout.error());
  spec->uid = job.spec->uid;
  spec->gid = job.spec->gid;
  complete_binding(state, job, *spec);
  auto step = std::make_shared<Step>();
  step->id = StepId{job.id, wanted.interactive ? kInteractiveStep : job.next_step};
  if (wanted.interactive && find_step(job, kInteractiveStep) != nullptr) {
    return failure(ErrorCode::kInvalidStepId);
  }
  step->state = StepState::kRunning;
  step->start = now;
  step->nodes_left = Bitmap::first(layout->nodes.size());
  step->layout = std::make_shared<StepLayout>(std::move(*layout));
  step->spec = std::move(spec);
  return step;
}

// Ranks count through all parts: each part's begin where the last one's ended.
void join_parts(std::vector<std::shared_ptr<Step>>& parts) {
  auto world = std::make_shared<HetStepLayout>();
  const StepId first = parts.front()->id;
  world->id = {first.job, number_of_step(first.step)};
  for (const auto& part : parts) {
    auto layout = std::make_shared<StepLayout>(*part->layout);
    for (StepNode& node : layout->nodes) {
      for (uint32_t& rank : node.tasks) rank += world->layout.num_tasks;
    }
    part->first_node = static_cast<uint32_t>(world->layout.nodes.size());
    world->jobs.push_back(part->id.job);
    world->layout.num_tasks += layout->num_tasks;
    world->layout.nodes.insert(world->layout.nodes.end(), layout->nodes.begin(),
                               layout->nodes.end());
    part->layout = std::move(layout);
  }
  std::vector<std::string> names;
  for (const StepNode& node : world->layout.nodes) names.push_back(node.name);
  world->layout.node_list = fold_hosts(names);
  for (const auto& part : parts) part->world = world;
}

bool is_in_one_job(const CreateHetStep& command) {
  if (command.parts.size() < 2) return false;
  return std::ranges::all_of(
      command.parts, [&](const auto& part) { return part.job == command.parts.front().job; });
}

// All in one job, or in the components of one heterogeneous job, each once.
Status check_parts(const ClusterState& state, const CreateHetStep& command, bool in_one_job) {
  JobId leader = kNoJob, last = kNoJob;
  for (const auto& part : command.parts) {
    if (Status may = may_create(state, command.who, part.job); !may) return may;
    const Job& job = state.jobs.at(part.job);
    if (job.het == nullptr && in_one_job) continue;
    if (job.het == nullptr || (leader != kNoJob && job.het->leader != leader) || part.job <= last) {
      return failure(ErrorCode::kBadRequest);
    }
    leader = job.het->leader;
    last = part.job;
  }
  return {};
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const CreateStep& command, Time now) {
  if (Status may = may_create(state, command.who, command.job); !may)
    return tl::unexpected(may.error());
  const Job& job = state.jobs.at(command.job);
  if (const Step* known = find_repeated(job, command.step)) {
    return Decision{{}, StepCreatedReply{known->id}, {}};
  }
  // srun --uid: a step is its job's owner's
  if (command.step.uid != 0 && command.step.uid != job.spec->uid &&
      command.step.uid != command.who.uid)
    return failure(ErrorCode::kAccessDenied);
  if (Status ok = check_not_over(job, command.step); !ok) return tl::unexpected(ok.error());
  auto step = make_new_step(state, job, command.step, now);
  if (!step) return tl::unexpected(step.error());
  Decision decision;
  decision.reply = StepCreatedReply{(*step)->id};
  decision.events.emplace_back(StepCreated{std::move(*step)});
  return decision;
}

Result<Decision> decide_on(const ClusterState& state, const CreateHetStep& command, Time now) {
  if (command.parts.empty()) return failure(ErrorCode::kBadRequest);
  if (command.parts.size() > kMostParts)
    return failure(ErrorCode::kBadRequest, fmt::format("A step has at most {} parts", kMostParts));
  const bool in_one_job = is_in_one_job(command);
  if (Status good = check_parts(state, command, in_one_job); !good)
    return tl::unexpected(good.error());
  HetStepCreatedReply reply;
  std::vector<std::shared_ptr<Step>> steps;
  StepNumber number = 0;
  for (const auto& part : command.parts) {
    const Job& job = state.jobs.at(part.job);
    number = std::max(number, job.next_step);
    if (const Step* known = find_repeated(job, part.step)) reply.parts.push_back(known->id);
  }
  if (reply.parts.size() == command.parts.size()) return Decision{{}, std::move(reply), {}};
  for (const auto& part : command.parts) {
    if (Status ok = check_not_over(state.jobs.at(part.job), part.step); !ok)
      return tl::unexpected(ok.error());
  }
  reply.parts.clear();
  if (in_one_job && (command.parts.size() > kMostStepParts || number >= kMostStepsWithParts)) {
    return failure(ErrorCode::kInvalidStepId, "Step limit reached for this job");
  }
  Bitmap taken;
  for (const auto& part : command.parts) {
    const Job& job = state.jobs.at(part.job);
    auto step = make_new_step(state, job, part.step, now, in_one_job ? taken : Bitmap());
    if (!step) return tl::unexpected(step.error());
    (*step)->id.step =
        in_one_job ? make_step_part(number, static_cast<uint32_t>(steps.size())) : number;
    if (in_one_job) {
      for (const StepNode& node : (*step)->layout->nodes)
        taken.set(allocation_position(*job.allocation, node.node).value());
    }
    reply.parts.push_back((*step)->id);
    steps.push_back(std::move(*step));
  }
  join_parts(steps);
  Decision decision;
  for (auto& step : steps) decision.events.emplace_back(StepCreated{std::move(step)});
  decision.reply = std::move(reply);
  return decision;
}

}  // namespace sluice::state
