// All that one database of the daemon has, copied into another one of whatever kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

enum class ColumnKind : uint8_t { kNumber, kText, kBytes };
struct CopiedColumn {
  std::string_view name;
  ColumnKind kind = ColumnKind::kNumber;
};
struct CopiedTable {
  std::string_view name;
  std::vector<CopiedColumn> columns;
  // Of a table that may be long: a number that an index begins with, by which it is read in parts.
  std::string_view part_by = {};
  bool numbered = false;  // new rows get numbers behind those that were copied
};
// All of the schema, those that others refer to first; without numbers of rows that nothing names.
[[nodiscard]] const std::vector<CopiedTable>& copied_tables();

struct CopyCounts {
  std::vector<std::pair<std::string_view, uint64_t>> rows;  // by table
  [[nodiscard]] uint64_t of(std::string_view table) const;
};

// In one transaction of the target: all of it, or nothing. `source` is read as of one moment, and
// is not changed. Numbers of clusters, jobs and transactions stay. Errors: kInvalidConfig: the
// target has something, or the source is no database of this version.
[[nodiscard]] Result<CopyCounts> copy_database(Session& source, const std::string& source_name,
                                               Database& target);

}  // namespace sluice::dbd
