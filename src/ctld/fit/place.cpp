#include "ctld/fit/place.hpp"

#include <algorithm>

#include "common/base/bounded.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/fit/choice.hpp"
#include "ctld/fit/cores.hpp"
#include "ctld/fit/near_gres.hpp"

namespace sluice::fit {
namespace {

bool has_features(const Needs& needs, const Room& room) {
  return satisfies_any(needs.features, room.features(), room.changeable_for(needs));
}

// Cores near the units of the job where there are enough of them, or where they have to be.
Bitmap choose_cores_near(const Needs& needs, const Room& room, uint32_t cores,
                         const GresShares& gres, Unit unit) {
  Bitmap near = cores_near(room, gres);
  const size_t count = near.count();
  if (needs.near_only && unit != Unit::kSocket) {
    if (Bitmap each = take_cores_near_each(room, gres, cores); each.any()) return each;
  }
  if (count == room.free_cores.count()) return choose_cores(needs, room, cores, unit);
  Room part = room;
  if (needs.near_only || count >= cores) {
    part.free_cores = std::move(near);
    return choose_cores(needs, part, cores, unit);
  }
  part.free_cores.and_not(near);
  near |= choose_cores(needs, part, cores - static_cast<uint32_t>(count), unit);
  return near;
}

// Whether the job sees another room than others do: with its own --core-spec, or within the bounds
// of its partition.
bool has_own_view(const Needs& needs, const Room& room) {
  const bool own_share = needs.system.given() && room.jobs == 0 && room.free_cpus > 0;
  return own_share || needs.max_cpus_per_socket != UINT32_MAX;
}

Room own_view(const Needs& needs, const Room& room) {
  Room own = room;
  if (needs.system.given()) leave_to_system(own, needs.system);
  if (needs.max_cpus_per_socket != UINT32_MAX) limit_sockets(own, needs.max_cpus_per_socket);
  return own;
}

bool takes_all_cores(const Needs& needs) { return needs.whole_nodes || needs.all_cores; }

// MaxMemPerNode and MaxMemPerCPU.
bool has_more_memory_than_allowed(const Needs& needs, uint64_t memory_mib, uint64_t cpus) {
  const uint64_t of_node = needs.most_memory_per_node_mib, of_cpu = needs.most_memory_per_cpu_mib;
  return (of_node > 0 && memory_mib > of_node) ||
         (of_cpu > 0 && memory_mib > bounded_product(of_cpu, cpus));
}

// Nothing where the units cannot be beside cores as they have to.
std::optional<NodeAllocation> allocate_in(const Needs& needs, const Room& room,
                                          const Portion& portion, Unit unit) {
  NodeAllocation a;
  a.node = room.node;
  const uint32_t tasks = portion.tasks;
  uint32_t cpus = portion.cpus;
  const uint32_t threads = used_threads(needs, *room.config);
  uint32_t wanted = (cpus + threads - 1) / threads;  // cores
  if (needs.tasks_per_core > 0)
    wanted = std::max(wanted, rounded_up_quotient(tasks, needs.tasks_per_core));
  if (needs.whole_nodes && room.gres != nullptr) {
    a.gres = choose_whole_gres(needs, room, portion.gres);
  } else if (!needs.gres.empty() && needs.near_only) {
    auto near = choose_gres_near(needs, room, portion.gres, wanted);
    if (!near) return std::nullopt;
    a.gres = std::move(*near);
    const uint32_t sockets = sockets_of(room, a.gres);
    if (wanted < sockets) {
      wanted = sockets;
      cpus = std::max(cpus, sockets);
    }
  } else if (!needs.gres.empty()) {
    a.gres = choose_gres(needs, room, portion.gres);
  }
  const uint32_t all_threads = cpus_of_core(*room.config);
  const bool all = takes_all_cores(needs);
  if (all) a.cores = room.free_cores;
  else if (a.gres.empty() || needs.near_free) a.cores = choose_cores(needs, room, wanted, unit);
  else a.cores = choose_cores_near(needs, room, wanted, a.gres, unit);
  const auto cores = static_cast<uint32_t>(a.cores.count());
  // units were chosen of which some are near to too few cores
  if (needs.near_only && !needs.whole_nodes && cores < wanted) return std::nullopt;
  a.cpus = unit == Unit::kCpu && !all ? std::min(cpus, cores * all_threads) : cores * all_threads;
  if (!needs.uses_memory) return a;
  const uint64_t charged = unit == Unit::kCpu && !all ? a.cpus : cores * threads;
  if (needs.all_memory) a.memory_mib = room.free_memory_mib;
  else if (needs.memory_per_gpu_mib > 0)
    a.memory_mib =
        bounded_product(needs.memory_per_gpu_mib,
                        needs.whole_nodes ? count_of(a.gres, "gpu") : gpus_in(needs, portion.gres));
  else if (needs.memory_per_cpu_mib > 0) a.memory_mib = needs.memory_per_cpu_mib * charged;
  else a.memory_mib = needs.memory_per_node_mib;
  return a;
}

// Nothing where whole sockets, or cores with few tasks each, come with more memory than is free, or
// than the partition allows.
std::optional<NodeAllocation> allocate(const Needs& needs, const Room& room, const Portion& portion,
                                       Unit unit) {
  auto made = has_own_view(needs, room) ? allocate_in(needs, own_view(needs, room), portion, unit)
                                        : allocate_in(needs, room, portion, unit);
  if (made && (made->memory_mib > room.free_memory_mib ||
               has_more_memory_than_allowed(needs, made->memory_mib, made->cpus)))
    return std::nullopt;
  return made;
}

// Tasks that a node is equipped for when it runs so many.
uint32_t tasks_on_node(const Needs& needs, uint32_t running) {
  return needs.tasks_per_node > 0 ? needs.tasks_per_node : running;
}

uint32_t cpus_wanted(const Needs& needs, uint32_t tasks) {
  return std::max({tasks * needs.cpus_per_task, needs.min_cpus_per_node, 1U});
}

// With those that --cpus-per-gpu wants.
uint32_t cpus_wanted(const Needs& needs, const Portion& portion) {
  const uint32_t cpus = cpus_wanted(needs, portion.tasks);
  if (needs.cpus_per_gpu == 0) return cpus;
  return std::max(cpus, static_cast<uint32_t>(gpus_in(needs, portion.gres) * needs.cpus_per_gpu));
}

class Placer {
 public:
  Placer(const Needs& needs, std::span<const Room* const> rooms, const Bitmap* required, Unit unit)
      : needs_(needs),
        unit_(unit),
        least_(needs.min_nodes),
        most_(needs.max_nodes),
        required_(required == nullptr ? 0 : required->count()) {
    usable_.reserve(rooms.size());
    size_t found = 0;
    for (const Room* room : rooms) {
      Capacity most = capacity(needs, *room);
      if (most.tasks == 0) continue;
      const bool must = required != nullptr && required->test(room->node);
      found += must ? 1 : 0;
      usable_.push_back({room, std::move(most), must, {}});
    }
    possible_ = found == required_;
  }

