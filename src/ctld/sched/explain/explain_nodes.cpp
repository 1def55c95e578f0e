#include "ctld/sched/explain/explain_nodes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/component_name.hpp"
#include "ctld/state/rules/room.hpp"

namespace sluice::sched {
namespace {

using state::ClusterState;

// Why a node does not serve, in the order in which it is looked at. Those before kWhole hold even
// when nothing runs.
enum class Cause : uint8_t {
  kExcluded,
  kDown,
  kDrained,
  kSilent,
  kOtherState,
  kReserved,
  kFeatures,
  kShape,
  kTmpDisk,
  kCpus,
  kMemory,
  kGres,
  kWhole,
  kUser,
  kPlanned,
  kFreeCpus,
  kFreeMemory,
  kFreeGres,
  kNone,
};
constexpr size_t kCauses = static_cast<size_t>(Cause::kNone) + 1;

Cause cause_of_state(const Node& node) {
  if (node.base == NodeBaseState::kDown || node.base == NodeBaseState::kError) return Cause::kDown;
  if ((node.flags & (kNodeDrain | kNodeFailing)) != 0) return Cause::kDrained;
  if (node.base == NodeBaseState::kUnknown || (node.flags & kNodeNoRespond) != 0)
    return Cause::kSilent;
  return Cause::kOtherState;
}

Cause cause_of_lack(fit::Lack lack, bool empty) {
  switch (lack) {
    case fit::Lack::kFeatures: return Cause::kFeatures;
    case fit::Lack::kShape: return Cause::kShape;
    case fit::Lack::kTmpDisk: return Cause::kTmpDisk;
    case fit::Lack::kBusy: return Cause::kWhole;
    case fit::Lack::kUser: return Cause::kUser;
    case fit::Lack::kMemory: return empty ? Cause::kMemory : Cause::kFreeMemory;
    case fit::Lack::kCpus: return empty ? Cause::kCpus : Cause::kFreeCpus;
    case fit::Lack::kGres: return empty ? Cause::kGres : Cause::kFreeGres;
    default: return Cause::kNone;
  }
}

std::string memory_words(const fit::Needs& needs) {
  if (needs.memory_per_node_mib > 0) return format_memory(needs.memory_per_node_mib) + " of memory";
  return format_memory(needs.memory_per_cpu_mib) + " of memory a CPU";
}

// "2 of gpu:a100 and 1 of fan": the least of a node.
std::string gres_words(const fit::Needs& needs) {
  const std::vector<uint64_t> counts = fit::gres_counts(needs, 1, {});
  std::string out;
  for (size_t i = 0; i < counts.size(); ++i) {
    const fit::GresNeed& need = needs.gres[i];
    out += fmt::format("{}{} of {}", out.empty() ? "" : " and ", std::max<uint64_t>(1, counts[i]),
                       need.name.view());
    if (!need.type.empty()) out += fmt::format(":{}", need.type.view());
  }
  return out;
}

std::string words_of(Cause cause, bool one, const fit::Needs& needs) {
  const char* have = one ? "has" : "have";
  const char* are = one ? "is" : "are";
  const uint32_t cpus = needs.min_cpus_per_node;
  switch (cause) {
    case Cause::kExcluded: return fmt::format("{} excluded by the job", are);
    case Cause::kDown: return fmt::format("{} down", are);
    case Cause::kDrained: return fmt::format("{} drained or draining", are);
    case Cause::kSilent: return one ? "does not respond" : "do not respond";
    case Cause::kOtherState:
      return fmt::format("{} kept back by {} state", are, one ? "its" : "their");
    case Cause::kReserved: return fmt::format("{} kept from it by reservations", are);
    case Cause::kFeatures: return fmt::format("{} not the features it wants", have);
    case Cause::kShape: return fmt::format("{} too few sockets, cores or threads", have);
    case Cause::kTmpDisk:
      return fmt::format("{} less than {} of temporary disk", have,
                         format_memory(needs.tmp_disk_mib));
    case Cause::kCpus:
      return fmt::format("{} too few CPUs, even when idle: it wants {} on one node", have, cpus);
    case Cause::kMemory:
      return fmt::format("{} too little memory, even when idle: it wants {}", have,
                         memory_words(needs));
    case Cause::kGres:
      return fmt::format("{} too few generic resources, even when idle: it wants {}", have,
                         gres_words(needs));
    case Cause::kFreeGres:
      return fmt::format("{} too few free generic resources now: it wants {}", have,
                         gres_words(needs));
    case Cause::kWhole: return fmt::format("{} in use, and it wants nodes for itself", are);
    case Cause::kUser: return fmt::format("{} in use by another user, and may not be shared", are);
    case Cause::kPlanned: return fmt::format("{} kept for jobs of higher priority", are);
    case Cause::kFreeCpus:
      return fmt::format("{} too few free CPUs now: it wants {} on one node", have, cpus);
    case Cause::kFreeMemory:
      return fmt::format("{} too little free memory now: it wants {}", have, memory_words(needs));
    default: return fmt::format("can serve it now");
  }
}

class Funnel {
 public:
  Funnel(const ClusterState& state, const Resources& resources, const Request& request,
         Minutes limit, const Viewer& viewer)
      : state_(state),
        resources_(resources),
        request_(request),
        limit_(limit),
        viewer_(viewer),
        closed_(resources.closed_to(request, resources.now(), resources.end_of(limit))),
        view_(resources.closings_for(request).view) {
    request.partition->nodes.for_each(
        [&](size_t id) { nodes_[static_cast<size_t>(cause_of(static_cast<NodeId>(id)))].set(id); });
  }

