#include "ctld/fit/place.hpp"

#include <algorithm>

namespace sluice::fit {
namespace {

uint32_t units_of(const NodeConfig& c, Unit unit) { return unit == Unit::kCpu ? c.cpus : c.cores(); }

uint32_t cpus_per_unit(const NodeConfig& c, Unit unit) {
  return unit == Unit::kCpu || c.cpus_are_cores() ? 1 : std::max(1U, c.threads_per_core);
}

// Memory and units that are not kept for the system (CoreSpecCount, MemSpecLimit).
Room usable_room(const Node& node, Unit unit) {
  const NodeConfig& c = *node.config;
  Room room;
  room.node = node.id;
  room.config = &c;
  room.features = &c.features;
  const uint32_t kept = c.core_spec_count * (unit == Unit::kCpu ? std::max(1U, c.threads_per_core) : 1);
  const uint32_t units = units_of(c, unit);
  room.free_units = Bitmap::first(units > kept ? units - kept : 0);
  room.free_memory_mib = c.real_memory_mib - std::min(c.real_memory_mib, c.mem_spec_limit_mib);
  return room;
}

// One chosen node and what it is to give.
struct Choice {
  size_t room = 0;
  Capacity most;
  uint32_t tasks = 0;
};

class Placer {
 public:
  Placer(const Needs& needs, std::span<const Room> rooms, Unit unit)
      : needs_(needs), rooms_(rooms), unit_(unit) {
    for (size_t i = 0; i < rooms.size(); ++i) {
      const Capacity most = capacity(needs, rooms[i], unit);
      if (most.tasks > 0) usable_.push_back({i, most, 0});
      else if (rooms[i].required) possible_ = false;
    }
  }

  std::optional<std::vector<NodeAllocation>> run() {
    if (!possible_ || usable_.size() < needs_.min_nodes) return std::nullopt;
    if (!needs_.features.counts.empty()) return with_feature_counts();
    if (needs_.features.one_branch_for_all) return branch_by_branch();
    return with(usable_);
  }

 private:
  using Choices = std::vector<Choice>;

  uint32_t wanted_nodes() const {
    if (!needs_.nodes_given) return needs_.min_nodes;
    const uint32_t useful = needs_.tasks_given && needs_.cpus_per_task > 0
                                ? std::max(needs_.tasks, needs_.min_nodes)
                                : UINT32_MAX;
    return std::min({needs_.max_nodes, useful, static_cast<uint32_t>(usable_.size())});
  }

  std::optional<std::vector<NodeAllocation>> with(const Choices& from) const {
    if (needs_.contiguous) return contiguous(from);
    const auto required = std::ranges::count_if(from, [&](const Choice& c) { return rooms_[c.room].required; });
    if (!needs_.nodes_given && needs_.min_nodes == 1 && required == 0) {
      for (const Choice& c : from) {
        if (c.most.tasks >= needs_.tasks && c.most.cpus >= needs_.min_cpus) return finish({c});
      }
    }
    if (auto chosen = walk(from)) return finish(std::move(*chosen));
    Choices by_size = from;  // too many small nodes for max_nodes: the largest first
    std::ranges::stable_sort(by_size, [](const Choice& a, const Choice& b) { return a.most.tasks > b.most.tasks; });
    if (auto chosen = walk(by_size)) return finish(std::move(*chosen));
    return std::nullopt;
  }

  // Takes nodes in order until there are enough of them for all tasks; required ones first.
  std::optional<Choices> walk(const Choices& from) const {
    Choices chosen;
    uint64_t tasks = 0, cpus = 0;
    const uint32_t wanted = wanted_nodes();
    const auto add = [&](const Choice& c) {
      chosen.push_back(c);
      tasks += c.most.tasks;
      cpus += c.most.cpus;
    };
    for (const Choice& c : from) {
      if (rooms_[c.room].required) add(c);
    }
    for (const Choice& c : from) {
      const bool enough = tasks >= needs_.tasks && cpus >= needs_.min_cpus && chosen.size() >= wanted;
      if (enough || chosen.size() >= needs_.max_nodes) break;
      if (!rooms_[c.room].required) add(c);
    }
    const bool complete = tasks >= needs_.tasks && cpus >= needs_.min_cpus && chosen.size() >= needs_.min_nodes &&
                          chosen.size() <= needs_.max_nodes;
    if (!complete) return std::nullopt;
    return chosen;
  }

