#include "referee.hpp"

#include <algorithm>
#include <charconv>

#include "ctld/state/core/indexes.hpp"

namespace sluice::sim {

using namespace sluice::state;

namespace {

bool runs(const Job& job) { return job.state == JobState::kRunning; }

uint64_t number_behind(std::string_view text, char sign, uint64_t otherwise) {
  const size_t at = text.rfind(sign);
  uint64_t number = otherwise;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  }
  return number;
}

// Calls each(name, type, count) for the items of "gres/gpu:a:2,gres/fan:1".
template <class Each>
void for_each_item(std::string_view list, Each&& each) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (item.starts_with("gres/")) item.remove_prefix(5);
    const uint64_t count = number_behind(item, ':', 1);
    item = item.substr(0, item.rfind(':'));
    const size_t colon = item.find(':');
    const bool typed = colon != std::string_view::npos;
    each(item.substr(0, colon), typed ? item.substr(colon + 1) : std::string_view(), count);
  }
}

uint64_t held(const NodeAllocation& part, std::string_view name, std::string_view type) {
  uint64_t count = 0;
  for (const GresShare& share : part.gres) {
    if (share.name.view() != name || (!type.empty() && share.type.view() != type)) continue;
    count += share.count;
  }
  return count;
}

uint64_t held(const Allocation& all, std::string_view name, std::string_view type) {
  uint64_t count = 0;
  for (const NodeAllocation& part : all.nodes) count += held(part, name, type);
  return count;
}

bool is_on(const Job& job, NodeId node, const NodeAllocation*& part) {
  if (!job.allocation) return false;
  for (size_t at = 0; at < job.allocation->nodes.size(); ++at) {
    if (job.allocation->nodes[at].node != node || job.released.test(at)) continue;
    part = &job.allocation->nodes[at];
    return true;
  }
  return false;
}

const Reservation* named(const ClusterState& state, std::string_view name) {
  for (const Reservation& one : *state.reservations) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// When it will be over at the latest: with its reservation, unless that is FLEX.
Time end_of(const ClusterState& state, const Job& job) {
  const Reservation* own = named(state, job.reservation.view());
  const bool with_it = own != nullptr && (own->flags & kReservationFlex) == 0;
  return with_it ? std::min(own->end, job.end) : job.end;
}

// What of a name is reserved on the node: units, and how many of what is only counted.
struct KeptGres {
  bool any = false;
  Bitmap units;
  uint64_t count = 0;
};
KeptGres kept_of(const Reservation& one, NodeId node, std::string_view name) {
  KeptGres kept;
  for (const ReservedGres& part : one.gres) {
    for (const GresShare& share : part.shares) {
      if (part.node != node || share.name != name) continue;
      kept.any = true;
      kept.units |= share.units;
      kept.count += share.count;
    }
  }
  return kept;
}

bool has_whole_nodes(const Reservation& one) { return one.cores.empty() && one.gres.empty(); }

// Whether something of the job's part of a node, or all of it, is of the reservation.
bool has_some(const Reservation& one, const NodeAllocation& part) {
  if (has_whole_nodes(one) || !one.nodes.test(part.node)) return one.nodes.test(part.node);
  const auto at = std::ranges::find(one.cores, part.node, &ReservedCores::node);
  if (at != one.cores.end() && at->cores.intersects(part.cores)) return true;
  return std::ranges::any_of(part.gres, [&](const GresShare& share) {
    return share.units.intersects(kept_of(one, part.node, share.name.view()).units);
  });
}
bool has_all(const Reservation& one, const NodeAllocation& part) {
  if (has_whole_nodes(one) || !one.nodes.test(part.node)) return one.nodes.test(part.node);
  const auto at = std::ranges::find(one.cores, part.node, &ReservedCores::node);
  if (at != one.cores.end() && !at->cores.contains(part.cores)) return false;
  return std::ranges::all_of(part.gres, [&](const GresShare& share) {
    const KeptGres kept = kept_of(one, part.node, share.name.view());
    return !kept.any || (kept.units.contains(share.units) && kept.count >= share.count);
  });
}

uint64_t count_on(const Job& job, NodeId node, std::string_view name) {
  uint64_t count = 0;
  for (const NodeAllocation& part : job.allocation->nodes) {
    if (part.node == node) count += count_of(part.gres, name);
  }
  return count;
}

}  // namespace

void Referee::found(const std::string& problem) {
  if (problems_.size() < 20) problems_.push_back("referee: " + problem);
}