  std::vector<std::string> lines() {
    const size_t all = request_.partition->nodes.count();
    lines_.push_back(fmt::format("Partition {} has {}.", request_.partition->config->name,
                                 count_of(all, "node")));
    size_t left = all;
    for (size_t c = 0; c < kCauses; ++c) {
      const auto cause = static_cast<Cause>(c);
      if (cause == Cause::kWhole) could_serve(left);
      const size_t here = nodes_[c].count();
      if (here == 0 && cause != Cause::kNone) continue;
      left -= cause == Cause::kNone ? 0 : here;
      lines_.push_back(
          fmt::format("  {} {}{}.", here, words_of(cause, here == 1, request_.needs), names(c)));
      if (cause == Cause::kPlanned) planned_jobs();
    }
    together(left);
    blocking_jobs();
    return std::move(lines_);
  }

 private:
  Cause cause_of(NodeId id) const {
    const Node& node = state_.nodes.at(id);
    if (request_.excluded.test(id)) return Cause::kExcluded;
    const fit::Room* idle = resources_.idle(id);
    if (idle == nullptr) return cause_of_state(node);
    fit::Room open = *idle;
    if (closed_.whole.test(id) || !resources_.leave_open(closed_, open)) return Cause::kReserved;
    if (const auto lack = fit::lack_of(request_.needs, *idle); lack != fit::Lack::kNothing) {
      return cause_of_lack(lack, true);
    }
    if (fit::lack_of(request_.needs, open) != fit::Lack::kNothing) return Cause::kReserved;
    fit::PartitionUse held_now, held;
    fit::Room now;
    resources_.window({id, 0, 1, view_}, *request_.partition, now, &held_now);
    const fit::Room free = free_for(id, &held);
    if (const auto lack = fit::lack_of(request_.needs, now); lack != fit::Lack::kNothing) {
      return cause_of_lack(lack, false);
    }
    return fit::capacity(request_.needs, free).tasks > 0 ? Cause::kNone : Cause::kPlanned;
  }

  // What of the node the job could use as long as it runs.
  fit::Room free_for(NodeId id, fit::PartitionUse* held) const {
    fit::Room room;
    resources_.window({id, 0, resources_.duration_of(limit_), view_}, *request_.partition, room,
                      held);
    return room;
  }

  std::string names(size_t cause) const {
    if (nodes_[cause].none()) return {};
    std::string text = " (" + state::node_list(state_, nodes_[cause]);
    const Node& first = state_.nodes.at(static_cast<NodeId>(nodes_[cause].find_first()));
    const auto c = static_cast<Cause>(cause);
    if ((c == Cause::kDown || c == Cause::kDrained) && !first.reason.empty()) {
      text += fmt::format("; {}: {}", first.name, first.reason.view());
    }
    return text + ")";
  }

  void could_serve(size_t left) {
    lines_.push_back(fmt::format("  So {} could serve it when idle.", count_of(left, "node")));
  }

