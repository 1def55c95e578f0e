// Choosing nodes, processors and memory for one job. The scheduler's plan, the engine's check of it
// and the test of a submission against an empty cluster all go through here, so they agree.
//
// Nodes are taken in the order of the rooms given. A job that did not say how many nodes goes to
// the first node that holds it whole, else to as few as a walk in that order needs; one that did
// gets as many as it allows. Tasks fill a node before the next, but each further node keeps at
// least one (as Slurm's select/cons_tres does: -N2 -n4 gives 3 and 1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/model/job.hpp"
#include "common/model/node.hpp"
#include "ctld/fit/needs.hpp"

namespace sluice::fit {

inline constexpr uint32_t kNoUser = UINT32_MAX;
inline constexpr uint32_t kSeveralUsers = UINT32_MAX - 1;

// Whether a job of this user may not be where `jobs` of `user` are: one of them is to have the node
// for its user alone.
inline bool bars(uint32_t jobs, uint32_t user, uint32_t uid, bool one_user) {
  return one_user && jobs > 0 && user != kNoUser && user != uid;
}

// What the jobs of one partition hold of a node, where MaxCPUsPerNode or MaxCPUsPerSocket bounds
// them.
struct PartitionUse {
  uint32_t cpus = 0;
  std::vector<uint32_t> cores = {};  // by socket; beyond its end: none
  void add(const NodeAllocation& held, const NodeConfig& config);
};

// What a node has free for a job.
struct Room {
  NodeId node = kNoNode;
  const NodeConfig* config = nullptr;  // not owned
  // active features when they are not the configured ones
  std::shared_ptr<const std::vector<std::string>> own_features;
  // none that is kept for the system; with CR_Socket: of sockets that are wholly free
  Bitmap free_cores;
  uint32_t free_cpus = 0;  // hardware threads of these
  uint64_t free_memory_mib = 0;
  uint32_t jobs = 0;                            // that hold something here
  uint32_t user = kNoUser;                      // of those jobs
  bool one_user = false;                        // kept for that user
  const GresInventory* gres = nullptr;          // not owned; null: none
  std::shared_ptr<const GresShares> used_gres;  // null: none

  // by jobs of the job's partition; not owned, null: nothing, or it has no bounds
  const PartitionUse* held = nullptr;
  // features that a first job may have made active; may be null
  const std::vector<std::string>* changeable = nullptr;

  [[nodiscard]] const std::vector<std::string>& features() const {
    return own_features ? *own_features : config->features;
  }
  // Whether the job may not be here because of others' jobs, where a user has the node alone.
  [[nodiscard]] bool is_others(const Needs& needs) const {
    return bars(jobs, user, needs.uid, one_user || needs.one_user);
  }
  // Those that the job may have made active; null: none.
  [[nodiscard]] const std::vector<std::string>* changeable_for(const Needs& needs) const {
    return needs.may_change && jobs == 0 ? changeable : nullptr;
  }
};

// The node as it is now (its users are the caller's to fill in), and as it would be with nothing on
// it.
[[nodiscard]] Room room_now(const Node& node, Unit unit);
[[nodiscard]] Room room_empty(const Node& node, Unit unit);

// Of each socket no more cores than make `most` CPUs with those that are held already.
void limit_sockets(Room& room, uint32_t most);

// Takes cores and memory of a room away; `whole`: all of it.
void take_from(Room& room, const NodeAllocation& taken, bool whole, uint32_t uid);
// Sets the cores that are free, and with them the CPUs.
void set_free_cores(Room& room, Bitmap cores, Unit unit);

// Whether all cores of the node that jobs can get are free.
[[nodiscard]] bool is_all_free(const Room& room);

// Of a room without a job: frees all cores but those that the job leaves to the system
// (--core-spec).
void leave_to_system(Room& room, const SystemShare& share);

// So many of these cores: in turn from each socket, or all of one socket before the next.
[[nodiscard]] Bitmap take_cores(const Bitmap& free, uint32_t count, const NodeConfig& config,
                                bool fill_sockets);

// How many tasks the node could take, and the CPUs they could use; no tasks: it cannot serve.
struct Capacity {
  uint32_t tasks = 0;
  uint32_t cpus = 0;
  std::vector<uint64_t> dealt;  // most units of each need that is dealt; empty without needs
};
[[nodiscard]] Capacity capacity(const Needs& needs, const Room& room);

// Why a room cannot serve, in the order in which it is found out; for people (sluice explain).
enum class Lack : uint8_t {
  kNothing,
  kFeatures,
  kShape,
  kTmpDisk,
  kBusy,
  kUser,
  kMemory,
  kCpus,
  kGres,
};
[[nodiscard]] Lack lack_of(const Needs& needs, const Room& room);

// A job that one node may serve alone: true when the order of nodes is all that matters, and the
// first that place_on() accepts is the answer.
[[nodiscard]] bool fits_one_node(const Needs& needs);
[[nodiscard]] std::optional<NodeAllocation> place_on(const Needs& needs, const Room& room,
                                                     Unit unit);

// Rooms in order of preference; `required` (NodeIds; may be null) must all be used. nullopt: the
// job does not fit. The result is in the order of the node ids.
[[nodiscard]] std::optional<std::vector<NodeAllocation>> place(const Needs& needs,
                                                               std::span<const Room* const> rooms,
                                                               const Bitmap* required, Unit unit);

}  // namespace sluice::fit