void Referee::wrong(const Job& job, const std::string& what) {
  found("job " + std::to_string(job.id) + " " + what);
}

void Referee::asked(uint64_t request_id, std::vector<JobSpec> specs) {
  asked_[request_id] = std::move(specs);
}

const JobSpec* Referee::spec_of(const Job& job) const {
  const JobId array = job.array != nullptr ? job.array->array_job : job.id;
  if (updated_.contains(job.id) || updated_.contains(array)) return nullptr;
  const auto found = asked_.find(job.spec->request_id);
  if (found == asked_.end()) return nullptr;
  const size_t at = job.het != nullptr ? job.het->offset : 0;
  return at < found->second.size() ? &found->second[at] : nullptr;
}

void Referee::applied(const ClusterState& state, const Event& event, Time now) {
  if (const auto* start = std::get_if<JobStarted>(&event)) {
    for (const JobStarted::Start& one : start->starts)
      job_started(state, state.jobs.at(one.job), now);
  } else if (const auto* suspended = std::get_if<JobSuspended>(&event)) {
    suspended_.insert(suspended->job);
  } else if (const auto* node = std::get_if<NodeStateChanged>(&event)) {
    if (node->base == NodeBaseState::kDown) unsure_.insert(state.nodes.at(node->node).name);
  } else if (const auto* completing = std::get_if<JobCompleting>(&event)) {
    if ((completing->flags & kJobRequeued) == 0) note_end(completing->job, completing->state);
  } else if (const auto* ended = std::get_if<JobEnded>(&event)) {
    note_end(ended->job, ended->state);
  } else if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
    // an id that was given before is another job's now
    const JobId id = submitted->job.id;
    histories_.erase(id);
    several_.erase(id);
    if (submitted->job.array != nullptr || submitted->job.het != nullptr) several_.insert(id);
    updated_.erase(id);
    suspended_.erase(id);
    for (auto at = ran_.lower_bound({{id, 0}, 0}); at != ran_.end() && at->first.id.job == id;)
      at = ran_.erase(at);
  }
}

void Referee::note_end(JobId id, JobState how) {
  History& history = histories_[id];
  history.ended = true;
  (how == JobState::kCompleted ? history.ended_well : history.ended_badly) = true;
}

void Referee::job_started(const ClusterState& state, const Job& job, Time now) {
  histories_[job.id].started = true;
  if (const JobSpec* spec = spec_of(job)) {
    if (exact_) check_granted(job, *spec);
    check_times(job, *spec, now);
    check_order(state, job, *spec);
    check_throttle(state, job, *spec);
  }
  check_reservations(state, job, now);
  check_licenses(state);
  check_kept_licenses(state, job, now);
  for (const NodeAllocation& part : job.allocation->nodes) check_node(state, part.node);
}

void Referee::check_granted(const Job& job, const JobSpec& spec) {
  const Allocation& all = *job.allocation;
  const uint64_t nodes = all.nodes.size();
  // fewer tasks than nodes use fewer nodes
  const uint32_t tasks = spec.num_tasks > 0 ? spec.num_tasks : std::max(1U, spec.min_nodes);
  if (nodes < std::min(spec.min_nodes, tasks)) wrong(job, "got fewer nodes than it asked for");
  if (nodes > std::max(1U, spec.max_nodes) && spec.max_nodes > 0)
    wrong(job, "got more nodes than it asked for");
  uint64_t cpus = 0;
  for (const NodeAllocation& part : all.nodes) {
    cpus += part.cores.count();
    if (part.memory_mib < spec.memory_mib) wrong(job, "got less memory than it asked for");
    for_each_item(spec.gres.view(), [&](auto name, auto type, uint64_t count) {
      if (held(part, name, type) < count) wrong(job, "got fewer generic resources of a node");
    });
  }
  if (cpus < uint64_t{tasks} * spec.cpus_per_task && spec.cpus_per_gpu.empty())
    wrong(job, "got fewer CPUs than it asked for");
  for_each_item(spec.tres_per_job.view(), [&](auto name, auto type, uint64_t count) {
    if (held(all, name, type) < count) wrong(job, "got fewer generic resources in all");
  });
  for_each_item(spec.tres_per_task.view(), [&](auto name, auto type, uint64_t count) {
    if (held(all, name, type) < count * std::max(1U, spec.num_tasks))
      wrong(job, "got fewer generic resources than its tasks need");
  });
}

