// What sluice up was asked for last in a folder: a plain `sluice up` makes the same cluster again.
#pragma once

#include "cli/trial/trial_cluster.hpp"
#include "common/base/result.hpp"

namespace sluice::cli {

// Nodes, CPUs, memory, further lines and whether there is accounting; as JSON in DIR/run. Errors:
// it cannot be written.
[[nodiscard]] Status save_shape(const TrialOptions& options);
// The same read again into `options`; as they are where nothing was saved. Errors: the file is
// damaged.
[[nodiscard]] Status recall_shape(TrialOptions& options);

}  // namespace sluice::cli
