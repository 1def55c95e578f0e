// Choosing nodes, CPUs and tasks for a step.
#include "ctld/state/rules/step/step_layout.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "common/base/bounded.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/fit/needs.hpp"
#include "ctld/fit/place.hpp"
#include "ctld/state/rules/step/step_gres.hpp"

namespace sluice::state {
namespace {

// One node of the job as the step may use it.
struct Candidate {
  size_t position = 0;       // in the job's allocation
  uint32_t cpus = 0;         // the job's CPUs there
  uint32_t per_core = 1;     // CPUs of a core that the job has
  uint32_t used_cpus = 0;    // by steps that do not overlap
  uint64_t used_memory = 0;  // that steps asked for by themselves
  Bitmap free_cores;
  uint32_t capacity = 0;       // tasks that fit now
  uint32_t full_capacity = 0;  // tasks that would fit without other steps
  GresShares free_gres;        // of the job, and not held by other steps
};

// What the step asks for, with defaults filled in.
struct Demand {
  bool overlap = false;
  bool whole = false;  // all CPUs of each node (neither --exact nor what implies it)
  uint32_t cpus_per_task = 1;
  uint32_t used_threads = 0;  // CPUs of a core that tasks use; 0: all
  bool fill_sockets = false;  // cores of one socket before the next
  uint32_t tasks = 0;         // 0: one for each node (or ntasks_per_node)
  uint32_t tasks_per_node = 0;
  uint32_t min_nodes = 1;
  uint32_t max_nodes = 0;
  bool spreads = false;  // of a range of nodes it takes as many as have room
  bool overcommit = false;
  bool rounds_up = false;     // a node's last CPUs are enough for a task, however many it wants
  uint32_t most_on_node = 0;  // tasks: MaxTasksPerNode
  StepGres gres;
};

bool counts_as_user(const Step& step) {
  if (step.spec == nullptr || step.id.step > kMaxNormalStep) return false;
  return step.spec->overlap != OverlapKind::kOverlap;
}

Demand make_demand(const Job& job, const StepSpec& spec, size_t available) {
  Demand demand;
  demand.used_threads =
      spec.threads_per_core > 0 ? spec.threads_per_core : job.spec->threads_per_core;
  demand.overlap = spec.overlap == OverlapKind::kOverlap || spec.interactive;
  const bool exact =
      spec.exact || spec.overlap == OverlapKind::kExclusive || spec.cpus_per_task > 0;
  demand.whole = spec.whole || !exact;
  demand.overcommit = spec.overcommit || spec.interactive;
  demand.cpus_per_task = std::max(1U, spec.cpus_per_task);
  demand.tasks_per_node = spec.ntasks_per_node;
  demand.tasks = spec.num_tasks;
  const auto all = static_cast<uint32_t>(available);
  demand.min_nodes = spec.min_nodes;
  demand.max_nodes = spec.max_nodes != 0 ? spec.max_nodes : spec.min_nodes;
  if (spec.min_nodes == 0) {
    demand.min_nodes = spec.num_tasks == 0 ? all : 1;
    demand.max_nodes = spec.num_tasks == 0 ? all : std::min(all, spec.num_tasks);
    if (spec.interactive) demand.min_nodes = demand.max_nodes = 1;
  }
  if (spec.num_tasks != 0) {  // no node without a task
    demand.min_nodes = std::min(demand.min_nodes, spec.num_tasks);
    demand.max_nodes = std::min(std::max(demand.max_nodes, demand.min_nodes), spec.num_tasks);
    demand.spreads = spec.min_nodes != 0 && demand.min_nodes < demand.max_nodes;
  }
  if (demand.tasks == 0 && spec.interactive) demand.tasks = 1;
  return demand;
}

// Of so many CPUs, those that are used where only so many threads of a core are; 0: all.
uint32_t used_of(uint32_t threads, uint32_t per_core, uint32_t cpus) {
  if (threads == 0 || threads >= per_core) return cpus;
  return (cpus + per_core - 1) / per_core * threads;
}

uint32_t tasks_that_fit(const Demand& demand, uint32_t per_core, uint32_t all_cpus) {
  const uint32_t cpus = used_of(demand.used_threads, per_core, all_cpus);
  const uint32_t more = demand.rounds_up ? demand.cpus_per_task - 1 : 0;
  uint32_t tasks = demand.overcommit ? demand.most_on_node : (cpus + more) / demand.cpus_per_task;
  tasks = std::min(tasks, demand.most_on_node);
  if (demand.tasks_per_node != 0) tasks = std::min(tasks, demand.tasks_per_node);
  return tasks;
}

Candidate make_candidate(const Job& job, size_t position, const Demand& demand) {
  const NodeAllocation& part = job.allocation->nodes[position];
  Candidate candidate;
  candidate.per_core = cpus_of_core(part);
  candidate.position = position;
  candidate.cpus = part.cpus;
  candidate.free_cores = part.cores;
  for (const auto& step : job.steps) {
    if (!counts_as_user(*step)) continue;
    for (size_t at = 0; at < step->layout->nodes.size(); ++at) {
      const StepNode& there = step->layout->nodes[at];
      if (there.node != part.node || !step->nodes_left.test(at)) continue;
      candidate.used_cpus += there.cpus;
      if (step->spec->memory_mib != 0) candidate.used_memory += there.memory_mib;
      if (const auto cores = Bitmap::from_text(there.cores)) candidate.free_cores.and_not(*cores);
    }
  }
  candidate.full_capacity = tasks_that_fit(demand, candidate.per_core, part.cpus);
  if (demand.overlap) {
    candidate.capacity = candidate.full_capacity;
    candidate.free_cores = part.cores;
  } else if (!demand.whole || candidate.used_cpus == 0) {
    const uint32_t free = part.cpus - std::min(part.cpus, candidate.used_cpus);
    candidate.capacity = free == 0 ? 0 : tasks_that_fit(demand, candidate.per_core, free);
  }
  if (part.gres.empty() && demand.gres.needs.empty()) return candidate;
  candidate.free_gres = free_gres(job, position, demand.overlap);
  candidate.full_capacity =
      std::min(candidate.full_capacity, tasks_for_gres(demand.gres, part.gres, part.gres));
  candidate.capacity =
      std::min(candidate.capacity, tasks_for_gres(demand.gres, candidate.free_gres, part.gres));
  return candidate;
}

// With each CPU, where that is said so. MaxMemPerCPU has given the job more CPUs, so that each
// comes with less memory than the step's srun asked for.
uint64_t memory_of_cpu(const ClusterState& state, const Job& job, const StepSpec& spec) {
  const Partition* partition = find_partition(state, job.partition.view());
  if (partition == nullptr) return spec.memory_mib;
  return fit::within_memory_limit(spec.memory_mib, *partition->config, *state.config).per_cpu_mib;
}

// Positions in the allocation that the step may use, in order of preference.
struct Usable {
  std::vector<size_t> positions;
  Bitmap required;
};

// In what Slurm's srun says of parts that do not fit beside each other.
Status leaves_room(const ClusterState& state, const Job& job, const StepSpec& spec,
                   const Bitmap& taken) {
  if (taken.none()) return {};
  const auto nodes = spec.node_list.empty() ? Result<Bitmap>(Bitmap())
                                            : resolve_nodes(state, spec.node_list.view());
  Bitmap both = nodes ? allocation_positions(job, *nodes) : Bitmap();
  both &= taken;
  if (both.any()) {
    std::vector<std::string> names;
    both.for_each(
        [&](size_t at) { names.push_back(state.nodes.at(job.allocation->nodes[at].node).name); });
    return failure(
        ErrorCode::kTooManyNodes,
        fmt::format("Requested nodelist {} overlaps with excluded {}.\nJob not submitted.",
                    spec.node_list.view(), fold_hosts(names)));
  }
  const size_t held = job.allocation->nodes.size();
  const uint32_t wanted = std::max(1U, spec.min_nodes);
  if (wanted + taken.count() <= held) return {};
  return failure(
      ErrorCode::kTooManyNodes,
      fmt::format("Allocation failure of {} nodes: job size of {}, already allocated {} nodes "
                  "to previous components.",
                  wanted, held, taken.count()));
}

Result<Usable> usable_positions(const ClusterState& state, const Job& job, const StepSpec& spec,
                                const Bitmap& taken) {
  Usable usable;
  Bitmap excluded = job.released;
  excluded |= taken;
  if (!spec.excluded_nodes.empty()) {
    const auto nodes = resolve_nodes(state, spec.excluded_nodes.view());
    if (!nodes) return tl::unexpected(nodes.error());
    excluded |= allocation_positions(job, *nodes);
  }
  if (!spec.node_list.empty()) {
    const auto nodes = resolve_nodes(state, spec.node_list.view());
    // to a step, a node of another job is as unknown
    if (!nodes) return failure(ErrorCode::kNodesNotAvailable);
    usable.required = allocation_positions(job, *nodes);
    if (usable.required.count() != nodes->count() || usable.required.intersects(excluded)) {
      return failure(ErrorCode::kNodesNotAvailable);
    }
  }
  if (!spec.constraint.empty()) {
    const auto features = fit::parse_features(spec.constraint.view());
    if (!features) return tl::unexpected(features.error());
    for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
      const Node& node = state.nodes.at(job.allocation->nodes[at].node);
      if (!fit::satisfies_any(*features, active_features(node))) excluded.set(at);
    }
    if (usable.required.intersects(excluded)) return failure(ErrorCode::kNodesNotAvailable);
  }
  usable.required.for_each([&](size_t at) { usable.positions.push_back(at); });
  const size_t first = spec.relative == UINT32_MAX ? 0 : spec.relative;
  for (size_t at = first; at < job.allocation->nodes.size(); ++at) {
    if (!excluded.test(at) && !usable.required.test(at)) usable.positions.push_back(at);
  }
  if (usable.positions.empty()) return failure(ErrorCode::kNodesNotAvailable);
  return usable;
}

// Takes nodes until there are enough of them and enough room for the tasks; of a range the most
// that have room. Required nodes come first in the list and are always taken.
std::vector<Candidate> choose(const std::vector<Candidate>& candidates, const Demand& demand,
                              size_t required, bool as_if_empty) {
  std::vector<Candidate> chosen;
  uint64_t room = 0;
  const uint64_t wanted = demand.tasks == 0 ? demand.min_nodes : demand.tasks;
  for (size_t at = 0; at < candidates.size(); ++at) {
    const Candidate& candidate = candidates[at];
    const uint32_t capacity = as_if_empty ? candidate.full_capacity : candidate.capacity;
    const uint32_t nodes = demand.spreads ? demand.max_nodes : demand.min_nodes;
    const bool enough = chosen.size() >= nodes && room >= wanted;
    if (at >= required && (enough || chosen.size() >= demand.max_nodes)) break;
    if (capacity == 0) {
      if (at < required) return {};
      continue;
    }
    chosen.push_back(candidate);
    room += capacity;
  }
  const bool fits = chosen.size() >= demand.min_nodes && room >= wanted;
  return fits ? chosen : std::vector<Candidate>{};
}

// -c without -n: as many tasks as the step's CPUs of each node are enough for; 0: it says how many
// in another way.
uint32_t tasks_to_fill(const StepSpec& spec, const std::vector<Candidate>& candidates,
                       const Demand& demand, size_t required) {
  const bool fills = spec.cpus_per_task > 0 && demand.tasks == 0 && demand.tasks_per_node == 0 &&
                     !demand.overcommit;
  if (!fills || spec.ntasks_per_gpu > 0 ||
      !gres_items(spec.tres_per_task).value_or(std::vector<GresItem>()).empty())
    return 0;
  const size_t nodes = std::min(candidates.size(), std::max<size_t>(demand.max_nodes, required));
  uint64_t tasks = 0;
  for (size_t at = 0; at < nodes; ++at) tasks += candidates[at].full_capacity;
  return static_cast<uint32_t>(std::min<uint64_t>(tasks, UINT32_MAX));
}

// The job has CPUs for all tasks, but not so that each node has all of its tasks' CPUs: as in Slurm
// 22.05 a task may have fewer, if only the nodes have as many as all tasks want together. Nodes
// that other steps use are left alone.
std::vector<Candidate> choose_rounding_up(std::vector<Candidate> candidates, Demand demand,
                                          size_t required) {
  if (demand.cpus_per_task < 2 || demand.tasks == 0 || demand.whole) return {};
  if (!demand.gres.needs.empty()) return {};
  demand.rounds_up = true;
  const uint64_t wanted = uint64_t{demand.tasks} * demand.cpus_per_task;
  uint64_t cpus = 0;
  uint32_t nodes = 0;
  for (Candidate& one : candidates) {
    if (one.used_cpus == 0 || demand.overlap)
      one.capacity = tasks_that_fit(demand, one.per_core, one.cpus);
    if (one.capacity == 0 || cpus >= wanted) continue;
    cpus += used_of(demand.used_threads, one.per_core, one.cpus);
    ++nodes;
  }
  demand.min_nodes = std::max(demand.min_nodes, nodes);
  if (cpus < wanted || demand.min_nodes > demand.max_nodes) return {};
  return choose(candidates, demand, required, false);
}

Error why_not(const std::vector<Candidate>& candidates, const Demand& demand, size_t required) {
  if (demand.min_nodes > candidates.size()) return Error{ErrorCode::kNodesNotAvailable, {}};
  if (choose(candidates, demand, required, true).empty()) {
    // no other node could help
    const bool only_these = required > 0 && required >= demand.max_nodes;
    return Error{only_these ? ErrorCode::kNodesNotAvailable : ErrorCode::kTooManyCpus, {}};
  }
  return Error{ErrorCode::kStepsBusy, {}};
}

// Tasks that each chosen node has room for; `unshared`: with one on a CPU, also where more may
// share it (--overcommit).
std::vector<uint32_t> rooms_of(const std::vector<Candidate>& chosen, const Demand& demand,
                               bool unshared) {
  std::vector<uint32_t> rooms;
  rooms.reserve(chosen.size());
  for (const Candidate& one : chosen) {
    const bool bounded = unshared && demand.overcommit;
    const uint32_t cpus = used_of(demand.used_threads, one.per_core, one.cpus);
    rooms.push_back(bounded ? std::min(one.capacity, cpus) : one.capacity);
  }
  return rooms;
}

// Tasks of each chosen node. With --overcommit each CPU has one before any of them has a second.
std::vector<uint32_t> count_tasks(const std::vector<Candidate>& chosen, const Demand& demand,
                                  const Distribution& distribution) {
  std::vector<uint32_t> counts(chosen.size(), 0);
  uint32_t left = demand.tasks;
  if (left == 0) {
    std::fill(counts.begin(), counts.end(), std::max(1U, demand.tasks_per_node));
    return counts;
  }
  std::vector<uint32_t> rooms = rooms_of(chosen, demand, true);
  if (distribution.pack && distribution.order == TaskOrder::kBlock) {
    for (size_t i = 0; i < chosen.size() && left > 0; ++i) {
      const auto others = static_cast<uint32_t>(chosen.size() - i - 1);
      counts[i] = std::min(rooms[i], left > others ? left - others : 1);
      left -= counts[i];
    }
  }
  const uint32_t piece = distribution.order == TaskOrder::kPlane ? distribution.plane_size : 1;
  // Slurm does not always bound all planes together by a node's CPUs, so that a task may come to a
  // full node while a CPU is idle elsewhere. No node gets more here than it has room for.
  bool shares = !demand.overcommit;  // the rooms are all that there is
  while (left > 0) {
    bool placed = false;
    for (size_t i = 0; i < chosen.size() && left > 0; ++i) {
      const uint32_t now = std::min({piece, left, rooms[i] - std::min(rooms[i], counts[i])});
      counts[i] += now;
      left -= now;
      placed = placed || now > 0;
      // a turn goes on where it is, and all others begin anew with the first node
      if (shares || distribution.order != TaskOrder::kCyclic || counts != rooms) continue;
      rooms = rooms_of(chosen, demand, false);
      shares = true;
    }
    SLUICE_CHECK(placed || !shares);
    if (placed) continue;
    rooms = rooms_of(chosen, demand, false);
    shares = true;
  }
  return counts;
}

StepNode make_part(const ClusterState& state, const Job& job, const Candidate& chosen,
                   const Demand& demand, uint32_t tasks) {
  const NodeAllocation& part = job.allocation->nodes[chosen.position];
  const Node& node = state.nodes.at(part.node);
  StepNode out;
  out.node = part.node;
  out.name = node.name;
  out.memory_mib = part.memory_mib;
  if (demand.whole) {
    out.cpus = part.cpus;
    out.cores = part.cores.to_text();
    return out;
  }
  const uint32_t per_core = chosen.per_core;
  const uint32_t used = used_of(demand.used_threads, per_core, per_core);  // of each core
  out.cpus = std::min(part.cpus, tasks * demand.cpus_per_task * per_core / used);
  const uint32_t cores = (out.cpus + per_core - 1) / per_core;
  const Bitmap& pool = chosen.free_cores.count() >= cores ? chosen.free_cores : part.cores;
  // tasks that share cores stay together
  const bool fill = demand.fill_sockets || demand.cpus_per_task < used;
  out.cores = fit::take_cores(pool, cores, *node.config, fill).to_text();
  return out;
}

// Gives the nodes of the step their generic resources.
Status set_step_gres(const Job& job, const Demand& demand, const std::vector<Candidate>& chosen,
                     StepLayout& layout) {
  std::vector<StepGresNode> nodes;
  bool any = !demand.gres.needs.empty();
  for (size_t i = 0; i < chosen.size(); ++i) {
    nodes.push_back({&chosen[i].free_gres, static_cast<uint32_t>(layout.nodes[i].tasks.size())});
    any = any || !chosen[i].free_gres.empty();
  }
  if (!any) return {};
  std::vector<GresShares> dealt = deal_step_gres(demand.gres, nodes);
  if (dealt.empty()) {
    uint64_t most = 0, wanted = 0;
    for (const auto& need : demand.gres.needs) {
      wanted = std::max(wanted, need.per_job);
      for (const Candidate& c : chosen)
        most += count_of(job.allocation->nodes[c.position].gres, need.name, need.type);
    }
    return failure(wanted > most ? ErrorCode::kGresInsufficient : ErrorCode::kStepsBusy);
  }
  for (size_t i = 0; i < chosen.size(); ++i) layout.nodes[i].gres = std::move(dealt[i]);
  return {};
}

// -m arbitrary: the host list has one entry a task. The nodes are counted in the job's order all
// the same.
Result<StepLayout> lay_out_arbitrary(const ClusterState& state, const Job& job,
                                     const StepSpec& spec, const Demand& demand) {
  const auto names = expand_hosts(spec.node_list.view());
  if (!names || names->empty()) return failure(ErrorCode::kInvalidNodeName);
  struct Used {
    Candidate candidate;
    StepNode part;
  };
  std::vector<Used> used;
  std::unordered_map<std::string_view, size_t> used_at;
  for (uint32_t task = 0; task < names->size(); ++task) {
    const std::string& name = (*names)[task];
    const auto [at, fresh] = used_at.try_emplace(name, used.size());
    if (fresh) {
      const Node* node = find_node(state, name);
      const auto position =
          node == nullptr ? std::nullopt : allocation_position(*job.allocation, node->id);
      if (!position || job.released.test(*position)) return failure(ErrorCode::kNodesNotAvailable);
      Demand whole = demand;
      whole.whole = true;
      const Candidate candidate = make_candidate(job, *position, whole);
      if (candidate.capacity == 0) return failure(ErrorCode::kStepsBusy);
      used.push_back({candidate, make_part(state, job, candidate, whole, 1)});
    }
    std::vector<uint32_t>& tasks = used[at->second].part.tasks;
    if (tasks.size() >= demand.most_on_node) return failure(ErrorCode::kInvalidTaskCount);
    tasks.push_back(task);
  }
  std::ranges::sort(used, {}, [](const Used& u) { return u.candidate.position; });
  StepLayout layout;
  std::vector<Candidate> chosen;
  for (Used& one : used) {
    layout.nodes.push_back(std::move(one.part));
    chosen.push_back(std::move(one.candidate));
  }
  layout.num_tasks = static_cast<uint32_t>(names->size());
  if (Status ok = set_step_gres(job, demand, chosen, layout); !ok)
    return tl::unexpected(ok.error());
  return layout;
}

// What is said by CPU is for those that the step uses, or, where it has all of them, for those that
// the job uses.
Status set_memory(const ClusterState& state, const Job& job, const StepSpec& spec,
                  const Demand& demand, const std::vector<Candidate>& chosen, StepLayout& layout) {
  const bool by_cpu = spec.memory_kind == MemoryKind::kPerCpu;
  const uint64_t of_cpu = by_cpu ? memory_of_cpu(state, job, spec) : 0;
  const auto wanted_on = [&](uint32_t cpus, uint64_t gpus) {
    if (by_cpu) return bounded_product(of_cpu, cpus);
    if (spec.memory_kind == MemoryKind::kPerGpu) return bounded_product(spec.memory_mib, gpus);
    return spec.memory_kind == MemoryKind::kPerNode ? spec.memory_mib : 0;
  };
  for (size_t i = 0; i < layout.nodes.size(); ++i) {
    const uint32_t threads = demand.whole ? job.spec->threads_per_core : demand.used_threads;
    const uint32_t cpus = used_of(threads, chosen[i].per_core, layout.nodes[i].cpus);
    const uint64_t wanted = wanted_on(cpus, count_of(layout.nodes[i].gres, "gpu"));
    if (wanted == 0) continue;
    const uint64_t whole = job.allocation->nodes[chosen[i].position].memory_mib;
    if (whole != 0 && wanted > whole) return failure(ErrorCode::kTaskMemory);
    const bool shares = spec.overlap == OverlapKind::kOverlap;
    if (whole != 0 && !shares && wanted + chosen[i].used_memory > whole) {
      return failure(ErrorCode::kStepsBusy);
    }
    layout.nodes[i].memory_mib = wanted;
  }
  return {};
}

void name_nodes(StepLayout& layout) {
  std::vector<std::string> names;
  for (const StepNode& node : layout.nodes) names.push_back(node.name);
  layout.node_list = fold_hosts(names);
}

// What the tasks get on the chosen nodes.
Result<StepLayout> lay_out_on(std::vector<Candidate> chosen, const ClusterState& state,
                              const Job& job, const StepSpec& spec, const Demand& demand,
                              const Distribution& distribution) {
  std::sort(chosen.begin(), chosen.end(),
            [](const Candidate& a, const Candidate& b) { return a.position < b.position; });
  const std::vector<uint32_t> counts = count_tasks(chosen, demand, distribution);
  StepLayout layout;
  for (size_t i = 0; i < chosen.size(); ++i) {
    layout.nodes.push_back(make_part(state, job, chosen[i], demand, counts[i]));
  }
  auto tasks = assign_tasks(counts, distribution);
  for (size_t i = 0; i < chosen.size(); ++i) layout.nodes[i].tasks = std::move(tasks[i]);
  if (Status ok = set_step_gres(job, demand, chosen, layout); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = set_memory(state, job, spec, demand, chosen, layout); !ok)
    return tl::unexpected(ok.error());
  layout.num_tasks = std::accumulate(counts.begin(), counts.end(), 0U);
  name_nodes(layout);
  return layout;
}

}  // namespace

