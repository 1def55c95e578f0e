// The versions a command shows: Slurm's behaviour level, and Sluice's own.
#pragma once

#include <cstdio>

namespace sluice::cli {

inline constexpr const char* kSlurmVersion = "25.11.0";
inline constexpr const char* kSluiceVersion = "0.1.0";

// -V of every command.
inline int print_slurm_version() {
  std::printf("slurm %s\n", kSlurmVersion);
  return 0;
}

}  // namespace sluice::cli
