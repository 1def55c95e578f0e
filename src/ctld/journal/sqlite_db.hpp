// A thin layer over SQLite's C interface: connections, cached statements, transactions, and its
// error codes as Result. One Database belongs to one thread at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sqlite3.h>

#include "common/base/result.hpp"

namespace sluice::journal {

// What ends the text of a damaged journal: what to do about the controller's own.
inline constexpr std::string_view kDamageAdvice =
    ". Keep a copy of its folder; then put a backup back (sluice restore FOLDER), or start once with "
    "slurmctld -c, which forgets all jobs, sets the file aside and goes on with the job ids that "
    "follow";

// An argument stored as BLOB; a plain string_view is stored as TEXT.
struct Bytes {
  std::string_view value;
};

// The current row of a query. Views last until the visitor returns.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  uint64_t number(int column) const { return static_cast<uint64_t>(integer(column)); }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string_view bytes(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// Returns false to end the query early.
using RowVisitor = std::function<bool(const Row&)>;

class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite, kCreate };

  static Result<Database> open(const std::filesystem::path& file, Mode mode);

  // Runs one statement without rows. `sql` must be a literal: its address is the cache's key.
  // kStorageFull: there was no room or the device failed, and nothing changed.
  template <class... Args>
  Status run(const char* sql, const Args&... args) {
    return query(
        sql, [](const Row&) { return true; }, args...);
  }

  template <class... Args>
  Status query(const char* sql, const RowVisitor& visit, const Args&... args) {
    Result<sqlite3_stmt*> statement = prepared(sql);
    if (!statement) return tl::unexpected(statement.error());
    int index = 0;
    (bind(*statement, ++index, args), ...);
    return step_all(*statement, visit);
  }

  // Runs statements built at run time or several in one text; not cached.
  Status script(const std::string& sql);

  // A copy as it is now, in the empty file `target`; writers go on meanwhile. The error names the
  // file of the two that it is about.
  Status copy_to(const std::filesystem::path& target);

  // The first column of the first row; `otherwise` when there is no row or it is NULL.
  template <class... Args>
  Result<int64_t> integer(const char* sql, int64_t otherwise, const Args&... args) {
    int64_t value = otherwise;
    const Status done = query(
        sql,
        [&](const Row& row) {
          if (!row.is_null(0)) value = row.integer(0);
          return false;
        },
        args...);
    if (!done) return tl::unexpected(done.error());
    return value;
  }

  int64_t last_row_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
  int changed_rows() const { return sqlite3_changes(handle_.get()); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  const std::filesystem::path& file() const { return file_; }

  // The error for SQLite's `code`, with the file's name and what to do about it.
  Error error(int code) const;

 private:
  struct CloseHandle {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  static void bind(sqlite3_stmt* statement, int index, std::integral auto value) {
    sqlite3_bind_int64(statement, index, static_cast<int64_t>(value));
  }
  void bind(sqlite3_stmt* statement, int index, std::string_view text);
  void bind(sqlite3_stmt* statement, int index, Bytes bytes);
  void note_bound(int code);

  Result<sqlite3_stmt*> prepared(const char* sql);
  Status step_all(sqlite3_stmt* statement, const RowVisitor& visit);

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, CloseHandle> handle_;
  std::unordered_map<const void*, std::unique_ptr<sqlite3_stmt, CloseStatement>> statements_;
  int bound_ = 0;  // the first error of bind() for the statement that is next: step_all() tells it
};

// A write transaction: rolled back unless commit() succeeded.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace sluice::journal