  // A run of neighbours in the order of the node table.
  std::optional<std::vector<NodeAllocation>> contiguous(Choices from) const {
    std::ranges::sort(from, {}, [&](const Choice& c) { return rooms_[c.room].node; });
    const auto required = std::ranges::count_if(rooms_, [](const Room& r) { return r.required; });
    for (size_t first = 0; first < from.size(); ++first) {
      Choices run;
      uint64_t tasks = 0, cpus = 0;
      int64_t held = 0;
      for (size_t i = first; i < from.size() && run.size() < needs_.max_nodes; ++i) {
        if (!run.empty() && rooms_[from[i].room].node != rooms_[run.back().room].node + 1) break;
        run.push_back(from[i]);
        tasks += from[i].most.tasks;
        cpus += from[i].most.cpus;
        held += rooms_[from[i].room].required ? 1 : 0;
        if (run.size() >= wanted_nodes() && tasks >= needs_.tasks && cpus >= needs_.min_cpus && held == required) {
          return finish(std::move(run));
        }
      }
    }
    return std::nullopt;
  }

  // [a|b]: all nodes from the same alternative, the first that can.
  std::optional<std::vector<NodeAllocation>> branch_by_branch() const {
    for (const auto& branch : needs_.features.any_of) {
      Choices some;
      for (const Choice& c : usable_) {
        if (satisfies(branch, *rooms_[c.room].features)) some.push_back(c);
      }
      if (auto placed = with(some)) return placed;
    }
    return std::nullopt;
  }

  // [a*2&b*4]: so many nodes of each feature, then the rest from anywhere.
  std::optional<std::vector<NodeAllocation>> with_feature_counts() const {
    Choices ordered;
    std::vector<bool> taken(rooms_.size());
    for (const auto& [name, count] : needs_.features.counts) {
      uint32_t found = 0;
      for (const Choice& c : usable_) {
        if (found == count) break;
        if (taken[c.room] || !satisfies({name}, *rooms_[c.room].features)) continue;
        taken[c.room] = true;
        ordered.push_back(c);
        ++found;
      }
      if (found < count) return std::nullopt;
    }
    for (const Choice& c : usable_) {
      if (!taken[c.room]) ordered.push_back(c);
    }
    return with(ordered);
  }

  // Deals the tasks out and turns them into processors and memory.
  std::optional<std::vector<NodeAllocation>> finish(Choices chosen) const {
    std::ranges::sort(chosen, {}, &Choice::room);
    uint32_t left = needs_.tasks;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const auto later = static_cast<uint32_t>(chosen.size() - i - 1);
      const uint32_t may = left > later ? left - later : std::min(left, 1U);
      chosen[i].tasks = std::min(chosen[i].most.tasks, may);
      left -= chosen[i].tasks;
    }
    if (left > 0) return std::nullopt;
    uint32_t extra = needs_.min_cpus;
    for (const Choice& c : chosen) {
      const uint32_t cpus = std::max({c.tasks * needs_.cpus_per_task, needs_.min_cpus_per_node, 1U});
      extra -= std::min(extra, cpus);
    }
    std::vector<NodeAllocation> out;
    for (const Choice& c : chosen) {
      uint32_t cpus = std::max({c.tasks * needs_.cpus_per_task, needs_.min_cpus_per_node, 1U});
      const uint32_t more = std::min(extra, c.most.cpus - std::min(c.most.cpus, cpus));
      extra -= more;
      out.push_back(allocate(rooms_[c.room], cpus + more));
    }
    return out;
  }

