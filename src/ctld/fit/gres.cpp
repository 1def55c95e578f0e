#include "ctld/fit/gres.hpp"

#include <algorithm>
#include <bit>

#include "common/base/bounded.hpp"
#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/fit/near_gres.hpp"
#include "ctld/fit/place.hpp"

namespace sluice::fit {
namespace {

const GresShares& used_in(const Room& room) {
  static const GresShares none;
  return room.used_gres == nullptr ? none : *room.used_gres;
}

bool serves(const GresKind& kind, const GresNeed& need) {
  return kind.name == need.name && (need.type.empty() || kind.type == need.type);
}

uint64_t free_for(const GresNeed& need, const Room& room) {
  uint64_t sum = 0, most = 0;
  bool one_unit = false;
  for (const GresKind& kind : room.gres->kinds) {
    if (!serves(kind, need)) continue;
    const GresFree free = free_of(kind, used_in(room));
    sum += free.count;
    one_unit = one_unit || kind.one_unit;
    for (const uint32_t part : free.parts) most = std::max<uint64_t>(most, part);
  }
  return one_unit ? most : sum;
}

// Units of a type and units of any type cannot be told apart.
bool mixes_types(const std::vector<GresNeed>& needs) {
  return std::ranges::any_of(needs, [&](const GresNeed& one) {
    return std::ranges::any_of(needs, [&](const GresNeed& other) {
      return one.name == other.name && one.type.empty() && !other.type.empty();
    });
  });
}

// One GPU need for --ntasks-per-gpu; added where only the tasks were given. GPUs of several types
// serve the tasks together, so none of these needs bounds them.
Status set_tasks_per_gpu(const JobSpec& spec, Needs& needs) {
  const auto kinds =
      std::ranges::count_if(needs.gres, [](const GresNeed& need) { return need.name == "gpu"; });
  if (spec.ntasks_per_gpu == 0 || kinds > 1) return {};
  auto at =
      std::ranges::find_if(needs.gres, [](const GresNeed& need) { return need.name == "gpu"; });
  if (at == needs.gres.end()) {
    if (spec.num_tasks == 0) return failure(ErrorCode::kInvalidGres);
    at = needs.gres.insert(at, GresNeed{.name = "gpu"});
  }
  at->tasks_per_unit = spec.ntasks_per_gpu;
  return {};
}

uint64_t count_on_node(const GresNeed& need, uint32_t sockets, uint32_t tasks) {
  if (need.per_node > 0) return need.per_node;
  if (need.per_socket > 0) return bounded_product(need.per_socket, std::max(1U, sockets));
  const uint64_t some = std::max(1U, tasks);
  if (need.per_task > 0) return bounded_product(need.per_task, some);
  return need.tasks_per_unit > 0 ? (some + need.tasks_per_unit - 1) / need.tasks_per_unit : 0;
}

// Tasks that `units` of a need serve; UINT32_MAX: any number.
uint32_t tasks_served(const GresNeed& need, uint64_t units) {
  if (need.per_socket > 0 || (need.per_node > 0 && need.tasks_per_unit == 0)) return UINT32_MAX;
  uint64_t tasks = UINT32_MAX;
  if (need.per_node > 0) units = std::min(units, need.per_node);
  if (need.per_task > 0 && need.per_node == 0) tasks = units / need.per_task;
  else if (need.tasks_per_unit > 0) tasks = bounded_product(units, need.tasks_per_unit);
  return static_cast<uint32_t>(std::min<uint64_t>(tasks, UINT32_MAX));
}

// Units that are near the same cores.
struct Group {
  const GresKind* kind = nullptr;
  const Bitmap* cores = nullptr;  // null: all
  Bitmap units;
  size_t free_cores = 0;
  size_t count = 0;
};

// Those with the most free cores near them first; in the order of the node where that is of no
// matter.
std::vector<Group> groups_of(const Needs& needs, const GresNeed& need, const Room& room,
                             const GresShares& used) {
  std::vector<Group> groups;
  for (const GresKind& kind : room.gres->kinds) {
    if (!serves(kind, need)) continue;
    free_of(kind, used).units.for_each([&](size_t unit) {
      const Bitmap* cores = needs.near_free ? nullptr : room.gres->near_cores(kind.name, unit);
      auto at = std::ranges::find_if(groups, [&](const Group& g) {
        return g.kind == &kind &&
               (g.cores == cores || (g.cores != nullptr && cores != nullptr && *g.cores == *cores));
      });
      if (at == groups.end())
        at = groups.insert(at, Group{.kind = &kind, .cores = cores, .units = {}});
      at->units.set(unit);
    });
  }
  for (Group& group : groups) {
    group.free_cores = group.cores == nullptr ? room.free_cores.count()
                                              : room.free_cores.count_common(*group.cores);
    group.count = group.units.count();
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &Group::free_cores);
  return groups;
}

void add_units(const GresKind& kind, Bitmap units, GresShares& out) {
  const uint64_t count = units.count();
  add_shares(out, {{kind.name, kind.type, count, std::move(units), {}, kind.no_consume}});
}

// Units that are connected well with one another and with `taken`: the set that grows from each
// unit in turn by the best connected one, and of these sets the best.
Bitmap best_connected(const GresInventory& gres, std::string_view name, const Bitmap& units,
                      size_t wanted, const Bitmap& taken) {
  Bitmap best;
  int64_t most = -1;
  const auto gain_of = [&](size_t unit, const Bitmap& with) {
    int64_t gain = 0;
    with.for_each([&](size_t other) { gain += gres.link(name, unit, other); });
    return gain;
  };
  units.for_each([&](size_t first) {
    Bitmap chosen, left = units, all = taken;
    int64_t sum = 0;
    const auto choose = [&](size_t unit, int64_t gain) {
      sum += gain;
      chosen.set(unit);
      all.set(unit);
      left.reset(unit);
    };
    choose(first, gain_of(first, all));
    while (chosen.count() < wanted && left.any()) {
      size_t next = SIZE_MAX;
      int64_t gain = -1;
      left.for_each([&](size_t unit) {
        if (const int64_t here = gain_of(unit, all); here > gain) next = unit, gain = here;
      });
      choose(next, gain);
    }
    if (sum > most) most = sum, best = std::move(chosen);
  });
  return best;
}

Bitmap choose_units(const GresInventory& gres, const Group& group, size_t wanted,
                    const GresShares& out) {
  if (wanted >= group.count || !gres.has_links(group.kind->name))
    return group.units.take_first(wanted);
  Bitmap taken;
  for (const GresShare& share : out) {
    if (share.name == group.kind->name) taken |= share.units;
  }
  return best_connected(gres, group.kind->name, group.units, wanted, taken);
}

// Takes `wanted` units out of the groups: of one that has them all, else of the best first.
uint64_t take_units(const GresInventory& gres, const std::vector<Group>& groups, uint64_t wanted,
                    GresShares& out) {
  for (const Group& group : groups) {
    if (group.count < wanted) continue;
    add_units(*group.kind, choose_units(gres, group, wanted, out), out);
    return 0;
  }
  for (const Group& group : groups) {
    const uint64_t taken = std::min<uint64_t>(wanted, group.count);
    if (taken > 0) add_units(*group.kind, choose_units(gres, group, taken, out), out);
    wanted -= taken;
  }
  return wanted;
}

// So many units near each of several sockets, where the units know their cores.
void take_by_socket(const Needs& needs, const GresNeed& need, const Room& room,
                    const GresShares& used, GresShares& out) {
  uint64_t left = bounded_product(need.per_socket, std::max(1U, needs.sockets));
  for (const Group& group : groups_of(needs, need, room, used)) {
    const uint64_t taken = std::min({left, need.per_socket, static_cast<uint64_t>(group.count)});
    if (taken == 0 || group.cores == nullptr) continue;
    add_units(*group.kind, choose_units(*room.gres, group, taken, out), out);
    left -= taken;
  }
  if (left == 0) return;
  GresShares held = used;
  add_shares(held, out);
  take_units(*room.gres, groups_of(needs, need, room, held), left, out);
}

// Parts of GPUs: of the one with the least left that has enough, else of those with the most.
void take_parts(const GresKind& kind, const GresFree& free, uint64_t wanted, GresShares& out) {
  struct Part {
    size_t unit;
    uint32_t left;
  };
  std::vector<Part> parts;
  free.units.for_each([&](size_t unit) { parts.push_back({unit, free.parts[parts.size()]}); });
  std::ranges::stable_sort(parts, {}, &Part::left);
  const auto enough =
      std::ranges::find_if(parts, [&](const Part& part) { return part.left >= wanted; });
  if (enough != parts.end()) parts = {*enough};
  else std::ranges::reverse(parts);
  for (const Part& part : parts) {
    const uint64_t taken = std::min<uint64_t>(wanted, part.left);
    if (taken == 0) break;
    wanted -= taken;
    Bitmap unit;
    unit.set(part.unit);
    add_shares(out,
               {{kind.name, kind.type, taken, std::move(unit), {static_cast<uint32_t>(taken)}}});
  }
}

void take_need(const Needs& needs, const GresNeed& need, const Room& room, uint64_t wanted,
               GresShares& out) {
  GresShares used = used_in(room);
  add_shares(used, out);
  if (need.per_socket > 0 && need.per_node == 0)
    return take_by_socket(needs, need, room, used, out);
  for (const GresKind& kind : room.gres->kinds) {  // those that are only counted, or parts
    if (wanted == 0 || !serves(kind, need) || (kind.units.any() && kind.parts.empty())) continue;
    const GresFree free = free_of(kind, used);
    const uint64_t taken = std::min(wanted, free.count);
    if (taken == 0) continue;
    if (kind.parts.empty()) out.push_back({kind.name, kind.type, taken, {}, {}, kind.no_consume});
    else take_parts(kind, free, taken, out);
    wanted -= taken;
  }
  if (wanted > 0) take_units(*room.gres, groups_of(needs, need, room, used), wanted, out);
}

// Groups whose cores are known and free, of units that have to be beside cores of the job. Empty:
// there is no such rule for this need.
std::vector<Group> bound_groups(const Needs& needs, const GresNeed& need, const Room& room,
                                const GresShares& used) {
  if (!needs.near_only || (need.per_socket > 0 && need.per_node == 0) ||
      is_shared_gres(need.name.view()))
    return {};
  std::vector<Group> groups = groups_of(needs, need, room, used);
  if (std::ranges::any_of(groups, [](const Group& group) { return group.cores == nullptr; }))
    return {};
  return groups;
}

size_t cores_near(const Room& room, const std::vector<Group>& groups,
                  const std::vector<size_t>& chosen) {
  Bitmap near;
  for (const size_t at : chosen) near |= *groups[at].cores;
  return room.free_cores.count_common(near);
}

// As few groups as have so many units.
size_t least_groups(const std::vector<Group>& groups, uint64_t wanted) {
  std::vector<uint64_t> counts;
  for (const Group& group : groups) counts.push_back(group.count);
  std::ranges::sort(counts, std::ranges::greater());
  uint64_t units = 0;
  size_t least = 0;
  while (units < wanted && least < counts.size()) units += counts[least++];
  return units < wanted ? SIZE_MAX : least;
}

// Of as few groups as have so many units those with the most cores beside them.
std::vector<size_t> fewest_groups(const Room& room, const std::vector<Group>& all,
                                  uint64_t wanted) {
  constexpr size_t kMostGroups = 12;  // of a node's sockets or parts of them
  std::vector<Group> groups = all;
  for (Group& group : groups) group.count = group.free_cores == 0 ? 0 : group.count;
  const size_t least = least_groups(groups, wanted), count = std::min(groups.size(), kMostGroups);
  std::vector<size_t> best;
  size_t most = 0;
  for (uint32_t mask = 1; mask < (1U << count); ++mask) {
    if (static_cast<size_t>(std::popcount(mask)) != least) continue;
    uint64_t units = 0;
    std::vector<size_t> chosen;
    for (size_t at = 0; at < count; ++at) {
      if ((mask >> at & 1U) == 0) continue;
      units += groups[at].count;
      chosen.push_back(at);
    }
    const size_t cores = units < wanted ? 0 : cores_near(room, groups, chosen);
    if (cores > most) most = cores, best = std::move(chosen);
  }
  return best;
}

// A unit of each group in turn.
void spread_units(const GresInventory& gres, const std::vector<Group>& groups,
                  const std::vector<size_t>& chosen, uint64_t wanted, GresShares& out) {
  std::vector<uint64_t> each(chosen.size());
  while (wanted > 0) {
    for (size_t i = 0; i < chosen.size() && wanted > 0; ++i) {
      if (each[i] == groups[chosen[i]].count) continue;
      ++each[i];
      --wanted;
    }
  }
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Group& group = groups[chosen[i]];
    if (each[i] > 0) add_units(*group.kind, choose_units(gres, group, each[i], out), out);
  }
}

// The cores near which a job may have `wanted` units; nothing when it has fewer cores than sockets
// with enough of them.
Bitmap bound_cores(const Needs& needs, const GresNeed& need, const Room& room, uint64_t wanted,
                   const Capacity& most) {
  const std::vector<Group> groups = bound_groups(needs, need, room, used_in(room));
  const uint32_t threads = std::max(1U, cpus_of_core(*room.config));
  uint32_t cpus = most.cpus;
  if (needs.cpus_per_task > 0) {
    const uint32_t asked = bounded_product(std::min(most.tasks, needs.tasks), needs.cpus_per_task);
    cpus = std::min(cpus, std::max({asked, needs.min_cpus_per_node, needs.min_cpus}));
  }
  const std::vector<size_t> chosen = fewest_groups(room, groups, wanted);
  const size_t ever = least_groups(bound_groups(needs, need, room, {}), wanted);
  Bitmap near;
  if (chosen.size() > std::max<size_t>(rounded_up_quotient(cpus, threads), ever)) return near;
  for (const size_t at : chosen) near |= *groups[at].cores;
  near &= room.free_cores;
  return near;
}

}  // namespace