  // What all usable nodes have to give together.
  void together(size_t left) {
    const fit::Needs& needs = request_.needs;
    std::string wants = count_of(needs.min_nodes, "node");
    if (needs.tasks > 1) wants += " and " + count_of(needs.tasks, "task");
    if (needs.cpus_per_task > 1) wants += fmt::format(" of {} CPUs", needs.cpus_per_task);
    uint64_t tasks = 0;
    nodes_[static_cast<size_t>(Cause::kNone)].for_each([&](size_t id) {
      tasks += fit::capacity(needs, free_for(static_cast<NodeId>(id), nullptr)).tasks;
    });
    std::string line = fmt::format("  It wants {}", wants);
    if (needs.min_nodes > request_.partition->nodes.count()) {
      line += ", more than the partition has";
    } else if (left < needs.min_nodes || tasks < needs.tasks) {
      line += fmt::format("; {} with room for {} can be had now", count_of(left, "node"),
                          count_of(tasks, "task"));
    }
    lines_.push_back(line + ".");
    if (needs.contiguous) lines_.emplace_back("  Its nodes have to be neighbours.");
    if (request_.required.none()) return;
    Bitmap missing = request_.required;
    missing.and_not(nodes_[static_cast<size_t>(Cause::kNone)]);
    std::string text =
        fmt::format("  It must have {}", state::node_list(state_, request_.required));
    if (missing.any())
      text += fmt::format(", of which {} cannot be had now", state::node_list(state_, missing));
    lines_.push_back(text + ".");
  }

  void planned_jobs() {
    std::vector<JobId> jobs;
    nodes_[static_cast<size_t>(Cause::kPlanned)].for_each([&](size_t id) {
      const NodeSpan* planned = resources_.first_planned(static_cast<NodeId>(id));
      if (planned == nullptr || std::ranges::find(jobs, planned->job) != jobs.end()) return;
      jobs.push_back(planned->job);
      lines_.push_back(fmt::format("    {} is expected to start there at {}",
                                   named(state_.jobs.at(planned->job)),
                                   format_time(resources_.time_of(planned->from))));
    });
  }

  void blocking_jobs() {
    std::vector<const Job*> jobs;
    for (const Cause cause : {Cause::kWhole, Cause::kUser, Cause::kPlanned, Cause::kFreeCpus,
                              Cause::kFreeMemory, Cause::kFreeGres}) {
      nodes_[static_cast<size_t>(cause)].for_each([&](size_t id) {
        for (const JobId job : state_.nodes.at(static_cast<NodeId>(id)).jobs)
          jobs.push_back(&state_.jobs.at(job));
      });
    }
    std::ranges::sort(jobs, [](const Job* a, const Job* b) {
      return std::pair(a->end, a->id) < std::pair(b->end, b->id);
    });
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    if (jobs.empty()) return;
    lines_.emplace_back("Jobs that hold these nodes now, the first to end first:");
    constexpr size_t kMost = 10;
    for (size_t i = 0; i < std::min(jobs.size(), kMost); ++i) {
      const Job& job = *jobs[i];
      std::string until = "has no time limit";
      if (is_completing(job)) until = "has ended, its nodes are being cleaned up";
      else if (job.end < kNever) until = "ends by " + format_time(job.end);
      lines_.push_back(fmt::format("  {} on {} {}", named(job), job.allocation->node_list, until));
    }
    if (jobs.size() > kMost) lines_.push_back(fmt::format("  and {} more", jobs.size() - kMost));
  }

  std::string named(const Job& job) const {
    if (!viewer_.sees(job)) return "a job of another user";
    const std::string user = job.spec->user_name.empty() ? fmt::format("user {}", job.spec->uid)
                                                         : job.spec->user_name.str();
    return fmt::format("job {} of {}", shown_id(job), user);
  }

  const ClusterState& state_;
  const Resources& resources_;
  const Request& request_;
  const Minutes limit_;
  const Viewer& viewer_;
  const state::NodeHold closed_;  // by reservations (excluded ones have been seen before)
  const timeline::Timeline::View* const view_;
  std::array<Bitmap, kCauses> nodes_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string count_of(uint64_t number, std::string_view thing, std::string_view things) {
  if (number != 1 && !things.empty()) return fmt::format("{} {}", number, things);
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string shown_id(const Job& job) {
  if (job.het != nullptr) return component_name(*job.het);
  if (job.array == nullptr || job.array->task == kNoTask) return std::to_string(job.id);
  return fmt::format("{}_{}", job.array->array_job, job.array->task);
}

std::vector<std::string> explain_nodes(const ClusterState& state, const Resources& resources,
                                       const Request& request, Minutes limit,
                                       const Viewer& viewer) {
  return Funnel(state, resources, request, limit, viewer).lines();
}

}  // namespace sluice::sched
