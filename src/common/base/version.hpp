// The versions that programs show: the Slurm whose behaviour this is, and Sluice's own.
#pragma once

namespace sluice {

inline constexpr const char* kSlurmVersion = "25.11.0";
inline constexpr const char* kSluiceVersion = "0.1.0";

}  // namespace sluice