Status add_gres_items(std::string_view list, uint64_t GresNeed::*member,
                      std::vector<GresNeed>& needs) {
  const auto items = gres_items(list);
  if (!items) return failure(ErrorCode::kInvalidGres);
  for (const GresItem& item : *items) {
    if (item.count == 0) continue;
    auto at = std::ranges::find_if(needs, [&](const GresNeed& need) {
      return need.name == item.name && need.type == item.type;
    });
    if (at == needs.end()) at = needs.insert(at, GresNeed{.name = item.name, .type = item.type});
    (*at).*member = item.count;
  }
  return {};
}

Status set_gres(const JobSpec& spec, Needs& needs) {
  const bool any = !spec.gres.empty() || !spec.tres_per_job.empty() ||
                   !spec.tres_per_socket.empty() || !spec.tres_per_task.empty() ||
                   spec.ntasks_per_gpu > 0;
  if (!any) return {};
  const std::pair<std::string_view, uint64_t GresNeed::*> texts[] = {
      {spec.gres.view(), &GresNeed::per_node},
      {spec.tres_per_job.view(), &GresNeed::per_job},
      {spec.tres_per_socket.view(), &GresNeed::per_socket},
      {spec.tres_per_task.view(), &GresNeed::per_task}};
  for (const auto& [text, member] : texts) {
    if (Status ok = add_gres_items(text, member, needs.gres); !ok) return ok;
    if (mixes_types(needs.gres)) return failure(ErrorCode::kGresTypes);
  }
  if (Status ok = set_tasks_per_gpu(spec, needs); !ok) return ok;
  for (const GresNeed& need : needs.gres) {
    // --gpus-per-node with --gpus-per-task: so many tasks a node
    if (need.per_node == 0 || need.per_task == 0) continue;
    const uint64_t each = need.per_node / need.per_task;
    const bool fixed = spec.num_tasks > 0 && spec.min_nodes > 0 && spec.min_nodes == spec.max_nodes;
    if (fixed && spec.num_tasks != bounded_product(each, uint64_t{spec.min_nodes}))
      return failure(ErrorCode::kNodesNotAvailable);
    needs.max_tasks_per_node = std::min(
        needs.max_tasks_per_node, static_cast<uint32_t>(std::clamp<uint64_t>(each, 1, UINT32_MAX)));
  }
  needs.near_only = spec.gres_flags.view().find("enforce-binding") != std::string_view::npos;
  needs.near_free = spec.gres_flags.view().find("disable-binding") != std::string_view::npos;
  needs.cpus_per_gpu = to_number<uint32_t>(spec.cpus_per_gpu.view()).value_or(0);
  uint32_t nodes = needs.min_nodes;
  for (const GresNeed& need : needs.gres) {  // --gpus=4 --gpus-per-node=2
    if (need.per_job > 0 && need.per_node > 0) {
      const uint64_t enough = rounded_up_quotient(need.per_job, need.per_node);
      nodes = std::max(nodes, static_cast<uint32_t>(std::min<uint64_t>(enough, UINT32_MAX)));
    }
  }
  if (nodes > needs.min_nodes) {
    needs.min_nodes = nodes;
    needs.max_nodes = spec.max_nodes == 0 ? nodes : std::max(needs.max_nodes, nodes);
    needs.tasks = std::max(needs.tasks, needs.tasks_given ? needs.tasks : nodes);
  }
  return {};
}