  std::optional<std::vector<NodeAllocation>> run() {
    if (!possible_ || usable_.size() < least_) return std::nullopt;
    if (needs_.node_counts.empty()) return between();
    // The largest of the sizes that can be had. After a try it is known which smaller ones may do
    // where this one did not; what is chosen and cannot be dealt out is rare, and tried a few
    // times.
    constexpr int kMostDeals = 64;
    uint32_t count = static_cast<uint32_t>(usable_.size());
    for (int deals = 0; deals < kMostDeals;) {
      count = needs_.node_counts.largest_up_to(count).value_or(0);
      if (count == 0) return std::nullopt;
      least_ = most_ = count;
      worth_ = 0;
      dealt_ = false;
      if (auto placed = between()) return placed;
      deals += dealt_ ? 1 : 0;
      count = dealt_ ? count - 1 : worth_;
    }
    return std::nullopt;
  }

 private:
  using Choices = std::vector<Choice>;
  using List = std::vector<const Choice*>;  // of usable_

  // With at least `least_` and at most `most_` nodes.
  std::optional<std::vector<NodeAllocation>> between() {
    if (!needs_.features.counts.empty()) return with_feature_counts();
    if (needs_.features.one_branch_for_all) return branch_by_branch();
    List all;
    all.reserve(usable_.size());
    for (const Choice& c : usable_) all.push_back(&c);
    return with(std::move(all));
  }

