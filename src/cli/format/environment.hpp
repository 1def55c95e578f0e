// What commands take from their environment, and small checks they share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/format/field_row.hpp"

namespace sluice::cli {

// The variable, or nothing when it is not set.
[[nodiscard]] std::optional<std::string> environment(const char* name);

// SLURM_TIME_FORMAT, SLURM_BITSTR_LEN and what rendering needs of the configuration.
[[nodiscard]] RenderContext render_context(const ClusterConfig& config, Time now, bool convert);

// This host's clock, where the controller's is not known.
[[nodiscard]] Time current_time();

[[nodiscard]] std::optional<uint32_t> user_id(const std::string& name_or_number);

// --clusters: false when none but other clusters are named, or one that cannot be reached (then it
// was reported). One that the accounting database does not know is reported and left out.
[[nodiscard]] bool accept_cluster(const char* command, const std::string& clusters,
                                  const ClusterConfig& config);

}  // namespace sluice::cli
