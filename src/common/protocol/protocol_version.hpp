// The version of what daemons say to each other, within the package sluice.v1. A release raises it
// when an earlier one would misread what it sends. A controller serves node agents of its own
// version and of the one before: it is updated first.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::protocol {

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr uint32_t kOldestProtocolVersion = 1;  // that a controller serves

// Why an agent of this version is not served; empty: it is. 0 is one that does not say its version.
[[nodiscard]] inline std::string version_refusal(uint32_t agent) {
  if (agent >= kOldestProtocolVersion && agent <= kProtocolVersion) return {};
  return "slurmd speaks version " + std::to_string(agent) +
         " of the protocol and slurmctld version " + std::to_string(kProtocolVersion) +
         (agent < kProtocolVersion ? ": update slurmd on this node"
                                   : ": update slurmctld before slurmd");
}

}  // namespace sluice::protocol