  uint32_t wanted_nodes() const {
    if (!needs_.as_many_nodes) return least_;
    const bool counted = needs_.tasks_given || needs_.tasks_per_node > 0;
    const uint32_t useful =
        counted && needs_.cpus_per_task > 0 ? std::max(needs_.tasks, least_) : UINT32_MAX;
    return std::min({most_, useful, static_cast<uint32_t>(usable_.size())});
  }

  // Fewer than `least_` nodes may do where so many are to be had.
  void may_do_with(size_t nodes) {
    if (nodes < least_) worth_ = std::max(worth_, static_cast<uint32_t>(nodes));
  }

  std::optional<std::vector<NodeAllocation>> with(List from) {
    if (needs_.contiguous) return contiguous(std::move(from));
    if (fits_one_node(needs_) && required_ == 0) {
      for (const Choice* c : from) {
        Sum one;
        one.add(c->most);
        if (one.is_enough(needs_)) {
          if (auto placed = finish({*c})) return placed;
        }
      }
    }
    may_do_with(from.size());
    if (from.size() < least_) return std::nullopt;
    if (auto chosen = walk(from)) return finish(std::move(*chosen));
    // too many small nodes for max_nodes: the largest first
    std::ranges::stable_sort(
        from, [](const Choice* a, const Choice* b) { return a->most.tasks > b->most.tasks; });
    if (auto chosen = walk(from)) return finish(std::move(*chosen));
    return std::nullopt;
  }

  // Takes nodes in order until there are enough of them for all tasks; required ones first.
  std::optional<Choices> walk(const List& from) const {
    List chosen;
    Sum sum;
    const uint32_t wanted = wanted_nodes();
    const auto add = [&](const Choice* c) {
      chosen.push_back(c);
      sum.add(c->most);
    };
    if (required_ > 0) {
      for (const Choice* c : from) {
        if (c->required) add(c);
      }
    }
    for (const Choice* c : from) {
      const bool enough = chosen.size() >= wanted && sum.is_enough(needs_);
      if (enough || chosen.size() >= most_) break;
      if (!c->required) add(c);
    }
    const bool complete =
        chosen.size() >= least_ && chosen.size() <= most_ && sum.is_enough(needs_);
    if (!complete) return std::nullopt;
    return copies_of(chosen);
  }

  static Choices copies_of(std::span<const Choice* const> chosen) {
    Choices out;
    out.reserve(chosen.size());
    for (const Choice* c : chosen) out.push_back(*c);
    return out;
  }

  // A run of neighbours in the order of the node table: the first, or the shortest that has all
  // required nodes.
  std::optional<std::vector<NodeAllocation>> contiguous(List from) {
    std::ranges::sort(from, {}, [](const Choice* c) { return c->room->node; });
    const auto required = static_cast<size_t>(
        std::ranges::count_if(from, [](const Choice* c) { return c->required; }));
    std::span<const Choice* const> best;
    for (size_t first = 0; first < from.size() && (best.empty() || required > 0);) {
      size_t end = first + 1;
      while (end < from.size() && from[end]->room->node == from[end - 1]->room->node + 1) ++end;
      const std::span run = std::span(from).subspan(first, end - first);
      may_do_with(run.size());
      const auto found = shortest_run(run, needs_, {least_, most_, required});
      if (!found.empty() && (best.empty() || found.size() < best.size())) best = found;
      first = end;
    }
    return best.empty() ? std::nullopt : finish(copies_of(best));
  }

  // [a|b]: all nodes from the same alternative, the first that can.
  std::optional<std::vector<NodeAllocation>> branch_by_branch() {
    const Alternatives& any_of = needs_.features.any_of;
    std::vector<Bitmap> names;
    names.reserve(usable_.size());
    for (const Choice& c : usable_)
      names.push_back(any_of.names_of(c.room->features(), c.room->changeable_for(needs_)));
    for (size_t branch = 0; branch < any_of.branches().size(); ++branch) {
      List some;
      size_t held = 0;
      Sum sum;
      for (size_t i = 0; i < usable_.size(); ++i) {
        if (!any_of.is_met(branch, names[i])) continue;
        some.push_back(&usable_[i]);
        held += usable_[i].required ? 1 : 0;
        sum.add(usable_[i].most);
      }
      if (held != required_ || !sum.is_enough(needs_)) continue;
      if (auto placed = with(std::move(some))) return placed;
    }
    return std::nullopt;
  }