void Referee::check_times(const Job& job, const JobSpec& spec, Time now) {
  if (spec.begin != kNoTime && now < spec.begin) wrong(job, "started before its --begin");
  if (spec.deadline != kNoTime && now > spec.deadline) wrong(job, "started after its deadline");
  if (spec.time_limit > 0 && job.end > now + std::chrono::minutes(spec.time_limit))
    wrong(job, "may run for longer than it asked for");
}

void Referee::check_order(const ClusterState& state, const Job& job, const JobSpec& spec) {
  const std::string_view text = spec.dependency.view();
  const auto submitted_as = [](const Job& one) {
    return one.array != nullptr ? one.array->array_job : one.id;
  };
  const auto is_over = [this](JobId id) {
    const auto known = histories_.find(id);
    return known != histories_.end() && known->second.ended;
  };
  if (text == "singleton") {
    state.active.for_each([&](JobId id) {
      const Job& other = state.jobs.at(id);
      const bool same = other.spec->name == spec.name && other.spec->uid == spec.uid;
      const bool parts =
          job.het != nullptr && other.het != nullptr && job.het->leader == other.het->leader;
      const bool tasks = job.array != nullptr && other.array != nullptr &&
                         job.array->array_job == other.array->array_job;
      // it was over, or the record of the array that it was split from, and is queued again
      const bool was_over = is_over(id) || is_over(submitted_as(other));
      if (same && !was_over && submitted_as(other) < submitted_as(job) && runs(other) && !parts &&
          !tasks)
        wrong(job, "started beside job " + std::to_string(id) + " of its name");
    });
    return;
  }
  const auto on = static_cast<JobId>(number_behind(text, ':', 0));
  const Job* other = state.jobs.find(on);
  if (on == kNoJob || several_.contains(on)) return;
  const auto known = histories_.find(on);
  if (known == histories_.end()) {  // over before this began to look, or one of many
    if (other != nullptr && other->state == JobState::kPending)
      wrong(job, "did not wait for another");
    return;
  }
  const History& history = known->second;
  const std::string_view kind = text.substr(0, text.find(':'));
  const bool met = kind == "after"        ? history.started || history.ended
                   : kind == "afterany"   ? history.ended
                   : kind == "afterok"    ? history.ended_well
                   : kind == "afternotok" ? history.ended_badly
                                          : true;
  // it was cancelled while it waited, and is queued again after the other's record is gone
  if (other == nullptr && is_over(job.id)) return;
  if (!met) wrong(job, "started before its dependency " + std::string(text) + " was met");
}

void Referee::check_throttle(const ClusterState& state, const Job& job, const JobSpec& spec) {
  if (job.array == nullptr) return;
  const uint64_t most = number_behind(spec.array.view(), '%', UINT64_MAX);
  uint64_t running = 0;
  state.active.for_each([&](JobId id) {
    const Job& other = state.jobs.at(id);
    running +=
        runs(other) && other.array != nullptr && other.array->array_job == job.array->array_job ? 1
                                                                                                : 0;
  });
  if (running > most) wrong(job, "runs beside more tasks of its array than it asked for");
}

void Referee::check_reservations(const ClusterState& state, const Job& job, Time now) {
  const Reservation* own = named(state, job.reservation.view());
  const bool open = own == nullptr || (own->flags & (kReservationFlex | kReservationAnyNodes)) != 0;
  for (const NodeAllocation& part : job.allocation->nodes) {
    if (!open && !has_all(*own, part)) wrong(job, "got what is not of its reservation");
  }
  for (const Reservation& other : *state.reservations) {
    // --signal=R promises that the job leaves in time
    const bool leaves = job.spec->signal_reservation && other.max_start_delay > Duration(0);
    if (leaves || &other == own || other.end <= now || other.start >= job.end) continue;
    for (const NodeAllocation& part : job.allocation->nodes) {
      // reservations may overlap: then the nodes are its own, too
      if (!has_some(other, part) || (own != nullptr && has_all(*own, part))) continue;
      wrong(job,
            "started on a node of reservation " + other.name +
                (has_whole_nodes(other) ? ", which is not its own" : ", of what is not its own"));
    }
  }
  for (const NodeAllocation& part : job.allocation->nodes) check_kept_counts(state, job, part, now);
}

