// What the configuration says of one node: a NodeName line after ranges, DEFAULT lines and derived
// counts are worked out. The node's live state is elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/describe.hpp"

namespace sluice {

// State= of a NodeName or DownNodes line.
enum class ConfiguredNodeState : uint32_t {
  kUnknown = 0,  // the default: the node's registration decides
  kIdle = 1,
  kDown = 2,
  kDrain = 3,
  kFail = 4,
  kFailing = 5,
  kCloud = 6,
  kFuture = 7,
  kExternal = 8,
};

// A node that no file names.
enum class DynamicNode : uint32_t {
  kNo = 0,          // slurm.conf has its line
  kCreated = 1,     // scontrol create
  kRegistered = 2,  // its agent brought its line along (slurmd -Z)
};

struct NodeConfig {
  std::string name;
  std::string hostname;  // NodeHostname; the node's name when not set
  std::string address;   // NodeAddr; the hostname when not set
  std::string broadcast_address;
  uint32_t port = 6818;
  uint32_t cpus = 1;  // logical CPUs: cores or hardware threads, see cpus_are_cores()
  uint32_t boards = 1;
  uint32_t sockets = 1;  // in the whole node, not per board
  uint32_t cores_per_socket = 1;
  uint32_t threads_per_core = 1;
  uint64_t real_memory_mib = 1;
  uint64_t tmp_disk_mib = 0;
  uint32_t weight = 1;
  std::vector<std::string> features;
  std::string gres;  // as written: "gpu:a100:2,fan:1"
  std::string gres_conf;
  ConfiguredNodeState state = ConfiguredNodeState::kUnknown;
  std::string reason;
  uint32_t core_spec_count = 0;  // cores that no job gets: system_cores()
  std::string cpu_spec_list;     // "0-3,8"
  uint64_t mem_spec_limit_mib = 0;
  uint32_t restricted_cores_per_gpu = 0;
  std::string cpu_bind;
  std::string parameters;
  std::string topology;
  std::optional<uint32_t> suspend_time_s;  // UINT32_MAX is INFINITE
  DynamicNode dynamic = DynamicNode::kNo;
  bool system_cores_first = false;  // SchedulerParameters=spec_cores_first: see system_cores()
  // those of `features` that helpers.conf can make active
  std::vector<std::string> changeable_features;

  // True when Slurm counts this node's CPUs as cores although cores have several threads.
  [[nodiscard]] bool cpus_are_cores() const {
    return threads_per_core > 1 && cpus == sockets * cores_per_socket;
  }
  [[nodiscard]] uint32_t cores() const { return sockets * cores_per_socket; }

  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &NodeConfig::name);
    field(2, "hostname", &NodeConfig::hostname);
    field(3, "address", &NodeConfig::address);
    field(4, "broadcast_address", &NodeConfig::broadcast_address);
    field(5, "port", &NodeConfig::port);
    field(6, "cpus", &NodeConfig::cpus);
    field(7, "boards", &NodeConfig::boards);
    field(8, "sockets", &NodeConfig::sockets);
    field(9, "cores_per_socket", &NodeConfig::cores_per_socket);
    field(10, "threads_per_core", &NodeConfig::threads_per_core);
    field(11, "real_memory_mib", &NodeConfig::real_memory_mib);
    field(12, "tmp_disk_mib", &NodeConfig::tmp_disk_mib);
    field(13, "weight", &NodeConfig::weight);
    field(14, "features", &NodeConfig::features);
    field(15, "gres", &NodeConfig::gres);
    field(16, "gres_conf", &NodeConfig::gres_conf);
    field(17, "state", &NodeConfig::state);
    field(18, "reason", &NodeConfig::reason);
    field(19, "core_spec_count", &NodeConfig::core_spec_count);
    field(20, "cpu_spec_list", &NodeConfig::cpu_spec_list);
    field(21, "mem_spec_limit_mib", &NodeConfig::mem_spec_limit_mib);
    field(22, "restricted_cores_per_gpu", &NodeConfig::restricted_cores_per_gpu);
    field(23, "cpu_bind", &NodeConfig::cpu_bind);
    field(24, "parameters", &NodeConfig::parameters);
    field(25, "topology", &NodeConfig::topology);
    field(26, "suspend_time_s", &NodeConfig::suspend_time_s);
    field(360, "dynamic", &NodeConfig::dynamic);
    field(450, "changeable_features", &NodeConfig::changeable_features);
    field(470, "system_cores_first", &NodeConfig::system_cores_first);
  }
};

// A NodeSet line: nodes by name, by feature, or both.
struct NodeSetConfig {
  std::string name;
  std::vector<std::string> features;  // any of them
  std::vector<std::string> nodes;     // features worked out, in cluster order
  friend bool operator==(const NodeSetConfig&, const NodeSetConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &NodeSetConfig::name);
    field(2, "features", &NodeSetConfig::features);
    field(3, "nodes", &NodeSetConfig::nodes);
  }
};

// A DownNodes line: holds until an administrator or a registration changes the nodes' state, and
// again whenever slurm.conf is read.
struct DownNodesConfig {
  std::vector<std::string> nodes;
  ConfiguredNodeState state = ConfiguredNodeState::kDown;  // kDown, kDrain, kFail or kFailing
  std::string reason;
  std::string nodes_text;  // as written: names of nodes and node sets
  friend bool operator==(const DownNodesConfig&, const DownNodesConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "nodes", &DownNodesConfig::nodes);
    field(2, "state", &DownNodesConfig::state);
    field(3, "reason", &DownNodesConfig::reason);
    field(4, "nodes_text", &DownNodesConfig::nodes_text);
  }
};

}  // namespace sluice
