#include "dbd/import/copy.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "dbd/store/errors.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

constexpr long long kPartRows = 5000;  // servers' answers are held in memory

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

// "a", "b"
std::string names_of(const CopiedTable& table) {
  std::string out;
  for (const CopiedColumn& column : table.columns) {
    if (!out.empty()) out += ", ";
    out += quoted(column.name);
  }
  return out;
}

struct TableText {
  std::string_view name, columns;  // with ' for a text, # for bytes
  std::string_view part_by = {};
  bool numbered = false;
};
constexpr TableText kTables[] = {
    {"cluster",
     "id name' stream' sequence control_host' control_port protocol_version created deleted",
     {},
     true},
    {"job",
     "id cluster job_id submit restarts part array_job het_job uid gid account' state eligible "
     "start ended record#",
     "id", true},
    {"step", "job number record#", "job"},
    {"node_event", "cluster node' start ended record#"},
    {"cluster_event", "cluster start ended record#"},
    {"reservation", "cluster name' start ended record#"},
    {"blob", "cluster key# bytes#"},
    {"blob_use", "cluster key# role used"},
    {"entity_version", "version"},
    {"account", "name' description' organization' deleted record#"},
    {"user", "name' admin_level deleted record#"},
    {"association", "id cluster' account' user' partition' parent lineage' deleted record#"},
    {"qos", "id name' deleted record#"},
    {"tres", "id type' name' record#"},
    {"wckey", "id cluster' user' name' deleted record#"},
    {"site_cluster", "name' deleted record#"},
    {"txn", "id time action' actor' subject' info' record#", "id", true},
    {"usage_state", "cluster rolled"},
    {"job_usage", "cluster period time account' user' wckey' qos' tres' used"},
    {"cluster_usage",
     "cluster period time tres' count allocated down planned_down idle planned over"},
    {"purge_state", "cluster floor"},
};

std::vector<CopiedColumn> columns_of(std::string_view text) {
  std::vector<CopiedColumn> out;
  while (!text.empty()) {
    std::string_view name = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    CopiedColumn& column = out.emplace_back();
    if (name.ends_with('\'')) column.kind = ColumnKind::kText;
    if (name.ends_with('#')) column.kind = ColumnKind::kBytes;
    if (column.kind != ColumnKind::kNumber) name.remove_suffix(1);
    column.name = name;
  }
  return out;
}

// One row on its way.
class Row {
 public:
  explicit Row(const CopiedTable& table)
      : table_(table), numbers_(table.columns.size()), texts_(table.columns.size()) {}

  void read_into(soci::statement& select) {
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].kind == ColumnKind::kNumber) select.exchange(into(numbers_[i]));
      else select.exchange(into(texts_[i]));
    }
  }
  void write_from(soci::statement& insert) {
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].kind == ColumnKind::kNumber) insert.exchange(use(numbers_[i]));
      else insert.exchange(use(texts_[i]));
    }
  }
  // From how one database writes values to how the other does.
  void translate(const Session& from, const Session& to) {
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].kind == ColumnKind::kText) texts_[i] = to.text(texts_[i]);
      if (table_.columns[i].kind == ColumnKind::kBytes)
        texts_[i] = to.bytes(std::move(from.read_bytes(texts_[i])));
    }
  }

 private:
  const CopiedTable& table_;
  std::vector<long long> numbers_;
  std::vector<std::string> texts_;
};

class TableCopy {
 public:
  TableCopy(Session& from, Session& to, const CopiedTable& table)
      : from_(from), to_(to), table_(table), row_(table), insert_(to) {
    std::string places;
    for (size_t i = 0; i < table.columns.size(); ++i)
      places += fmt::format("{}:v{}", i == 0 ? "" : ", ", i);
    row_.write_from(insert_);
    insert_.alloc();
    insert_.prepare(
        fmt::format("INSERT INTO {}({}) VALUES({})", quoted(table.name), names_of(table), places));
    insert_.define_and_bind();
  }

  uint64_t run() {
    if (table_.part_by.empty()) copy_part(std::nullopt, std::nullopt);
    else copy_parts();
    if (table_.numbered) go_on_behind();
    return count_;
  }

