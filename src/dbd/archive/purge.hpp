// Old history goes: what a rule names is written to a file first, where that is wanted, and its
// rows are deleted when the file is on the disk. Interrupted, it leaves the rows, and perhaps a
// file that the next purge writes again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dbd/archive/archive_file.hpp"
#include "dbd/archive/purge_rules.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

struct PurgeResult {
  uint64_t rows = 0;
  std::vector<std::string> files;
};

// Writes a file whose rows are of the time from `first` to `last`, microseconds since 1970, and
// names it in the result; without rows it does nothing. The file is on the disk when this returns.
[[nodiscard]] Status keep_rows(const PurgeRules& rules, const char* kind, ArchiveFile file,
                               long long first, long long last, PurgeResult& result);

// Some thousand rows a transaction, so that others may write in between. What is not summed up yet
// stays.
[[nodiscard]] Result<PurgeResult> purge(Database& database, const PurgeRules& rules, Time now);

// Puts an archive's rows back, in one transaction; those that are there stay as they are. Gives how
// many were put, or, without `commit`, would be.
[[nodiscard]] Result<uint64_t> load_archive(Database& database, const std::string& path, Time now,
                                            bool commit = true);

// What comes late sums up nothing again before that time, as jobs or events before it are gone.
void raise_floor(Session& sql, long long cluster, long long before);
// By their numbers in the database.
[[nodiscard]] Result<std::map<long long, std::string>> cluster_names(const Database& database);
// Until when a cluster's usage is summed up; 0: not at all.
[[nodiscard]] long long summed_until(Session& sql, long long cluster);

}  // namespace sluice::dbd
