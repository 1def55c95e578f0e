// Queries of the SQLite store.
#include "ctld/journal/sqlite_reader.hpp"

#include <fmt/format.h>

#include "ctld/journal/blob_key.hpp"
#include "ctld/journal/sqlite_outbox.hpp"
#include "ctld/journal/sqlite_schema.hpp"

namespace sluice::journal {

namespace {

constexpr size_t kDigestBytes = 8;
constexpr size_t kFramesAtOnce = 512;
constexpr size_t kBytesAtOnce = size_t{4} << 20;

Error damaged(const Database& database, const std::string& what) {
  Error error = database.error(SQLITE_CORRUPT);
  error.text = fmt::format("{}: {}", what, error.text);
  return error;
}

}  // namespace

std::string row_digest(std::string_view bytes) { return blob_key(bytes).substr(0, kDigestBytes); }

Result<Sequence> last_sequence_in(Database& database) {
  const Result<int64_t> last = database.integer(
      "SELECT max(ifnull((SELECT max(sequence) FROM frame), 0), "
      "ifnull((SELECT max(sequence) FROM checkpoint), 0))",
      0);
  if (!last) return tl::unexpected(last.error());
  return static_cast<Sequence>(*last);
}

Result<std::unique_ptr<SqliteReader>> SqliteReader::open(const std::filesystem::path& folder) {
  const std::filesystem::path file = database_file(folder);
  std::error_code unknown;
  // whoever opened a pipe would wait for its other end
  if (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown))
    return failure(fmt::format("{} is no file", file.string()));
  Result<Database> database = Database::open(file, Database::Mode::kReadOnly);
  if (!database) return tl::unexpected(database.error());
  const Status known = check_format(*database);
  if (!known) return tl::unexpected(known.error());
  Result<StoreInfo> info = load_info(*database);
  if (!info) return tl::unexpected(info.error());
  return std::unique_ptr<SqliteReader>(new SqliteReader(std::move(*database), std::move(*info)));
}

Result<Sequence> SqliteReader::first_sequence() {
  const std::lock_guard lock(mutex_);
  const Result<int64_t> first = database_.integer("SELECT min(sequence) FROM frame", 0);
  if (!first) return tl::unexpected(first.error());
  if (*first > 0) return static_cast<Sequence>(*first);
  return last_sequence_in(database_).map([](Sequence last) { return last + 1; });
}

Result<OutboxBatch> SqliteReader::outgoing(size_t records, size_t bytes) {
  const std::lock_guard lock(mutex_);
  return read_outgoing(database_, records, bytes);
}

Result<Sequence> SqliteReader::last_sequence() {
  const std::lock_guard lock(mutex_);
  return last_sequence_in(database_);
}

Status SqliteReader::read_some(Sequence from, std::vector<Frame>& frames) {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  Status result;
  const Status done = database_.query(
      "SELECT sequence, epoch, time, bytes, digest FROM frame WHERE sequence >= ? ORDER BY "
      "sequence",
      [&](const Row& row) {
        Frame frame{row.number(0), row.number(1), Time(Duration(row.integer(2))),
                    std::string(row.bytes(3))};
        const Sequence wanted = from + frames.size();
        if (frame.sequence != wanted) {
          result =
              frames.empty()
                  ? failure(ErrorCode::kNotFound,
                            fmt::format("frame {} was removed from the journal {} already", from,
                                        database_.file().string()))
                  : tl::unexpected(damaged(database_, fmt::format("frame {} is missing", wanted)));
          return false;
        }
        if (row.bytes(4) != row_digest(frame.bytes)) {
          result = tl::unexpected(
              damaged(database_, fmt::format("frame {} has a wrong checksum", wanted)));
          return false;
        }
        bytes += frame.bytes.size();
        frames.push_back(std::move(frame));
        return frames.size() < kFramesAtOnce && bytes < kBytesAtOnce;
      },
      from);
  return done ? result : done;
}

Status SqliteReader::read(Sequence from, const FrameVisitor& visit) {
  for (Sequence next = from;;) {
    std::vector<Frame> frames;
    Status done = read_some(next, frames);
    for (const Frame& frame : frames) {  // those before a damaged one are good
      if (!visit(frame)) return {};
    }
    if (!done || frames.empty()) return done;
    next += frames.size();
  }
}

Result<std::optional<Checkpoint>> SqliteReader::load_latest_checkpoint() {
  const std::lock_guard lock(mutex_);
  std::optional<Checkpoint> found;
  std::string digest;
  size_t size = 0;
  // in one statement: a controller beside this reader may replace it at any time
  const Status done = database_.query(
      "SELECT c.sequence, c.time, c.size, c.digest, p.bytes FROM checkpoint AS c "
      "LEFT JOIN checkpoint_part AS p ON p.sequence = c.sequence "
      "WHERE c.sequence = (SELECT max(sequence) FROM checkpoint) ORDER BY p.part",
      [&](const Row& row) {
        if (!found) {
          found = Checkpoint{row.number(0), Time(Duration(row.integer(1))), {}, {}};
          size = static_cast<size_t>(row.number(2));
          digest = row.bytes(3);
        }
        found->bytes += row.bytes(4);
        return true;
      });
  if (!done) return tl::unexpected(done.error());
  if (!found) return found;
  if (found->bytes.size() != size || row_digest(found->bytes) != digest) {
    return tl::unexpected(
        damaged(database_,
                fmt::format("the checkpoint of frame {} has a wrong checksum", found->sequence)));
  }
  return found;
}

Result<std::string> SqliteReader::blob(std::string_view key) {
  const std::lock_guard lock(mutex_);
  std::optional<std::string> found;
  const Status done = database_.query(
      "SELECT b.bytes FROM blob AS k JOIN blob_bytes AS b ON b.id = k.id WHERE k.key = ?",
      [&](const Row& row) {
        found = row.bytes(0);
        return false;
      },
      Bytes{key});
  if (!done) return tl::unexpected(done.error());
  if (!found) return failure(ErrorCode::kNotFound, "the journal holds no such blob");
  if (blob_key(*found) != key)
    return failure(ErrorCode::kDamaged, "a script or an environment in the journal is damaged");
  return std::move(*found);
}

Result<std::map<std::string, Sequence>> SqliteReader::cursors() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Sequence> found;
  const Status done = database_.query("SELECT reader, sequence FROM cursor", [&](const Row& row) {
    found.emplace(row.bytes(0), row.number(1));
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  return found;
}

Result<std::vector<std::string>> SqliteReader::blobs_mentioned_until(Sequence sequence) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  const Status done = database_.query(
      "SELECT key FROM blob WHERE mentioned <= ?",
      [&](const Row& row) {
        found.emplace_back(row.bytes(0));
        return true;
      },
      sequence);
  if (!done) return tl::unexpected(done.error());
  return found;
}

}  // namespace sluice::journal