Status complete_gres(JobSpec& spec) {
  if (spec.num_tasks != 0 || (spec.ntasks_per_gpu == 0 && spec.tres_per_task.empty())) return {};
  const auto in_job = gres_items(spec.tres_per_job.view());
  const auto on_node = gres_items(spec.gres.view());
  const auto of_task = gres_items(spec.tres_per_task.view());
  if (!in_job || !on_node || !of_task) return failure(ErrorCode::kInvalidGres);
  const auto gpus = [](const std::vector<GresItem>& items) {
    uint64_t sum = 0;
    for (const GresItem& item : items) sum = bounded_sum(sum, item.name == "gpu" ? item.count : 0);
    return sum;
  };
  uint64_t all = gpus(*in_job);
  if (all == 0) all = bounded_product(gpus(*on_node), std::max(1U, spec.min_nodes));
  const bool named = all > 0 || !of_task->empty();
  // so many nodes: a GPU of each
  if (!named && spec.min_nodes == spec.max_nodes) all = spec.min_nodes;
  uint64_t tasks = bounded_product(all, spec.ntasks_per_gpu);
  if (spec.ntasks_per_gpu == 0 && gpus(*of_task) > 0) tasks = all / gpus(*of_task);
  if (tasks > UINT32_MAX / 2) return failure(ErrorCode::kInvalidGres);
  spec.num_tasks = static_cast<uint32_t>(tasks);
  return {};
}

