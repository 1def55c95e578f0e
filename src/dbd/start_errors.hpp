// What would keep slurmdbd from its start with a configuration that can be read (slurmdbd -t).
#pragma once

#include <vector>

#include "common/base/result.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {

// All of it, in the order in which a start would meet it. Nothing is made or changed, no server is
// asked, and only what this process may look at is looked at: another user than SlurmUser and root
// is not told of keys.
[[nodiscard]] std::vector<Error> start_errors(const DbdConfig& config);

}  // namespace sluice::dbd