// Of what is only counted others leave so many as is kept, used or not.
void Referee::check_kept_counts(const ClusterState& state, const Job& job,
                                const NodeAllocation& part, Time now) {
  const Node& node = state.nodes.at(part.node);
  for (const GresShare& share : part.gres) {
    if (share.units.any()) continue;
    for (const Reservation& other : *state.reservations) {
      const uint64_t kept = kept_of(other, part.node, share.name.view()).count;
      const bool holds = other.start <= now && now < other.end;
      if (kept == 0 || !holds || job.reservation == other.name || job.spec->signal_reservation ||
          !job.reservation.empty())
        continue;
      uint64_t outside = 0, total = 0;
      for (const JobId id : node.jobs) {
        const Job& one = state.jobs.at(id);
        if (one.allocation && one.reservation != other.name)
          outside += count_on(one, node.id, share.name.view());
      }
      for (const GresKind& kind : node.gres->kinds)
        total += kind.name == share.name ? kind.count : 0;
      if (outside + kept > total) wrong(job, "got what is kept for reservation " + other.name);
    }
  }
}

// Each reservation has those that are kept for it, at each moment that the job meets.
void Referee::check_kept_licenses(const ClusterState& state, const Job& job, Time now) {
  if (number_behind(job.spec->licenses.view(), ':', 0) == 0) return;
  const Reservation* own = named(state, job.reservation.view());
  std::vector<Time> moments{now};
  for (const Reservation& one : *state.reservations) {
    if (one.start > now && one.start < end_of(state, job)) moments.push_back(one.start);
  }
  for (const Time at : moments) {
    std::map<const Reservation*, uint64_t> used;
    state.active.for_each([&](JobId id) {
      const Job& other = state.jobs.at(id);
      if (runs(other) && (at == now || end_of(state, other) > at))
        used[named(state, other.reservation.view())] +=
            number_behind(other.spec->licenses.view(), ':', 0);
    });
    uint64_t taken = used[nullptr];
    for (const Reservation& one : *state.reservations) {
      const bool keeps = &one != own && one.start <= at && at < one.end;
      taken += std::max(used[&one], keeps ? number_behind(one.licenses, ':', 0) : 0);
    }
    if (taken > limits_.licenses) wrong(job, "has licenses that are kept for a reservation");
  }
}

void Referee::check_licenses(const ClusterState& state) {
  uint64_t used = 0;
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    if (runs(job) && !job.spec->licenses.empty())
      used += number_behind(job.spec->licenses.view(), ':', 1);
  });
  if (used > limits_.licenses) found("more licenses in use than there are");
}

// Nothing of the node is given to two jobs, and no more than it has.
void Referee::check_node(const ClusterState& state, NodeId node) {
  uint64_t memory = 0;
  std::map<std::string, uint64_t> counts;
  std::map<std::string, Bitmap> units;
  Bitmap cores;
  std::vector<uint32_t> sharers(limits_.cpus);
  const std::string on = " on " + state.nodes.at(node).name;
  state.active.for_each([&](JobId id) {
    const Job& job = state.jobs.at(id);
    const NodeAllocation* part = nullptr;
    if (!is_on(job, node, part)) return;
    memory += part->memory_mib;
    if (!suspended_.contains(id)) {
      part->cores.for_each([&](size_t core) {
        if (core < sharers.size() && ++sharers[core] > limits_.sharers)
          wrong(job, "has cores of another" + on);
      });
      cores |= part->cores;
    }
    for (const GresShare& share : part->gres) {
      const std::string name(share.name.view());
      counts[share.type.empty() ? name : name + ":" + std::string(share.type.view())] +=
          share.count;
      if (!share.parts.empty()) continue;
      if (units[name].intersects(share.units)) wrong(job, "has a device of another" + on);
      units[name] |= share.units;
    }
  });
  if (memory > limits_.memory_mib) found("more memory is given than there is" + on);
  if (cores.count() > limits_.cpus) found("more cores are given than there are" + on);
  for (const auto& [name, count] : counts) {
    const auto most = limits_.gres.find(name);
    if (most == limits_.gres.end() || count > most->second)
      found("more of " + name + " is given than there is" + on);
  }
}

void Referee::started(const std::string& node, const StepKey& key) {
  std::set<std::string>& nodes = ran_[key];
  const std::string name = "step " + std::to_string(key.id.job) + "." +
                           std::to_string(key.id.step) + " of restart " +
                           std::to_string(key.restart);
  if (!nodes.insert(node).second) found(name + " ran twice on " + node);
  if (key.id.step == kBatchStep && nodes.size() > 1) found(name + " ran on two nodes");
}

}  // namespace sluice::sim