 private:
  void copy_parts() {
    std::optional<long long> last;
    while (true) {
      const std::optional<long long> end = end_of_part(last);
      if (!end) return;
      copy_part(last, end);
      last = end;
    }
  }
  std::string behind(std::optional<long long> last) const {
    return last ? fmt::format(" WHERE {} > {}", quoted(table_.part_by), *last) : std::string();
  }
  std::optional<long long> end_of_part(std::optional<long long> last) {
    long long end = 0;
    soci::indicator found = soci::i_null;
    from_ << fmt::format(
        "SELECT max(number) FROM (SELECT {0} AS number FROM {1}{2} ORDER BY {0} LIMIT {3}) AS part",
        quoted(table_.part_by), quoted(table_.name), behind(last), kPartRows),
        into(end, found);
    if (found != soci::i_ok) return std::nullopt;
    return end;
  }
  void copy_part(std::optional<long long> last, std::optional<long long> end) {
    std::string text =
        fmt::format("SELECT {} FROM {}{}", names_of(table_), quoted(table_.name), behind(last));
    if (end)
      text += fmt::format(" {} {} <= {}", last ? "AND" : "WHERE", quoted(table_.part_by), *end);
    soci::statement select(from_);
    row_.read_into(select);
    select.alloc();
    select.prepare(text);
    select.define_and_bind();
    select.execute();
    while (select.fetch()) {
      row_.translate(from_, to_);
      insert_.execute(true);
      ++count_;
    }
  }
  void go_on_behind() {
    if (to_.dialect().set_number.empty()) return;
    long long number = 0;
    soci::indicator any = soci::i_null;
    to_ << fmt::format(fmt::runtime(to_.dialect().set_number), table_.name), into(number, any);
  }

  Session& from_;
  Session& to_;
  const CopiedTable& table_;
  Row row_;
  soci::statement insert_;
  uint64_t count_ = 0;
};

long long count_rows(Session& sql, const CopiedTable& table) {
  long long count = 0;
  sql << "SELECT count(*) FROM " + quoted(table.name), into(count);
  return count;
}

int version_of(Session& sql) {
  int tables = 0, version = 0;
  sql << std::string(sql.dialect().count_table), into(tables);
  if (tables != 0) sql << "SELECT version FROM accounting_version", into(version);
  return version;
}

Status check(Session& source, const std::string& source_name, Session& target,
             const std::string& target_name) {
  const int version = version_of(source), wanted = version_of(target);
  if (version == 0)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{} is no database of this daemon", source_name));
  if (version != wanted)
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{} has version {}, and this program writes {}: start the daemon "
                               "with it once, which brings an older one up to date",
                               source_name, version, wanted));
  for (const CopiedTable& table : copied_tables()) {
    if (count_rows(target, table) == 0) continue;
    return failure(ErrorCode::kInvalidConfig,
                   fmt::format("{} is not empty (table {}): copy into a new one, which no daemon "
                               "was started with",
                               target_name, table.name));
  }
  return {};
}

}  // namespace

uint64_t CopyCounts::of(std::string_view table) const {
  const auto found = std::ranges::find(rows, table, &std::pair<std::string_view, uint64_t>::first);
  return found == rows.end() ? 0 : found->second;
}

const std::vector<CopiedTable>& copied_tables() {
  static const std::vector<CopiedTable> tables = [] {
    std::vector<CopiedTable> out;
    for (const TableText& one : kTables)
      out.push_back({one.name, columns_of(one.columns), one.part_by, one.numbered});
    return out;
  }();
  return tables;
}

Result<CopyCounts> copy_database(Session& source, const std::string& source_name,
                                 Database& target) {
  CopyCounts counts;
  const Status done = target.write([&](Session& to) {
    return guarded(source_name + " or " + target.storage().text(), [&]() -> Status {
      source << std::string(source.dialect().begin_read);
      if (Status ok = check(source, source_name, to, target.storage().text()); !ok) return ok;
      for (const CopiedTable& table : copied_tables()) {
        const uint64_t count = TableCopy(source, to, table).run();
        if (count_rows(to, table) != static_cast<long long>(count))
          return failure(
              fmt::format("table {} has not the {} rows that were read", table.name, count));
        counts.rows.emplace_back(table.name, count);
      }
      source << "ROLLBACK";
      return {};
    });
  });
  if (!done) return tl::unexpected<Error>(done.error());
  return counts;
}

}  // namespace sluice::dbd