  // [a*2&(b|c)*4]: so many nodes of each feature, then the rest from anywhere.
  std::optional<std::vector<NodeAllocation>> with_feature_counts() {
    Choices all = usable_;
    List ordered;
    std::vector<bool> taken(all.size());
    for (const auto& [any_of, count] : needs_.features.counts) {
      uint32_t found = 0;
      for (size_t i = 0; i < all.size() && found < count; ++i) {
        if (taken[i] || !any_of.any_is_met(any_of.names_of(all[i].room->features()))) continue;
        taken[i] = true;
        all[i].required = true;
        ordered.push_back(&all[i]);
        ++found;
      }
      if (found < count) return std::nullopt;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (!taken[i]) ordered.push_back(&all[i]);
    }
    if (needs_.contiguous) return contiguous(std::move(ordered));
    may_do_with(ordered.size());
    Choices firm;  // the counted ones are all taken, whatever the tasks need
    Sum sum;
    for (const Choice* c : ordered) {
      const bool enough = firm.size() >= least_ && sum.is_enough(needs_);
      if (!c->required && (enough || firm.size() >= most_)) continue;
      firm.push_back(*c);
      sum.add(c->most);
    }
    const bool complete = firm.size() >= least_ && firm.size() <= most_ && sum.is_enough(needs_);
    if (!complete) return std::nullopt;
    return finish(std::move(firm));
  }

  // Deals the tasks out and turns them into processors and memory.
  std::optional<std::vector<NodeAllocation>> finish(Choices chosen) {
    dealt_ = true;
    std::ranges::sort(chosen, {}, [](const Choice& c) { return c.room->node; });
    uint32_t left = needs_.tasks;
    uint64_t later = 0;  // most that the nodes after this one can take
    for (const Choice& c : chosen) later += c.most.tasks;
    for (size_t i = 0; i < chosen.size(); ++i) {
      later -= chosen[i].most.tasks;
      const auto nodes_after = static_cast<uint32_t>(chosen.size() - i - 1);
      const uint32_t keep = nodes_after * tasks_of_a_unit(*chosen[i].room);
      const uint32_t least = left > later ? static_cast<uint32_t>(left - later) : 0;
      const uint32_t may = std::max(
          by_units(left > keep ? left - keep : std::min(left, 1U), left, nodes_after), least);
      chosen[i].portion.tasks = std::min({chosen[i].most.tasks, may, left});
      left -= chosen[i].portion.tasks;
    }
    if (left > 0) return std::nullopt;
    for (Choice& c : chosen) c.portion.tasks = tasks_on_node(needs_, c.portion.tasks);
    if (!needs_.gres.empty() && !deal_gres(chosen)) return std::nullopt;
    uint32_t extra = needs_.min_cpus;
    for (const Choice& c : chosen) extra -= std::min(extra, cpus_wanted(needs_, c.portion));
    std::vector<NodeAllocation> out;
    out.reserve(chosen.size());
    for (Choice& c : chosen) {
      const uint32_t cpus = cpus_wanted(needs_, c.portion);
      const uint32_t more = std::min(extra, c.most.cpus - std::min(c.most.cpus, cpus));
      extra -= more;
      c.portion.cpus = cpus + more;
      auto made = allocate(needs_, *c.room, c.portion, unit_);
      if (!made) return std::nullopt;
      out.push_back(std::move(*made));
    }
    return out;
  }

  bool shares_evenly() const { return needs_.as_many_nodes || required_ > 0; }

