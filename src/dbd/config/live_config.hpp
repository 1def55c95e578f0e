// slurmdbd.conf as it is in force: read at the start, and again when an administrator wants it.
#pragma once

#include <string>
#include <vector>

#include "common/base/snapshot_holder.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {

using LiveConfig = SnapshotHolder<DbdConfig>;

// A file that was read again: what acts at the start alone stays as it is in `running`. Gives the
// keys of these that have changed.
[[nodiscard]] std::vector<std::string> keep_until_restart(const DbdConfig& running,
                                                          DbdConfig& fresh);

}  // namespace sluice::dbd
