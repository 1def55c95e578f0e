// Programs of the site that a configuration names and that cannot be run on this host: said when
// the configuration is read, not when they are needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"

namespace sluice {

struct UnusableProgram {
  enum class Why : uint8_t { kNotAbsolute, kNotThere, kNotExecutable };
  std::string key, path;
  Why why = Why::kNotThere;
  bool of_controller = false;  // which is to tell of it in Slurm's words
};
// Of a pattern (/etc/slurm/prolog.d/*) each file. What this process may not see is taken for good.
[[nodiscard]] std::vector<UnusableProgram> unusable_programs(const ClusterConfig& config);

// "ResumeProgram=/sbin/resume is not there".
[[nodiscard]] std::string sentence_of(const UnusableProgram& program);

}  // namespace sluice
