// How many calls gRPC serves in this process, from the moment it has read their headers until
// nothing of them is left. The linker has gRPC's making and ending of a call's memory come here
// (--wrap, SluiceDependencies.cmake); calls that this process makes are taken off. Internal to rpc.
#pragma once

#include <cstddef>

namespace sluice::net {

[[nodiscard]] size_t served_calls();

// Stands beside a call that this process makes.
class OwnCall {
 public:
  OwnCall();
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;
  ~OwnCall();
};

}  // namespace sluice::net
