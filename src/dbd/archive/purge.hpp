// Old history goes: what a rule names is written to a file first, where that is wanted, and its
// rows are deleted when the file is on the disk. Interrupted, it leaves the rows, and perhaps a
// file that the next purge writes again.
#pragma once

#include <string>
#include <vector>

#include "dbd/archive/purge_rules.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

struct PurgeResult {
  uint64_t rows = 0;
  std::vector<std::string> files;
};

// Some thousand rows a transaction, so that others may write in between. What is not summed up yet
// stays.
[[nodiscard]] Result<PurgeResult> purge(Database& database, const PurgeRules& rules, Time now);

// Puts an archive's rows back, in one transaction; those that are there stay as they are. Gives how
// many were put.
[[nodiscard]] Result<uint64_t> load_archive(Database& database, const std::string& path, Time now);

}  // namespace sluice::dbd