StepNode whole_part(const ClusterState& state, const NodeAllocation& held) {
  StepNode part;
  part.node = held.node;
  part.name = state.nodes.at(held.node).name;
  part.cpus = held.cpus;
  part.cores = held.cores.to_text();
  part.memory_mib = held.memory_mib;
  part.gres = held.gres;
  return part;
}

Result<Distribution> parse_distribution(std::string_view text, bool& given, bool pack) {
  Distribution distribution;
  distribution.pack = pack;
  given = false;
  for (const std::string& piece : split_list(text)) {
    const std::string word = to_lower(std::string_view(piece).substr(0, piece.find(':')));
    if (word == "pack" || word == "nopack") {
      distribution.pack = word == "pack";
      continue;
    }
    given = true;
    const size_t equals = word.find('=');
    const std::string kind = word.substr(0, equals);
    if (kind == "block" || kind == "*") {
      distribution.order = TaskOrder::kBlock;
    } else if (kind == "cyclic") {
      distribution.order = TaskOrder::kCyclic;
    } else if (kind == "arbitrary") {
      distribution.order = TaskOrder::kArbitrary;
    } else if (kind == "plane" && equals != std::string::npos) {
      const auto size = to_number<uint32_t>(std::string_view(word).substr(equals + 1));
      if (!size || *size == 0) return failure(ErrorCode::kBadRequest, "Invalid plane size");
      distribution.order = TaskOrder::kPlane;
      distribution.plane_size = *size;
    } else {
      return failure(ErrorCode::kBadRequest, "Invalid --distribution specification");
    }
  }
  return distribution;
}