bool limit_by_gres(const Needs& needs, const Room& room, Capacity& most) {
  if (room.gres == nullptr) return false;
  const uint32_t threads = std::max(1U, cpus_of_core(*room.config));
  most.dealt.assign(needs.gres.size(), 0);
  GresShares nearest;
  Bitmap beside;
  for (size_t i = 0; i < needs.gres.size(); ++i) {
    const GresNeed& need = needs.gres[i];
    const uint64_t least = std::max<uint64_t>(1, count_on_node(need, needs.sockets, 1));
    uint64_t free = free_for(need, room);
    if (free < least) return false;
    if (need.name == "gpu") {
      if (needs.cpus_per_gpu > 0) free = std::min<uint64_t>(free, most.cpus / needs.cpus_per_gpu);
      if (needs.memory_per_gpu_mib > 0 && needs.uses_memory)
        free = std::min(free, room.free_memory_mib / needs.memory_per_gpu_mib);
      if (free < least) return false;
    }
    most.tasks = std::min(most.tasks, tasks_served(need, free));
    if (need.is_dealt()) most.dealt[i] = std::min(free, need.per_job);
    if (!needs.near_only) continue;
    const std::vector<Group> groups = bound_groups(needs, need, room, used_in(room));
    if (groups.empty() || need.per_node == 0) {
      take_need(needs, need, room, need.per_node > 0 ? least : free, nearest);
    } else {
      const Bitmap cores = bound_cores(needs, need, room, least, most);
      if (cores.none()) return false;
      beside |= cores;
    }
  }
  if (most.tasks == 0) return false;
  if (!needs.near_only) return true;
  if (beside.none() || !nearest.empty()) beside |= cores_near(room, nearest);
  const auto near = static_cast<uint32_t>(beside.count());
  most.cpus = std::min(most.cpus, near * threads);
  if (needs.cpus_per_task > 0) most.tasks = std::min(most.tasks, most.cpus / needs.cpus_per_task);
  return most.tasks > 0 && most.cpus >= needs.min_cpus_per_node;
}

