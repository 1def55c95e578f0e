// What a node has free for jobs, and what is taken away from it.
#include <algorithm>

#include "common/model/system_cores.hpp"
#include "ctld/fit/place.hpp"

namespace sluice::fit {
namespace {

Bitmap cores_of(const NodeConfig& config) {
  return Bitmap::first(std::min(config.cores(), config.cpus));
}

// Cores and memory that are not kept for the system (CoreSpecCount, CPUSpecList, MemSpecLimit).
Room usable_room(const Node& node) {
  const NodeConfig& c = *node.config;
  Room room;
  room.node = node.id;
  room.config = &c;
  if (has_own_features(node)) {
    room.own_features = std::make_shared<const std::vector<std::string>>(active_features(node));
  }
  if (!c.changeable_features.empty()) room.changeable = &c.changeable_features;
  room.free_cores = cores_of(c);
  room.free_cores.and_not(system_cores(c));
  room.gres = node.gres.get();
  room.free_memory_mib = c.real_memory_mib - std::min(c.real_memory_mib, c.mem_spec_limit_mib);
  return room;
}

// Cores in turn from each socket.
Bitmap take_in_turn(const Bitmap& free, uint32_t wanted, uint32_t cores_per_socket,
                    uint32_t sockets) {
  Bitmap taken;
  std::vector<size_t> next(sockets);
  for (uint32_t s = 0; s < sockets; ++s) next[s] = size_t{s} * cores_per_socket;
  bool any = true;
  while (wanted > 0 && any) {
    any = false;
    for (uint32_t s = 0; s < sockets && wanted > 0; ++s) {
      const size_t end = size_t{s + 1} * cores_per_socket;
      while (next[s] < end && !free.test(next[s])) ++next[s];
      if (next[s] >= end) continue;
      taken.set(next[s]++);
      any = true;
      --wanted;
    }
  }
  return taken;
}

uint32_t socket_of(size_t core, const NodeConfig& config) {
  return static_cast<uint32_t>(core / std::max(1U, config.cores_per_socket));
}

}  // namespace

void PartitionUse::add(const NodeAllocation& held, const NodeConfig& config) {
  cpus += held.cpus;
  held.cores.for_each([&](size_t core) {
    const uint32_t socket = socket_of(core, config);
    if (socket >= cores.size()) cores.resize(size_t{socket} + 1);
    ++cores[socket];
  });
}

Bitmap take_cores(const Bitmap& free, uint32_t count, const NodeConfig& config, bool fill_sockets) {
  if (fill_sockets || count < 2 || config.cores_per_socket < 2 || config.sockets < 2)
    return free.take_first(count);
  return take_in_turn(free, count, config.cores_per_socket, config.sockets);
}

void set_free_cores(Room& room, Bitmap cores, Unit unit) {
  if (unit == Unit::kSocket) {
    const uint32_t each = std::max(1U, room.config->cores_per_socket);
    const Bitmap system = system_cores(*room.config);  // nobody's: the others are a whole socket
    for (uint32_t s = 0; s < room.config->sockets; ++s) {
      for (uint32_t core = s * each; core < (s + 1) * each; ++core) {
        if (cores.test(core) || system.test(core)) continue;
        for (uint32_t c = s * each; c < (s + 1) * each; ++c) cores.reset(c);
        break;
      }
    }
  }
  room.free_cores = std::move(cores);
  room.free_cpus = static_cast<uint32_t>(room.free_cores.count()) * cpus_of_core(*room.config);
}

Room room_empty(const Node& node, Unit unit) {
  Room room = usable_room(node);
  set_free_cores(room, std::move(room.free_cores), unit);
  return room;
}

Room room_now(const Node& node, Unit unit) {
  Room room = usable_room(node);
  if (node.exclusive) room.free_cores.clear();
  else room.free_cores.and_not(node.used_cores);
  set_free_cores(room, std::move(room.free_cores), unit);
  room.used_gres = node.used_gres;
  room.free_memory_mib -= std::min(room.free_memory_mib, node.used_memory_mib);
  room.jobs = node.running_jobs;
  if (!node.jobs.empty()) room.changeable = nullptr;  // completing ones count, too
  return room;
}

bool is_all_free(const Room& room) {
  Bitmap cores = cores_of(*room.config);
  cores.and_not(system_cores(*room.config));
  return room.free_cores.contains(cores);
}

void leave_to_system(Room& room, const SystemShare& share) {
  room.free_cores = cores_of(*room.config);
  room.free_cores.and_not(system_cores(*room.config, share));
  room.free_cpus = static_cast<uint32_t>(room.free_cores.count()) * cpus_of_core(*room.config);
}

void limit_sockets(Room& room, uint32_t most) {
  std::vector<uint32_t> used = room.held == nullptr ? std::vector<uint32_t>() : room.held->cores;
  used.resize(room.config->sockets);
  const uint32_t each = cpus_of_core(*room.config);
  Bitmap left;
  room.free_cores.for_each([&](size_t core) {
    uint32_t& count = used[socket_of(core, *room.config)];
    if (uint64_t{count + 1} * each > most) return;
    ++count;
    left.set(core);
  });
  room.free_cores = std::move(left);
  room.free_cpus = static_cast<uint32_t>(room.free_cores.count()) * each;
}

void take_from(Room& room, const NodeAllocation& taken, bool whole, uint32_t uid) {
  if (whole) room.free_cores.clear();
  else room.free_cores.and_not(taken.cores);
  room.free_cpus = static_cast<uint32_t>(room.free_cores.count()) * cpus_of_core(*room.config);
  room.free_memory_mib -= std::min(room.free_memory_mib, taken.memory_mib);
  if (!taken.gres.empty()) {
    GresShares used = room.used_gres == nullptr ? GresShares{} : *room.used_gres;
    add_shares(used, taken.gres);
    room.used_gres = std::make_shared<const GresShares>(std::move(used));
  }
  ++room.jobs;
  if (room.user != uid) room.user = room.user == kNoUser ? uid : kSeveralUsers;
}

}  // namespace sluice::fit
