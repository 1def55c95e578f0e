// mpi.conf: what acts of it.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/describe.hpp"

namespace sluice {

struct MpiConfig {
  // "NAME=value;NAME=value", for libpmix in the daemon and in the tasks
  std::string pmix_environment;
  std::string pmix_tmp_base;      // folder for the folders of steps; empty: SlurmdSpoolDir
  uint32_t pmix_timeout_s = 300;  // for another node's answer
  uint32_t pmix_debug = 0;        // not 0: libpmix tells what it does
  friend bool operator==(const MpiConfig&, const MpiConfig&) = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "pmix_environment", &MpiConfig::pmix_environment);
    field(2, "pmix_tmp_base", &MpiConfig::pmix_tmp_base);
    field(3, "pmix_timeout_s", &MpiConfig::pmix_timeout_s);
    field(4, "pmix_debug", &MpiConfig::pmix_debug);
  }
};

}  // namespace sluice