  // The units of each node. What is asked for by job goes evenly to as many nodes as were asked
  // for, else a node is emptied before the next; each keeps at least one.
  bool deal_gres(Choices& chosen) const {
    std::vector<std::vector<uint64_t>> dealt(chosen.size(),
                                             std::vector<uint64_t>(needs_.gres.size()));
    for (size_t need = 0; need < needs_.gres.size(); ++need) {
      if (!needs_.gres[need].is_dealt()) continue;
      uint64_t left = needs_.gres[need].per_job, later = 0;
      for (const Choice& c : chosen) later += c.most.dealt[need];
      if (left > later || left < chosen.size()) return false;
      for (size_t i = 0; i < chosen.size(); ++i) {
        const uint64_t most = chosen[i].most.dealt[need];
        later -= most;
        const uint64_t after = chosen.size() - i - 1;
        const uint64_t least = left > later ? left - later : 0;
        const uint64_t even = shares_evenly() ? (left + after) / (after + 1) : left - after;
        dealt[i][need] = std::min({std::max(even, least), most, left - after});
        left -= dealt[i][need];
      }
      if (left > 0) return false;
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      chosen[i].portion.gres = gres_counts(needs_, chosen[i].portion.tasks, dealt[i]);
    }
    return true;
  }

  // With --ntasks-per-gpu a node has tasks for whole units: `may` of those that are left, and no
  // more than its share where nodes were asked for.
  uint32_t by_units(uint32_t may, uint32_t left, uint32_t nodes_after) const {
    const auto need =
        std::ranges::find_if(needs_.gres, [](const GresNeed& n) { return n.tasks_per_unit > 0; });
    if (need == needs_.gres.end()) return may;
    const uint32_t each = need->tasks_per_unit;
    if (shares_evenly()) {
      const uint32_t share = rounded_up_quotient(left, nodes_after + 1);
      may = std::min(may, bounded_product(rounded_up_quotient(share, each), each));
    }
    return may >= each ? may / each * each : may;
  }

  // A further node is given at least a core, or a socket, so as many tasks are kept for it as that
  // takes.
  uint32_t tasks_of_a_unit(const Room& room) const {
    uint32_t cpus = used_threads(needs_, *room.config);
    if (unit_ == Unit::kSocket) cpus *= std::max(1U, room.config->cores_per_socket);
    return needs_.cpus_per_task == 0 ? 1 : std::max(1U, cpus / needs_.cpus_per_task);
  }

