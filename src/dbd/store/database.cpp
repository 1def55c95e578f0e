#include "dbd/store/database.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log/log.hpp"
#include "dbd/store/errors.hpp"
#include "dbd/store/file_access.hpp"
#include "dbd/store/migrations.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kReaders = 6;
constexpr int kLogPages = 4096;  // of the write-ahead log; beyond it they go into the file

void run(Session& sql, std::string_view statement) { sql << std::string(statement); }

// False: the connection is of no use any more.
bool roll_back(Session& sql) {
  try {
    sql << "ROLLBACK";
    return true;
  } catch (const std::exception&) {
    return sql.dialect().engine == Engine::kSqlite;  // which did by itself
  }
}

Status begin(Session& sql, const std::string& where, bool writes) {
  Status began = guarded(where, [&]() -> Status {
    const Dialect& dialect = sql.dialect();
    if (!writes) return run(sql, dialect.begin_read), Status();
    for (const std::string_view statement : dialect.begin_write) {
      if (!statement.starts_with("SELECT")) {
        run(sql, statement);
        continue;
      }
      int row = 0;
      sql << std::string(statement), soci::into(row);
    }
    return {};
  });
  return began;
}

// Begins on `sql`, and on a new connection where that one is null, or was lost while it was idle.
template <class Connect>
Status begin_anywhere(std::unique_ptr<Session>& sql, const std::string& where, bool writes,
                      Connect connect) {
  if (sql) {
    Status began = begin(*sql, where, writes);
    if (began) return began;
    if (sql->dialect().engine == Engine::kSqlite) return began;
    if (roll_back(*sql)) return began;
  }
  sql = nullptr;
  auto made = connect();
  if (!made) return tl::unexpected<Error>(made.error());
  sql = std::move(*made);
  return begin(*sql, where, writes);
}

// An empty file is none that a daemon leaves: what was in it is lost.
Status make_private_file(const std::string& path) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) {
    ::close(made);
    log::warning("{} was not there: a new database is made, which knows of no job and no account",
                 path);
    return {};
  }
  if (errno != EEXIST) return tl::unexpected<Error>(cannot_make(path, errno));
  if (Status ok = may_use_file(path); !ok) return ok;
  return check_not_empty(path);
}

uint64_t inode_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

// After each commit: what SQLite does by itself, with the mark of the file round it.
int after_commit(void* mark, sqlite_api::sqlite3* connection, const char* name, int pages) {
  if (pages < kLogPages) return SQLITE_OK;
  auto* file = static_cast<FileMark*>(mark);
  file->begin_change();
  sqlite_api::sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                                        nullptr);
  file->end_change();
  return SQLITE_OK;
}

// Two daemons with one file would each add up its usage and end what the other has open.
Result<FileLock> lock_of(const std::string& file) {
  Result<FileLock> lock = FileLock::take(file + "-lock");
  if (lock || lock.error().code != ErrorCode::kDuplicateName) return lock;
  return failure(ErrorCode::kDuplicateName,
                 fmt::format("{} is in use by {}; two slurmdbd cannot share a file of SQLite", file,
                             lock.error().text));
}

std::string log_of(const Storage& storage) { return storage.name + "-wal"; }

// Of a file, which one connection writes.
void set_up_writer(Session& sql, FileMark& mark) {
  if (sql.dialect().engine != Engine::kSqlite) return;
  for (const char* setting : {"journal_mode = WAL", "synchronous = FULL",
                              "journal_size_limit = 67108864", "cache_size = -65536"})
    sql << std::string("PRAGMA ") + setting;
  auto* backend = static_cast<soci::sqlite3_session_backend*>(sql.get_backend());
  sqlite_api::sqlite3_wal_hook(backend->conn_, after_commit, &mark);
}

}  // namespace

Database::Database(const Storage& storage, std::optional<FileLock> lock)
    : lock_(std::move(lock)), storage_(storage), where_(storage.text()), mark_(storage.name) {}

Database::~Database() {
  // the last connection brings the log into the file
  if (storage_.engine == Engine::kSqlite) mark_.begin_change();
}

