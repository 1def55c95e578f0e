// Reading a SQLite store, inside the controller or beside it (tools): short transactions on an own
// connection, so that neither commits nor the cleaning of the write-ahead log wait for a reader.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>

#include "ctld/journal/sqlite_db.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::journal {

class SqliteReader : public JournalReader {
 public:
  // Opens the store in `folder`, which a controller may have open at the same time.
  static Result<std::unique_ptr<SqliteReader>> open(const std::filesystem::path& folder);

  const StoreInfo& info() const override { return info_; }
  Result<Sequence> first_sequence() override;
  Result<Sequence> last_sequence() override;
  Status read(Sequence from, const FrameVisitor& visit) override;
  Result<std::optional<Checkpoint>> load_latest_checkpoint() override;
  Result<std::string> blob(std::string_view key) override;
  Result<std::map<std::string, Sequence>> cursors() override;
  Result<OutboxBatch> outgoing(size_t records, size_t bytes) override;

  // Keys of the blobs whose last mention is not after `sequence`.
  Result<std::vector<std::string>> blobs_mentioned_until(Sequence sequence);

 private:
  SqliteReader(Database database, StoreInfo info)
      : database_(std::move(database)), info_(std::move(info)) {}
  // Adds up to a few hundred frames from `from` on; with an error, those before what cannot be
  // read.
  Status read_some(Sequence from, std::vector<Frame>& frames);

  std::mutex mutex_;  // guards database_
  Database database_;
  const StoreInfo info_;
};

// The last durable frame as `database` sees it: kept frames, or the checkpoint when all were
// trimmed.
Result<Sequence> last_sequence_in(Database& database);

// The start of the SHA-256 of `bytes`, kept beside them to notice damage.
std::string row_digest(std::string_view bytes);

}  // namespace sluice::journal
