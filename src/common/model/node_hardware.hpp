// What a node agent tells of its host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/gres.hpp"

namespace sluice {

// What a node finds out about itself; journaled only when it differs from the last one.
struct NodeHardware {
  std::string host_name;
  std::string address;
  uint32_t port = 0;
  uint32_t cpus = 0;
  uint32_t boards = 1;
  uint32_t sockets = 0;
  uint32_t cores_per_socket = 0;
  uint32_t threads_per_core = 0;
  uint64_t real_memory_mib = 0;
  uint64_t tmp_disk_mib = 0;
  std::string architecture;
  std::string operating_system;
  std::string version;
  std::string boot_id;
  Time boot_time = kNoTime;
  Time agent_start = kNoTime;
  std::string gres;  // unused: see devices
  std::vector<GresDevices> devices;
  template <class V>
  static void describe(V&& field) {
    field(1, "host_name", &NodeHardware::host_name);
    field(2, "address", &NodeHardware::address);
    field(3, "port", &NodeHardware::port);
    field(4, "cpus", &NodeHardware::cpus);
    field(5, "boards", &NodeHardware::boards);
    field(6, "sockets", &NodeHardware::sockets);
    field(7, "cores_per_socket", &NodeHardware::cores_per_socket);
    field(8, "threads_per_core", &NodeHardware::threads_per_core);
    field(9, "real_memory_mib", &NodeHardware::real_memory_mib);
    field(10, "tmp_disk_mib", &NodeHardware::tmp_disk_mib);
    field(11, "architecture", &NodeHardware::architecture);
    field(12, "operating_system", &NodeHardware::operating_system);
    field(13, "version", &NodeHardware::version);
    field(14, "boot_id", &NodeHardware::boot_id);
    field(15, "boot_time", &NodeHardware::boot_time);
    field(16, "agent_start", &NodeHardware::agent_start);
    field(17, "gres", &NodeHardware::gres);
    field(18, "devices", &NodeHardware::devices);
  }
};

// Heartbeat data, never journaled.
struct NodeSoft {
  double load = -1;  // 1-minute average; -1: unknown
  uint64_t free_memory_mib = 0;
  Time last_response = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "load", &NodeSoft::load);
    field(2, "free_memory_mib", &NodeSoft::free_memory_mib);
    field(3, "last_response", &NodeSoft::last_response);
  }
};

}  // namespace sluice
