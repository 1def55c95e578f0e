// The versions a command shows: Slurm's behaviour level, and Sluice's own.
#pragma once

#include <cstdio>

#include "common/base/version.hpp"

namespace sluice::cli {

// -V of every command.
inline int print_slurm_version() {
  std::printf("slurm %s\n", kSlurmVersion);
  return 0;
}

}  // namespace sluice::cli
