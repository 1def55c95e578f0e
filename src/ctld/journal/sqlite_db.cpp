// Connections and statements of SQLite, and what its error codes mean for the journal.
#include "ctld/journal/sqlite_db.hpp"

#include <utility>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "common/base/check.hpp"

namespace sluice::journal {

namespace {

constexpr int kBusyTimeoutMs = 10'000;
constexpr uint64_t kLeastRoom = uint64_t{1} << 20;

// Where SQLite cannot extend the file that it maps (-shm) it tells of a device that fails.
bool is_disk_full(const std::filesystem::path& file) {
  std::filesystem::path folder = file.parent_path();
  if (folder.empty()) folder = ".";
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  return uint64_t{disk.f_bavail} * uint64_t{disk.f_frsize} < kLeastRoom;
}

// For SQLite's `code` about `file`, of which it says `told`.
std::string disk_trouble(const std::filesystem::path& file, int code, std::string told) {
  if ((code & 0xff) == SQLITE_IOERR && is_disk_full(file)) return sqlite3_errstr(SQLITE_FULL);
  return told;
}

// What a copy's target has, not what is copied, which is read alone.
bool is_of_writing(int code) {
  switch (code) {
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
    case SQLITE_IOERR_TRUNCATE: return true;
    default: return (code & 0xff) == SQLITE_FULL;
  }
}

}  // namespace

std::string_view Row::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return {static_cast<const char*>(data), data == nullptr ? 0 : static_cast<size_t>(size)};
}

Result<Database> Database::open(const std::filesystem::path& file, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_CREATE;
  Database database;
  database.file_ = file;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
  database.handle_.reset(handle);
  if (code != SQLITE_OK) return tl::unexpected(database.error(code));
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return database;
}

Error Database::error(int code) const {
  // what was found to be wrong without SQLite's help has no message there
  const int last = handle_ ? sqlite3_errcode(handle_.get()) : SQLITE_OK;
  const bool told = last != SQLITE_OK && last != SQLITE_ROW && last != SQLITE_DONE;
  const std::string detail = told ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS) break;
      return {ErrorCode::kStorageFull,
              fmt::format("the journal {} cannot be {}: {}", file_.string(),
                          (code & 0xff) == SQLITE_CANTOPEN ? "opened" : "written",
                          disk_trouble(file_, code, detail))};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kRetry,
              fmt::format("the journal {} is locked by another process", file_.string())};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: break;
    default: return {ErrorCode::kError, fmt::format("the journal {}: {}", file_.string(), detail)};
  }
  return {ErrorCode::kDamaged,
          fmt::format("the journal {} is damaged ({}){}", file_.string(), detail, kDamageAdvice)};
}

Status Database::copy_to(const std::filesystem::path& target) {
  Status done = run("VACUUM INTO ?", std::string_view(target.native()));
  if (done) return done;
  const int code = sqlite3_extended_errcode(handle_.get());
  if (!is_of_writing(code)) return done;
  return failure(ErrorCode::kStorageFull,
                 fmt::format("{} cannot be written: {}", target.string(),
                             disk_trouble(target, code, sqlite3_errmsg(handle_.get()))));
}

void Database::bind(sqlite3_stmt* statement, int index, std::string_view text) {
  note_bound(
      sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Database::bind(sqlite3_stmt* statement, int index, Bytes bytes) {
  // a null pointer would be stored as NULL
  const char* data = bytes.value.data() == nullptr ? "" : bytes.value.data();
  note_bound(sqlite3_bind_blob64(statement, index, data, bytes.value.size(), SQLITE_STATIC));
}

void Database::note_bound(int code) {
  if (bound_ == SQLITE_OK) bound_ = code;
}

Result<sqlite3_stmt*> Database::prepared(const char* sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return tl::unexpected(error(code));
    found = statements_.try_emplace(sql, statement).first;
  }
  // a visitor must not run the very query it is called from
  SLUICE_CHECK(sqlite3_stmt_busy(found->second.get()) == 0);
  return found->second.get();
}

Status Database::step_all(sqlite3_stmt* statement, const RowVisitor& visit) {
  // a value that is not bound, as one over SQLite's limit, would be NULL
  int code = std::exchange(bound_, SQLITE_OK);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  while (code == SQLITE_ROW && visit(Row(statement))) code = sqlite3_step(statement);
  Status result;
  if (code != SQLITE_ROW && code != SQLITE_DONE) result = tl::unexpected(error(code));
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return result;
}

Status Database::script(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected(error(code));
  return {};
}

Result<Transaction> Transaction::begin(Database& database) {
  const Status begun = database.run("BEGIN IMMEDIATE");
  if (!begun) return tl::unexpected(begun.error());
  return Transaction(database);
}

Status Transaction::commit() {
  Status done = database_->run("COMMIT");
  if (done) database_ = nullptr;
  return done;
}

Transaction::~Transaction() {
  // some errors roll back by themselves
  if (database_ != nullptr && database_->in_transaction()) {
    const Status ignored = database_->run("ROLLBACK");
    static_cast<void>(ignored);
  }
}

}  // namespace sluice::journal