Result<std::unique_ptr<Database>> Database::open(const Storage& storage) {
  std::optional<FileLock> lock;
  if (storage.engine == Engine::kSqlite) {
    if (storage.name.find('"') != std::string::npos)
      return failure(ErrorCode::kInvalidConfig,
                     fmt::format("{}: a path with quotes", storage.name));
    if (auto ok = make_private_file(storage.name); !ok) return tl::unexpected(ok.error());
    auto taken = lock_of(storage.name);
    if (!taken) return tl::unexpected<Error>(taken.error());
    lock.emplace(std::move(*taken));
  }
  std::unique_ptr<Database> database(new Database(storage, std::move(lock)));
  if (storage.engine != Engine::kSqlite) {
    if (auto ok = database->open_sessions(); !ok) return tl::unexpected(ok.error());
    return database;
  }
  if (auto ok = database->mark_.check(); !ok) return tl::unexpected(ok.error());
  database->inode_ = inode_of(storage.name);
  database->mark_.begin_change();
  if (auto ok = database->open_sessions(); !ok) return tl::unexpected(ok.error());
  database->mark_.end_change();
  database->log_inode_ = inode_of(log_of(storage));
  return database;
}

Status Database::connect_writer() {
  auto made = connect(storage_);
  if (!made) return tl::unexpected<Error>(made.error());
  writer_ = std::move(*made);
  return guarded(where_, [&]() -> Status {
    set_up_writer(*writer_, mark_);
    return {};
  });
}

Result<std::unique_ptr<Session>> Database::connect_reader() const {
  auto made = connect(storage_);
  if (!made || storage_.engine != Engine::kSqlite) return made;
  Status set = guarded(where_, [&]() -> Status {
    **made << "PRAGMA query_only = ON";
    return {};
  });
  if (!set) return tl::unexpected<Error>(set.error());
  return made;
}

Status Database::open_sessions() {
  {
    const std::lock_guard lock(write_mutex_);
    if (auto ok = connect_writer(); !ok) return ok;
    if (auto ok = guarded(where_, [&] { return migrate(*writer_); }); !ok) {
      roll_back(*writer_);
      return ok;
    }
  }
  for (size_t i = 0; i < kReaders; ++i) {
    auto reader = connect_reader();
    if (!reader) return tl::unexpected<Error>(reader.error());
    readers_.push_back(std::move(*reader));
  }
  return {};
}

Status Database::still_there() const {
  if (storage_.engine != Engine::kSqlite) return {};
  std::string text;
  if (inode_of(storage_.name) != inode_)
    text = fmt::format(
        "{} was removed or replaced while slurmdbd runs: end slurmdbd, put the database "
        "back, and start it again",
        storage_.name);
  else if (inode_of(log_of(storage_)) != log_inode_)
    text = fmt::format(
        "{} was removed or replaced while slurmdbd runs: end slurmdbd by SIGTERM, which brings what "
        "was in it into the database, and start it again",
        log_of(storage_));
  else return {};
  if (!lost_.exchange(true)) log::error("{}", text);
  return failure(ErrorCode::kDamaged, std::move(text));
}

Status Database::write(const Work& work) {
  const std::lock_guard lock(write_mutex_);
  if (auto there = still_there(); !there) return there;
  Status began = begin_anywhere(writer_, where_, true, [&]() -> Result<std::unique_ptr<Session>> {
    if (auto ok = connect_writer(); !ok) return tl::unexpected<Error>(ok.error());
    return std::move(writer_);
  });
  if (!began) return began;
  Status done = guarded(where_, [&] {
    Status worked = work(*writer_);
    if (worked) *writer_ << "COMMIT";
    return worked;
  });
  if (!done && !roll_back(*writer_)) writer_ = nullptr;
  if (done && storage_.engine == Engine::kSqlite) mark_.renew();
  return done;
}

std::unique_ptr<Session> Database::take_reader() const {
  std::unique_lock lock(read_mutex_);
  readable_.wait(lock, [&] { return !readers_.empty(); });
  std::unique_ptr<Session> sql = std::move(readers_.back());
  readers_.pop_back();
  return sql;
}

Status Database::read(const Work& work) const {
  if (auto there = still_there(); !there) return there;
  std::unique_ptr<Session> sql = take_reader();
  Status done = begin_anywhere(sql, where_, false, [&] { return connect_reader(); });
  if (done) done = guarded(where_, [&] { return work(*sql); });
  if (sql && !roll_back(*sql)) sql = nullptr;
  {
    const std::lock_guard lock(read_mutex_);
    readers_.push_back(std::move(sql));
  }
  readable_.notify_one();
  return done;
}

}  // namespace sluice::dbd
