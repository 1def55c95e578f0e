#include "dbd/store/database.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "dbd/store/migrations.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kReaders = 6;
constexpr int kBusySeconds = 10;  // another process (a backup) may have it so long

Error error_of(const std::string& path, const soci::sqlite3_soci_error& thrown) {
  switch (thrown.result() & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return {ErrorCode::kStorageFull,
              fmt::format("{}: the disk is full, or cannot be written", path)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kRetry, fmt::format("{}: another process has it locked", path)};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kDamaged,
              fmt::format("{} is damaged, or no database: move it away, or put a copy back", path)};
    case SQLITE_CANTOPEN: return {ErrorCode::kError, fmt::format("{}: cannot be opened", path)};
    case SQLITE_READONLY:
      return {ErrorCode::kError, fmt::format("{}: cannot be written by this user", path)};
    default: return {ErrorCode::kError, fmt::format("{}: {}", path, thrown.what())};
  }
}

// `work`, with what is thrown as an error.
Status guarded(const std::string& path, const std::function<Status()>& work) {
  try {
    return work();
  } catch (const soci::sqlite3_soci_error& thrown) {
    return tl::unexpected<Error>(error_of(path, thrown));
  } catch (const std::exception& thrown) {
    return failure(fmt::format("{}: {}", path, thrown.what()));
  }
}

void roll_back(soci::session& sql) {
  try {
    sql << "ROLLBACK";
  } catch (const std::exception&) {  // SQLite did by itself
  }
}

std::unique_ptr<soci::session> connect(const std::string& path) {
  auto sql = std::make_unique<soci::session>(
      soci::sqlite3, fmt::format("db=\"{}\" timeout={} nocreate=1", path, kBusySeconds));
  *sql << "PRAGMA foreign_keys = ON";
  *sql << "PRAGMA temp_store = MEMORY";
  return sql;
}

Status make_private_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return failure(fmt::format("cannot open {}: {}", path, errno_text(errno)));
  ::close(fd);
  return {};
}

}  // namespace

Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  if (path.find('"') != std::string::npos)
    return failure(ErrorCode::kInvalidConfig, fmt::format("{}: a path with quotes", path));
  if (auto ok = make_private_file(path); !ok) return tl::unexpected(ok.error());
  std::unique_ptr<Database> database(new Database(path));
  if (auto ok = database->open_sessions(); !ok) return tl::unexpected(ok.error());
  return database;
}

Status Database::open_sessions() {
  auto opened = guarded(path_, [&]() -> Status {
    writer_ = connect(path_);
    *writer_ << "PRAGMA journal_mode = WAL";
    *writer_ << "PRAGMA synchronous = FULL";
    *writer_ << "PRAGMA wal_autocheckpoint = 4096";
    *writer_ << "PRAGMA journal_size_limit = 67108864";
    *writer_ << "PRAGMA cache_size = -65536";
    return {};
  });
  if (!opened) return opened;
  if (auto ok = write(migrate); !ok) return ok;
  return guarded(path_, [&]() -> Status {
    for (size_t i = 0; i < kReaders; ++i) {
      readers_.push_back(connect(path_));
      *readers_.back() << "PRAGMA query_only = ON";
    }
    return {};
  });
}

Status Database::write(const Work& work) {
  const std::lock_guard lock(write_mutex_);
  bool began = false;
  Status done = guarded(path_, [&] {
    *writer_ << "BEGIN IMMEDIATE";
    began = true;
    Status worked = work(*writer_);
    if (worked) *writer_ << "COMMIT";
    return worked;
  });
  if (!done && began) roll_back(*writer_);
  return done;
}

Status Database::read(const Work& work) const {
  std::unique_ptr<soci::session> sql;
  {
    std::unique_lock lock(read_mutex_);
    readable_.wait(lock, [&] { return !readers_.empty(); });
    sql = std::move(readers_.back());
    readers_.pop_back();
  }
  Status done = guarded(path_, [&] {
    *sql << "BEGIN";
    return work(*sql);
  });
  roll_back(*sql);
  {
    const std::lock_guard lock(read_mutex_);
    readers_.push_back(std::move(sql));
  }
  readable_.notify_one();
  return done;
}

}  // namespace sluice::dbd
