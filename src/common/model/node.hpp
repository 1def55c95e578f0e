// A node as the controller keeps it: configuration, what it registered, its state and its use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bitmap.hpp"
#include "common/base/ids.hpp"
#include "common/base/shared_text.hpp"
#include "common/base/time.hpp"
#include "common/model/node_config.hpp"
#include "common/model/node_hardware.hpp"
#include "common/model/job_state.hpp"

namespace sluice {

// What a node becomes after a reboot that was asked for; as it was without a wish.
enum class AfterReboot : uint8_t { kAsBefore = 0, kResume = 1, kDown = 2 };

struct Node {
  NodeId id = kNoNode;
  std::string name;
  bool removed = false;  // no longer configured; kept while the id may be referred to
  std::shared_ptr<const NodeConfig> config;
  std::shared_ptr<const NodeHardware> hardware;  // null until it registered
  NodeBaseState base = NodeBaseState::kUnknown;  // UNKNOWN, DOWN, FUTURE; IDLE stands for "up"
  NodeFlags flags = 0;
  SharedText reason;
  Time reason_time = kNoTime;
  uint32_t reason_uid = 0;
  SharedText active_features;  // empty: as configured, unless its helpers or scontrol said so
  SharedText comment;
  SharedText extra;
  uint32_t weight = 1;
  Time last_busy = kNoTime;
  Time resume_after = kNoTime;
  AfterReboot after_reboot = AfterReboot::kAsBefore;
  Time reboot_issued = kNoTime;  // when its agent was told to reboot
  SharedText boot_features;      // "a,b": that are to be active then; empty: as they are
  bool boot_if_needed = false;   // only where these features cannot be had without a reboot
  Time undrained = kNoTime;      // when a drain ended last
  // by its helpers: active_features holds all of them, also when it is empty
  bool features_reported = false;
  bool features_chosen = false;  // likewise, by scontrol

  // derived by apply() from the jobs that hold it; not journaled
  Bitmap used_cores;
  uint32_t used_cpus = 0;
  uint64_t used_memory_mib = 0;
  std::vector<JobId> jobs;    // that hold a part of it, completing ones included
  uint32_t running_jobs = 0;  // their number
  uint32_t completing_jobs = 0;
  bool exclusive = false;                       // held whole by one job
  bool shared_cores = false;                    // several jobs hold the same cores
  std::shared_ptr<const GresInventory> gres;    // by configuration and registration; null: none
  std::shared_ptr<const GresShares> used_gres;  // null: none

  // the durable part
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &Node::id);
    field(2, "name", &Node::name);
    field(3, "removed", &Node::removed);
    field(4, "config", &Node::config);
    field(5, "hardware", &Node::hardware);
    field(6, "base", &Node::base);
    field(7, "flags", &Node::flags);
    field(8, "reason", &Node::reason);
    field(9, "reason_time", &Node::reason_time);
    field(10, "reason_uid", &Node::reason_uid);
    field(11, "active_features", &Node::active_features);
    field(12, "comment", &Node::comment);
    field(13, "extra", &Node::extra);
    field(14, "weight", &Node::weight);
    field(15, "last_busy", &Node::last_busy);
    field(16, "resume_after", &Node::resume_after);
    field(30, "after_reboot", &Node::after_reboot);
    field(31, "reboot_issued", &Node::reboot_issued);
    field(450, "features_reported", &Node::features_reported);
    field(451, "boot_features", &Node::boot_features);
    field(452, "boot_if_needed", &Node::boot_if_needed);
    field(453, "features_chosen", &Node::features_chosen);
    field(520, "undrained", &Node::undrained);
  }
};

// Where it is: as it registered, where any host may be that node (slurmd -F), else as configured.
// Empty where neither says.
[[nodiscard]] inline std::string node_host_name(const Node& node) {
  const bool registered = (node.flags & kNodeDynamicFuture) != 0 && node.hardware != nullptr;
  if (registered) return node.hardware->host_name;
  return node.config != nullptr ? node.config->hostname : std::string();
}
[[nodiscard]] inline std::string node_host_address(const Node& node) {
  const bool registered = (node.flags & kNodeDynamicFuture) != 0 && node.hardware != nullptr;
  if (registered) return node.hardware->address;
  return node.config != nullptr ? node.config->address : std::string();
}

// Whether active_features holds what is active, also when that is nothing; else all of its
// configuration are.
[[nodiscard]] inline bool has_own_features(const Node& node) {
  return !node.active_features.empty() || node.features_reported || node.features_chosen;
}
// Those of its configuration, unless the node or scontrol says otherwise.
[[nodiscard]] std::vector<std::string> active_features(const Node& node);

// scontrol update NodeName=…; only what is set changes.
struct NodeUpdate {
  std::string nodes;  // host list
  std::optional<std::string> state, reason, active_features, available_features, comment, extra,
      gres, cpu_bind;
  std::optional<uint32_t> weight;
  std::optional<uint32_t> resume_after_seconds;
  // host lists, one for each of `nodes` in their order
  std::optional<std::string> addresses, hostnames;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &NodeUpdate::nodes);
    field(2, "state", &NodeUpdate::state);
    field(3, "reason", &NodeUpdate::reason);
    field(4, "active_features", &NodeUpdate::active_features);
    field(5, "available_features", &NodeUpdate::available_features);
    field(6, "comment", &NodeUpdate::comment);
    field(7, "extra", &NodeUpdate::extra);
    field(8, "gres", &NodeUpdate::gres);
    field(9, "weight", &NodeUpdate::weight);
    field(10, "resume_after_seconds", &NodeUpdate::resume_after_seconds);
    field(380, "cpu_bind", &NodeUpdate::cpu_bind);
    field(381, "addresses", &NodeUpdate::addresses);
    field(382, "hostnames", &NodeUpdate::hostnames);
  }
};

}  // namespace sluice