std::vector<uint64_t> gres_counts(const Needs& needs, uint32_t tasks,
                                  std::span<const uint64_t> dealt) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < needs.gres.size(); ++i) {
    const GresNeed& need = needs.gres[i];
    counts.push_back(need.is_dealt() ? (i < dealt.size() ? dealt[i] : 0)
                                     : count_on_node(need, needs.sockets, tasks));
  }
  return counts;
}

uint64_t gpus_in(const Needs& needs, std::span<const uint64_t> counts) {
  uint64_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    sum = bounded_sum(sum, needs.gres[i].name == "gpu" ? counts[i] : 0);
  return sum;
}

GresShares choose_gres(const Needs& needs, const Room& room, std::span<const uint64_t> counts) {
  GresShares out;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) take_need(needs, needs.gres[i], room, counts[i], out);
  }
  return out;
}

std::optional<GresShares> choose_gres_near(const Needs& needs, const Room& room,
                                           std::span<const uint64_t> counts, uint32_t cores) {
  GresShares out;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    GresShares used = used_in(room);
    add_shares(used, out);
    const std::vector<Group> groups = bound_groups(needs, needs.gres[i], room, used);
    if (groups.empty()) {
      take_need(needs, needs.gres[i], room, counts[i], out);
      continue;
    }
    const size_t ever = least_groups(bound_groups(needs, needs.gres[i], room, {}), counts[i]);
    const std::vector<size_t> chosen = fewest_groups(room, groups, counts[i]);
    const bool reach =
        chosen.size() <= std::max<size_t>(cores, ever) && cores_near(room, groups, chosen) >= cores;
    if (chosen.empty() || !reach) return std::nullopt;
    spread_units(*room.gres, groups, chosen, counts[i], out);
  }
  return out;
}

