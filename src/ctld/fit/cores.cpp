#include "ctld/fit/cores.hpp"

#include <algorithm>

#include "common/base/bounded.hpp"

namespace sluice::fit {
namespace {

// The free cores of each socket.
std::vector<Bitmap> by_socket(const Bitmap& free, const NodeConfig& config) {
  std::vector<Bitmap> sockets(std::max(1U, config.sockets));
  const size_t each = std::max(1U, config.cores_per_socket);
  free.for_each([&](size_t core) {
    if (core / each < sockets.size()) sockets[core / each].set(core);
  });
  return sockets;
}

// Those of one socket, the one with the fewest that are enough; else sockets are emptied, the one
// with the most first.
Bitmap take_fewest_sockets(const Bitmap& free, uint32_t wanted, const NodeConfig& config) {
  if (config.sockets < 2) return free.take_first(wanted);
  std::vector<Bitmap> sockets = by_socket(free, config);
  std::ranges::stable_sort(sockets, std::ranges::greater(), &Bitmap::count);
  const Bitmap* best = nullptr;
  for (const Bitmap& socket : sockets) {
    if (socket.count() < wanted) break;
    if (best == nullptr || socket.count() < best->count()) best = &socket;
  }
  if (best != nullptr) return best->take_first(wanted);
  Bitmap taken;
  for (const Bitmap& socket : sockets) {
    const Bitmap some = socket.take_first(wanted);
    wanted -= static_cast<uint32_t>(some.count());
    taken |= some;
  }
  return taken;
}

// The cores of a task stay on one socket, the first that has room for it. What fits on none is
// taken in turn from each.
Bitmap take_by_task(const Needs& needs, const Bitmap& free, uint32_t wanted,
                    const NodeConfig& config) {
  const uint32_t each = rounded_up_quotient(needs.cpus_per_task, used_threads(needs, config));
  const uint32_t most = needs.tasks_per_socket > 0 ? needs.tasks_per_socket : UINT32_MAX;
  if (each < 2 || config.sockets < 2) return free.take_first(wanted);
  Bitmap taken;
  for (const Bitmap& socket : by_socket(free, config)) {
    if (each > std::min(config.cores_per_socket, wanted)) break;
    const uint32_t tasks =
        std::min(most, std::min(static_cast<uint32_t>(socket.count()), wanted) / each);
    taken |= socket.take_first(size_t{tasks} * each);
    wanted -= tasks * each;
  }
  Bitmap left = free;
  left.and_not(taken);
  taken |= take_cores(left, wanted, config, false);
  return taken;
}

// Of each socket no more cores than the tasks want that it may have.
Bitmap within_tasks_per_socket(const Needs& needs, const Bitmap& free, const NodeConfig& config) {
  const uint32_t cpus = bounded_product(needs.tasks_per_socket, std::max(1U, needs.cpus_per_task));
  const uint32_t most = rounded_up_quotient(cpus, used_threads(needs, config));
  Bitmap some;
  for (const Bitmap& socket : by_socket(free, config)) some |= socket.take_first(most);
  return some;
}

Bitmap choose_among(const Needs& needs, const Bitmap& free, uint32_t cores,
                    const NodeConfig& config) {
  if (needs.fill_sockets) return take_fewest_sockets(free, cores, config);
  if (needs.cpus_per_task < 2) return take_cores(free, cores, config, false);
  return take_by_task(needs, free, cores, config);
}

}  // namespace

uint32_t used_threads(const Needs& needs, const NodeConfig& config) {
  const uint32_t all = cpus_of_core(config);
  return needs.threads_per_core > 0 ? std::min(all, needs.threads_per_core) : all;
}

uint32_t tasks_by_socket(const Needs& needs, const Room& room) {
  const NodeConfig& config = *room.config;
  const uint32_t threads = used_threads(needs, config);
  // one that is larger than a socket is on several
  const uint32_t each = std::min(needs.cpus_per_task, config.cores_per_socket * threads);
  uint64_t tasks = 0;
  for (const Bitmap& socket : by_socket(room.free_cores, config)) {
    const auto cpus = static_cast<uint32_t>(socket.count()) * threads;
    if (cpus == 0) continue;
    tasks += std::min(needs.tasks_per_socket, each == 0 ? UINT32_MAX : cpus / each);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(tasks, UINT32_MAX));
}

namespace {

Bitmap choose_single(const Needs& needs, const Room& room, uint32_t cores) {
  const NodeConfig& config = *room.config;
  if (needs.tasks_per_socket == 0) return choose_among(needs, room.free_cores, cores, config);
  Bitmap taken =
      choose_among(needs, within_tasks_per_socket(needs, room.free_cores, config), cores, config);
  const auto count = static_cast<uint32_t>(taken.count());
  if (count >= cores) return taken;
  Bitmap left = room.free_cores;  // more than the tasks want
  left.and_not(taken);
  taken |= choose_among(needs, left, cores - count, config);
  return taken;
}

// All free cores of the sockets that these are on.
Bitmap whole_sockets(const Bitmap& cores, const Room& room) {
  Bitmap whole;
  for (const Bitmap& socket : by_socket(room.free_cores, *room.config)) {
    if (socket.intersects(cores)) whole |= socket;
  }
  return whole;
}

// Whether the job may have so many cores, with the memory that comes with them.
bool may_have(const Needs& needs, const Room& room, const Bitmap& cores) {
  const uint64_t held = room.held == nullptr ? 0 : room.held->cpus;
  if (held + cores.count() * cpus_of_core(*room.config) > needs.max_cpus_per_node) return false;
  if (!needs.uses_memory) return true;
  const uint64_t cpus = cores.count() * used_threads(needs, *room.config);
  const uint64_t memory = bounded_product(needs.memory_per_cpu_mib, cpus);
  const uint64_t most = needs.most_memory_per_node_mib;
  return memory <= room.free_memory_mib && (most == 0 || memory <= most);
}

}  // namespace

Bitmap choose_cores(const Needs& needs, const Room& room, uint32_t cores, Unit unit) {
  Bitmap single = choose_single(needs, room, cores);
  if (unit != Unit::kSocket) return single;
  Bitmap spread = whole_sockets(single, room);
  if (may_have(needs, room, spread)) return spread;
  return whole_sockets(take_fewest_sockets(room.free_cores, cores, *room.config), room);
}

}  // namespace sluice::fit