std::vector<std::vector<uint32_t>> assign_tasks(std::span<const uint32_t> counts,
                                                const Distribution& distribution) {
  std::vector<std::vector<uint32_t>> tasks(counts.size());
  uint32_t next = 0;
  if (distribution.order == TaskOrder::kBlock) {
    for (size_t i = 0; i < counts.size(); ++i) {
      for (uint32_t k = 0; k < counts[i]; ++k) tasks[i].push_back(next++);
    }
    return tasks;
  }
  const uint32_t piece = distribution.order == TaskOrder::kPlane ? distribution.plane_size : 1;
  const uint32_t total = std::accumulate(counts.begin(), counts.end(), 0U);
  while (next < total) {
    for (size_t i = 0; i < counts.size(); ++i) {
      for (uint32_t k = 0; k < piece && tasks[i].size() < counts[i]; ++k)
        tasks[i].push_back(next++);
    }
  }
  return tasks;
}

Result<StepLayout> lay_out_step(const ClusterState& state, const Job& job, const StepSpec& spec,
                                const Bitmap& taken) {
  if (Status room = leaves_room(state, job, spec, taken); !room)
    return tl::unexpected(room.error());
  bool given = false;
  const fit::Rules rules = fit::rules_of(*state.config);
  const auto distribution = parse_distribution(spec.distribution.view(), given, rules.pack_nodes);
  if (!distribution) return tl::unexpected(distribution.error());
  const auto usable = usable_positions(state, job, spec, taken);
  if (!usable) return tl::unexpected(usable.error());
  Demand demand = make_demand(job, spec, usable->positions.size());
  demand.most_on_node = state.config->max_tasks_per_node;
  demand.fill_sockets = rules.fills_sockets(spec.distribution.view());
  auto gres = step_gres(job, spec);
  if (!gres) return tl::unexpected(gres.error());
  demand.gres = std::move(*gres);
  const bool too_many = demand.tasks > uint64_t{demand.most_on_node} * usable->positions.size();
  if (too_many || demand.tasks_per_node > demand.most_on_node)
    return failure(ErrorCode::kInvalidTaskCount);
  if (distribution->order == TaskOrder::kArbitrary) {
    auto layout = lay_out_arbitrary(state, job, spec, demand);
    if (layout) name_nodes(*layout);
    return layout;
  }
  const size_t required = usable->required.count();
  demand.max_nodes = std::max(demand.max_nodes, static_cast<uint32_t>(required));
  demand.min_nodes = std::max(demand.min_nodes, static_cast<uint32_t>(required));
  std::vector<Candidate> candidates;
  for (const size_t at : usable->positions) candidates.push_back(make_candidate(job, at, demand));
  if (const uint32_t fill = tasks_to_fill(spec, candidates, demand, required); fill > 0) {
    demand.tasks = fill;
    demand.min_nodes = std::min(demand.min_nodes, fill);
  }
  // whole planes may leave a node without a task
  demand.spreads = demand.spreads && distribution->order != TaskOrder::kPlane;
  while (true) {
    std::vector<Candidate> chosen = choose(candidates, demand, required, false);
    if (chosen.empty()) chosen = choose_rounding_up(candidates, demand, required);
    if (chosen.empty()) return tl::unexpected(why_not(candidates, demand, required));
    auto layout = lay_out_on(std::move(chosen), state, job, spec, demand, *distribution);
    // a further node may lack what is no matter of tasks: memory
    if (layout || !demand.spreads) return layout;
    demand.spreads = false;
  }
}

}  // namespace sluice::state