namespace {

// Sets of cores that the units are near to; none where a unit may be used anywhere.
std::vector<Bitmap> near_sets(const Room& room, const GresShares& shares) {
  std::vector<Bitmap> sets;
  bool anywhere = false;
  for (const GresShare& share : shares) {
    share.units.for_each([&](size_t unit) {
      const Bitmap* near = room.gres->near_cores(share.name, unit);
      anywhere = anywhere || near == nullptr;
      if (near != nullptr && std::ranges::find(sets, *near) == sets.end()) sets.push_back(*near);
    });
  }
  if (anywhere) sets.clear();
  return sets;
}

}  // namespace

uint32_t sockets_of(const Room& room, const GresShares& shares) {
  return room.gres == nullptr ? 0 : static_cast<uint32_t>(near_sets(room, shares).size());
}

Bitmap take_cores_near_each(const Room& room, const GresShares& shares, uint32_t cores) {
  std::vector<Bitmap> sets = near_sets(room, shares);
  Bitmap taken;
  if (sets.size() < 2) return taken;
  for (Bitmap& set : sets) set &= room.free_cores;
  for (bool any = true; any && cores > 0;) {
    any = false;
    for (Bitmap& set : sets) {
      set.and_not(taken);
      const size_t core = set.find_first();
      if (core == Bitmap::kNone || cores == 0) continue;
      taken.set(core);
      any = true;
      --cores;
    }
  }
  return taken;
}

Bitmap cores_near(const Room& room, const GresShares& shares) {
  Bitmap near;
  for (const GresShare& share : shares) {
    bool anywhere = share.units.none();
    share.units.for_each([&](size_t unit) {
      const Bitmap* cores = room.gres->near_cores(share.name, unit);
      if (cores == nullptr) anywhere = true;
      else near |= *cores;
    });
    if (anywhere && share.units.any()) return room.free_cores;
  }
  if (near.none()) return room.free_cores;
  Bitmap both = room.free_cores;
  Bitmap far = room.free_cores;
  far.and_not(near);
  both.and_not(far);
  return both;
}

std::vector<uint64_t> free_counts(const Room& room) {
  std::vector<uint64_t> counts;
  if (room.gres == nullptr) return counts;
  for (const GresKind& kind : room.gres->kinds)
    counts.push_back(free_of(kind, used_in(room)).count);
  return counts;
}

void take_spare(std::vector<uint64_t>& spare, const Room& room, const GresShares& taken) {
  for (size_t i = 0; i < spare.size(); ++i) {
    const GresKind& kind = room.gres->kinds[i];
    if (kind.no_consume) continue;
    uint64_t less = count_of(taken, kind.name, kind.type);
    if (kind.name == "gpu") {  // a GPU that is served in parts is no longer whole
      for (const GresShare& share : taken) less += share.parts.size();
    }
    spare[i] -= std::min(spare[i], less);
  }
}

void hold_back(Room& room, std::span<const uint64_t> spare) {
  if (room.gres == nullptr) return;
  GresShares held = used_in(room);
  for (size_t i = 0; i < std::min(spare.size(), room.gres->kinds.size()); ++i) {
    const GresKind& kind = room.gres->kinds[i];
    const GresFree free = free_of(kind, used_in(room));
    if (free.count <= spare[i]) continue;
    const uint64_t excess = free.count - spare[i];
    if (!kind.parts.empty()) take_parts(kind, free, excess, held);
    else if (kind.units.any()) add_units(kind, free.units.take_first(excess), held);
    else add_shares(held, {{kind.name, kind.type, excess, {}, {}}});
  }
  room.used_gres = std::make_shared<const GresShares>(std::move(held));
}

}  // namespace sluice::fit
