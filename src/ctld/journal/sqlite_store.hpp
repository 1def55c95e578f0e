// The journal's default store: one SQLite file (write-ahead log, synchronous=FULL) in a folder of
// its own, with the lock and the ballast of state_folder.hpp beside it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

#include "ctld/journal/sqlite_reader.hpp"
#include "ctld/journal/state_folder.hpp"
#include "ctld/journal/store.hpp"

namespace sluice::journal {

inline constexpr uint64_t kUsualBallast = uint64_t{16} << 20;
// What has to be free for new work to be taken again once the ballast was used: the ballast, and as
// much for the work.
inline constexpr uint64_t kRoomWanted = 2 * kUsualBallast;

struct SqliteOptions {
  uint64_t ballast_bytes = kUsualBallast;
  // How many frames older than the checkpoint are kept at most for a reader that lags.
  uint64_t max_frames_for_readers = 10'000'000;
  StoreIdentity identity;  // of a store that is made
};

class SqliteStore final : public JournalStore {
 public:
  // Makes the folder and the store when they are missing. Errors (in use, damaged, of a newer
  // format, no room) come with a text for the administrator.
  static Result<std::unique_ptr<SqliteStore>> open(const std::filesystem::path& folder,
                                                   const SqliteOptions& options = {});

  const StoreInfo& info() const override { return reader_->info(); }
  Result<Sequence> first_sequence() override { return reader_->first_sequence(); }
  Result<Sequence> last_sequence() override { return reader_->last_sequence(); }
  Status read(Sequence from, const FrameVisitor& visit) override {
    return reader_->read(from, visit);
  }
  Result<std::optional<Checkpoint>> load_latest_checkpoint() override {
    return reader_->load_latest_checkpoint();
  }
  Result<std::string> blob(std::string_view key) override { return reader_->blob(key); }
  Result<std::map<std::string, Sequence>> cursors() override { return reader_->cursors(); }

  Result<Sequence> append(const FrameGroup& group) override;
  Status checkpoint(const Checkpoint& checkpoint) override;
  Result<OutboxBatch> outgoing(size_t records, size_t bytes) override {
    return reader_->outgoing(records, bytes);
  }
  Status remove_outgoing(Sequence last) override;
  uint64_t outgoing_count() const override { return outgoing_; }
  std::string outgoing_stream() override;
  bool outgoing_checked() const override { return outgoing_checked_; }
  Result<bool> check_outgoing(uint64_t known) override;
  Status set_cursor(const std::string& reader, Sequence sequence) override;
  Status remove_cursor(const std::string& reader) override;
  uint64_t appended_bytes() const override { return appended_bytes_; }
  bool low_on_room() const override { return low_on_room_; }
  Status still_there() override;
  void regain_reserve() override;

  // Tests: behaves as if the disk had `pages` pages of 4096 bytes, ballast included. 0: no limit.
  Status limit_disk(uint32_t pages);

 private:
  // Lets one thread at the writing connection, those that append first.
  class Turn;

  SqliteStore(FolderLock lock, Ballast ballast, const SqliteOptions& options);
  Status open_database(const std::filesystem::path& folder);
  Status write_group(const FrameGroup& group);
  Status write_blob(const Blob& blob, Sequence mentioned);
  // One transaction of the slow kind, between two commits.
  Status slice(const std::function<Status(Database&)>& work);
  Status write_checkpoint(const Checkpoint& checkpoint);
  Status write_parts(const Checkpoint& checkpoint);
  // Of an attempt that was cut short or found no room.
  Status remove_loose_parts();
  Status sweep_blobs(const Checkpoint& checkpoint);
  Status trim_frames(Sequence checkpointed);
  Status apply_disk_limit();
  bool release_ballast();

  const SqliteOptions options_;
  const FolderLock lock_;

  std::mutex turn_mutex_;
  std::condition_variable turn_changed_;
  bool writing_ = false;       // guarded by turn_mutex_
  int waiting_to_append_ = 0;  // guarded by turn_mutex_

  // All below belong to whoever has the turn.
  Ballast ballast_;
  std::unique_ptr<Database> database_;
  std::filesystem::path file_;  // this one and the next belong to all, and do not change
  uint64_t inode_ = 0;
  std::optional<Sequence> last_;  // not known after a failed commit
  uint32_t disk_limit_pages_ = 0;

  std::string outgoing_stream_;         // guarded by stream_mutex_
  std::atomic<uint64_t> outgoing_ = 0;  // how many wait in the outbox

  std::atomic<bool> low_on_room_ = false;
  std::atomic<uint64_t> appended_bytes_ = 0;
  std::unique_ptr<SqliteReader> reader_;
  std::mutex stream_mutex_;
  std::atomic<bool> outgoing_checked_ = false;
};

}  // namespace sluice::journal