  const Needs& needs_;
  const Unit unit_;
  uint32_t least_, most_;  // nodes
  const size_t required_;
  Choices usable_;
  bool possible_ = true;
  uint32_t worth_ = 0;  // a smaller number of nodes that may do where `least_` did not
  bool dealt_ = false;  // nodes were chosen, and the job did not fit them
};

// All of the node, where the partition bounds the CPUs or the memory of its jobs.
bool is_more_than_allowed(const Needs& needs, const NodeConfig& node) {
  if (takes_all_cores(needs) && needs.max_cpus_per_node < node.cpus) return true;
  return needs.uses_memory && needs.all_memory &&
         has_more_memory_than_allowed(needs, node.real_memory_mib, node.cpus);
}

Capacity capacity_of(const Needs& needs, const Room& room) {
  const NodeConfig& c = *room.config;
  if (room.free_cpus == 0) return {};
  if (c.sockets < needs.sockets || c.cores_per_socket < needs.cores_per_socket ||
      c.threads_per_core < needs.threads_per_core || c.tmp_disk_mib < needs.tmp_disk_mib) {
    return {};
  }
  if (!needs.features.any_of.empty() && !has_features(needs, room)) return {};
  const bool alone = needs.whole_nodes || (needs.uses_memory && needs.all_memory);
  if ((alone && room.jobs > 0) || room.is_others(needs)) return {};
  if (is_more_than_allowed(needs, c) || (needs.all_cores && !is_all_free(room))) return {};
  const uint32_t threads = used_threads(needs, c);
  const uint32_t each = cpus_of_core(c);
  const uint32_t held = room.held == nullptr ? 0 : room.held->cpus;
  const uint32_t may = needs.max_cpus_per_node - std::min(held, needs.max_cpus_per_node);
  const uint32_t cores = std::min(room.free_cpus / each, may / each + (may % each != 0 ? 1 : 0));
  uint32_t cpus = std::min(cores * threads, may);
  if (!needs.uses_memory) {
    // none is given to jobs, but they are on nodes that have as much
    if (c.real_memory_mib < std::max(needs.memory_per_node_mib, needs.memory_per_cpu_mib))
      return {};
  } else {
    if (room.free_memory_mib < needs.memory_per_node_mib) return {};
    if (needs.memory_per_cpu_mib > 0) {
      const uint64_t most = needs.most_memory_per_node_mib;
      const uint64_t memory =
          most > 0 ? std::min(most, room.free_memory_mib) : room.free_memory_mib;
      const uint64_t backed = memory / needs.memory_per_cpu_mib;
      if (takes_all_cores(needs) && backed < cpus) return {};
      cpus = static_cast<uint32_t>(std::min<uint64_t>(cpus, backed / threads * threads));
    }
  }
  if (cpus < needs.min_cpus_per_node) return {};
  uint32_t tasks = needs.cpus_per_task > 0 ? cpus / needs.cpus_per_task : needs.tasks;
  tasks = std::min(tasks, needs.max_tasks_per_node);
  if (needs.tasks_per_core > 0)
    tasks = std::min(tasks, bounded_product(needs.tasks_per_core, cores));
  if (needs.tasks_per_socket > 0) tasks = std::min(tasks, tasks_by_socket(needs, room));
  if (needs.tasks_per_node > 0) {
    if (tasks < needs.tasks_per_node) return {};
    tasks = needs.tasks_per_node;
  }
  Capacity most{tasks, cpus, {}};
  if (!needs.gres.empty() && tasks > 0) {
    if (!limit_by_gres(needs, room, most)) return {};
    if (needs.tasks_per_node > 0 && most.tasks < needs.tasks_per_node) return {};
  }
  return most;
}

}  // namespace

Lack lack_of(const Needs& needs, const Room& room) {
  const NodeConfig& c = *room.config;
  if (!has_features(needs, room)) return Lack::kFeatures;
  if (c.sockets < needs.sockets || c.cores_per_socket < needs.cores_per_socket ||
      c.threads_per_core < needs.threads_per_core) {
    return Lack::kShape;
  }
  if (c.tmp_disk_mib < needs.tmp_disk_mib) return Lack::kTmpDisk;
  if ((needs.whole_nodes || (needs.uses_memory && needs.all_memory)) && room.jobs > 0)
    return Lack::kBusy;
  if (room.is_others(needs)) return Lack::kUser;
  if (capacity(needs, room).tasks > 0) return Lack::kNothing;
  Needs without = needs;
  if (!needs.gres.empty()) {
    without.gres.clear();
    if (capacity(without, room).tasks > 0) return Lack::kGres;
    without = needs;
  }
  without.uses_memory = false;
  without.memory_per_node_mib = without.memory_per_cpu_mib = 0;
  return capacity(without, room).tasks > 0 ? Lack::kMemory : Lack::kCpus;
}

Capacity capacity(const Needs& needs, const Room& room) {
  if (has_own_view(needs, room)) return capacity_of(needs, own_view(needs, room));
  return capacity_of(needs, room);
}

bool fits_one_node(const Needs& needs) {
  return !needs.as_many_nodes && needs.min_nodes == 1 && !needs.contiguous &&
         needs.features.counts.empty() && !needs.features.one_branch_for_all;
}

std::optional<NodeAllocation> place_on(const Needs& needs, const Room& room, Unit unit) {
  const Capacity most = capacity(needs, room);
  if (most.tasks < needs.tasks || most.cpus < needs.min_cpus) return std::nullopt;
  Portion portion{tasks_on_node(needs, needs.tasks), 0, {}};
  if (!needs.gres.empty()) {
    for (size_t i = 0; i < needs.gres.size(); ++i) {
      if (!needs.gres[i].is_dealt()) continue;
      if (most.dealt[i] < needs.gres[i].per_job) return std::nullopt;
    }
    portion.gres = gres_counts(needs, portion.tasks, most.dealt);
  }
  portion.cpus = std::max(cpus_wanted(needs, portion), needs.min_cpus);
  return allocate(needs, room, portion, unit);
}

std::optional<std::vector<NodeAllocation>> place(const Needs& needs,
                                                 std::span<const Room* const> rooms,
                                                 const Bitmap* required, Unit unit) {
  return Placer(needs, rooms, required, unit).run();
}

}  // namespace sluice::fit
