// The tables of a slurmdbd's database, read only: rows as texts, by the names of their columns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/text.hpp"
#include "dbd/store/session.hpp"

namespace sluice::dbd {

// A table as Slurm 22.05 has it. One of a cluster is called CLUSTER_NAME.
struct SourceTable {
  std::string_view name;
  bool of_cluster = false;
  std::vector<std::string_view> columns;
};
[[nodiscard]] const SourceTable& source_table(std::string_view name);

// Errors: a table that is not there, or has a column too few or too many, by name.
[[nodiscard]] Status check_schema(Session& sql, const std::vector<std::string>& clusters);

class SourceRow {
 public:
  SourceRow(const SourceTable& table, const std::vector<std::string>& values,
            const std::vector<soci::indicator>& indicators)
      : table_(table), values_(values), indicators_(indicators) {}

  [[nodiscard]] std::string text(std::string_view column) const;  // empty where it is NULL
  [[nodiscard]] bool is_null(std::string_view column) const;
  template <class T = uint32_t>
  [[nodiscard]] T number(std::string_view column, T otherwise = 0) const {
    return to_number<T>(text(column)).value_or(otherwise);
  }

 private:
  [[nodiscard]] size_t position(std::string_view column) const;
  const SourceTable& table_;
  const std::vector<std::string>& values_;
  const std::vector<soci::indicator>& indicators_;
};

// Calls take(row) for each row of the table. `where`: the rest of the statement, or nothing.
void each_row(Session& sql, std::string_view table, const std::string& cluster,
              const std::string& where, const std::function<void(const SourceRow&)>& take);

}  // namespace sluice::dbd