  NodeAllocation allocate(const Room& room, uint32_t cpus) const {
    NodeAllocation a;
    a.node = room.node;
    const uint32_t each = cpus_per_unit(*room.config, unit_);
    if (needs_.whole_nodes) {
      a.cores = room.free_units;
    } else if (unit_ == Unit::kSocket) {
      const uint32_t per_socket = std::max(1U, room.config->cores_per_socket);
      const uint32_t cores = (cpus + each - 1) / each;
      a.cores = room.free_units.take_first((cores + per_socket - 1) / per_socket * per_socket);
    } else {
      a.cores = room.free_units.take_first((cpus + each - 1) / each);
    }
    a.cpus = static_cast<uint32_t>(a.cores.count()) * each;
    if (!needs_.uses_memory) return a;
    if (needs_.all_memory) a.memory_mib = room.free_memory_mib;
    else if (needs_.memory_per_cpu_mib > 0) a.memory_mib = needs_.memory_per_cpu_mib * a.cpus;
    else a.memory_mib = needs_.memory_per_node_mib;
    return a;
  }

  const Needs& needs_;
  std::span<const Room> rooms_;
  Unit unit_;
  Choices usable_;
  bool possible_ = true;
};

bool shape_suits(const Needs& needs, const NodeConfig& c) {
  return c.sockets >= needs.sockets && c.cores_per_socket >= needs.cores_per_socket &&
         c.threads_per_core >= needs.threads_per_core && c.tmp_disk_mib >= needs.tmp_disk_mib;
}

}  // namespace

Room room_empty(const Node& node, Unit unit) {
  Room room = usable_room(node, unit);
  room.free_cpus = static_cast<uint32_t>(room.free_units.count()) * cpus_per_unit(*node.config, unit);
  return room;
}

Room room_now(const Node& node, Unit unit) {
  Room room = usable_room(node, unit);
  if (node.exclusive) room.free_units.clear();
  else room.free_units.and_not(node.used_cores);
  room.free_cpus = static_cast<uint32_t>(room.free_units.count()) * cpus_per_unit(*node.config, unit);
  room.free_memory_mib -= std::min(room.free_memory_mib, node.used_memory_mib);
  room.jobs = node.running_jobs;
  return room;
}

Capacity capacity(const Needs& needs, const Room& room, Unit unit) {
  const NodeConfig& c = *room.config;
  if (!shape_suits(needs, c) || !satisfies_any(needs.features, *room.features)) return {};
  if ((needs.whole_nodes || (needs.uses_memory && needs.all_memory)) && room.jobs > 0) return {};
  uint32_t cpus = needs.whole_nodes ? room.free_cpus : std::min(room.free_cpus, needs.max_cpus_per_node);
  if (needs.uses_memory) {
    if (room.free_memory_mib < needs.memory_per_node_mib) return {};
    if (needs.memory_per_cpu_mib > 0) {
      const uint64_t backed = room.free_memory_mib / needs.memory_per_cpu_mib;
      if (needs.whole_nodes && backed < cpus) return {};
      const uint32_t each = cpus_per_unit(c, unit);
      cpus = static_cast<uint32_t>(std::min<uint64_t>(cpus, backed / each * each));
    }
  }
  if (cpus < needs.min_cpus_per_node) return {};
  uint32_t tasks = needs.cpus_per_task > 0 ? cpus / needs.cpus_per_task : needs.tasks;
  tasks = std::min(tasks, needs.max_tasks_per_node);
  if (needs.tasks_per_core > 0) tasks = std::min(tasks, needs.tasks_per_core * c.cores());
  if (needs.tasks_per_socket > 0) tasks = std::min(tasks, needs.tasks_per_socket * c.sockets);
  if (needs.tasks_per_node > 0) {
    if (tasks < needs.tasks_per_node) return {};
    tasks = needs.tasks_per_node;
  }
  return {tasks, cpus};
}

std::optional<std::vector<NodeAllocation>> place(const Needs& needs, std::span<const Room> rooms, Unit unit) {
  return Placer(needs, rooms, unit).run();
}

bool still_fits(const NodeAllocation& wanted, const Room& room, bool whole_node) {
  if (whole_node && room.jobs > 0) return false;
  return room.free_units.contains(wanted.cores) && room.free_memory_mib >= wanted.memory_mib;
}

}  // namespace sluice::fit
