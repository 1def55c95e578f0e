// What is said of a token or credential of another cluster.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace sluice::net {

[[nodiscard]] inline std::string other_cluster_text(std::string_view what, std::string_view theirs,
                                                    std::string_view own) {
  return fmt::format(
      "the {} is for cluster '{}', not for '{}': where ClusterName was changed in "
      "slurm.conf, put the old name back, or restart slurmctld and every slurmd",
      what, theirs, own);
}

}  // namespace sluice::net
