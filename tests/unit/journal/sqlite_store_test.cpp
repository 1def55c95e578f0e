// The SQLite store: what is durable comes back, and everything that can be wrong is said clearly.
#include "ctld/journal/sqlite_store.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "common/os/read_file.hpp"
#include "ctld/journal/blob_key.hpp"
#include "ctld/journal/sqlite_schema.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::journal {
namespace {

using test::TempFolder;

SqliteOptions small_options() {
  SqliteOptions options;
  options.ballast_bytes = uint64_t{64} << 10;
  return options;
}

std::unique_ptr<SqliteStore> open_store(const std::filesystem::path& folder,
                                        const SqliteOptions& options = small_options()) {
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(folder, options);
  if (!store) throw std::runtime_error(store.error().text);
  return std::move(*store);
}

std::string open_error(const std::filesystem::path& folder) {
  const Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(folder, small_options());
  return store ? "" : store.error().text;
}

Frame frame(Sequence sequence, std::string bytes = {}) {
  if (bytes.empty()) bytes = "frame " + std::to_string(sequence);
  return {sequence, 0, from_seconds(static_cast<int64_t>(1000 + sequence)), std::move(bytes)};
}

FrameGroup frames(Sequence first, Sequence last) {
  FrameGroup group;
  for (Sequence s = first; s <= last; ++s) group.frames.push_back(frame(s));
  return group;
}

Blob blob(const std::string& bytes) { return {blob_key(bytes), bytes}; }

std::vector<Frame> read_all(JournalReader& reader, Sequence from) {
  std::vector<Frame> found;
  const Status done = reader.read(from, [&](const Frame& one) {
    found.push_back(one);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text;
  return found;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The bug: numbers that an older copy gave again were taken for repeats.
TEST(SqliteStore, AnOlderCopyBeginsAnotherStream) {
  const TempFolder temp;
  const auto tell = [](SqliteStore& store, Sequence frame) {
    FrameGroup group = frames(frame, frame);
    group.outgoing = {"record"};
    ASSERT_TRUE(store.append(group));
  };
  std::string stream;
  {
    const auto store = open_store(temp / "state");
    stream = store->outgoing_stream();
    EXPECT_FALSE(store->outgoing_checked());
    EXPECT_FALSE(store->check_outgoing(0).value());
    EXPECT_TRUE(store->outgoing_checked());
    for (const Sequence one : {1, 2, 3}) tell(*store, one);
    ASSERT_TRUE(store->remove_outgoing(3));
  }
  {
    const auto store = open_store(temp / "state");
    EXPECT_FALSE(store->check_outgoing(3).value()) << "it has what was sent";
    EXPECT_EQ(store->outgoing_stream(), stream);
  }
  {
    const auto store = open_store(temp / "state");
    for (const Sequence one : {4, 5, 6}) tell(*store, one);  // nobody was there to ask
  }
  const auto store = open_store(temp / "state");
  EXPECT_TRUE(store->check_outgoing(5).value()) << "4 and 5 were given before";
  EXPECT_NE(store->outgoing_stream(), stream);
  EXPECT_EQ(store->outgoing_count(), 3U);
}

TEST(SqliteStore, FramesComeBackInOrderAfterReopening) {
  const TempFolder temp;
  std::string cluster_id;
  {
    const auto store = open_store(temp / "state");
    cluster_id = store->info().cluster_id;
    EXPECT_EQ(store->info().epoch, 1U);
    EXPECT_EQ(cluster_id.size(), 36U);
    EXPECT_EQ(store->append(frames(1, 1500)).value(), 1500U);
  }
  const auto store = open_store(temp / "state");
  EXPECT_EQ(store->info().epoch, 2U);
  EXPECT_EQ(store->info().cluster_id, cluster_id);
  EXPECT_EQ(store->append(frames(1501, 1502)).value(), 1502U);
  const std::vector<Frame> found = read_all(*store, 1);
  ASSERT_EQ(found.size(), 1502U);
  EXPECT_EQ(found[0].bytes, "frame 1");
  EXPECT_EQ(found[0].time, from_seconds(1001));
  EXPECT_EQ(found[1499].epoch, 1U);
  EXPECT_EQ(found[1500].epoch, 2U);
  EXPECT_EQ(found[1501].sequence, 1502U);
  EXPECT_EQ(read_all(*store, 1502).size(), 1U);
  EXPECT_EQ(read_all(*store, 1503).size(), 0U);
}

TEST(SqliteStore, FramesMustFollowWithoutGap) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  ASSERT_TRUE(store->append(frames(1, 3)));
  EXPECT_FALSE(store->append(frames(5, 5)));
  EXPECT_FALSE(store->append(frames(3, 4)));
  EXPECT_EQ(store->append(frames(4, 4)).value(), 4U);
}

TEST(SqliteStore, EmptyFrameAndBlobAreKept) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  FrameGroup group;
  group.frames.push_back({1, 0, kNoTime, ""});
  group.blobs.push_back(blob(""));
  ASSERT_TRUE(store->append(group));
  EXPECT_EQ(read_all(*store, 1).at(0).bytes, "");
  EXPECT_EQ(store->blob(blob_key("")).value(), "");
}

// SQLite looks at its own structure alone: a script that was changed on the disk would run.
TEST(SqliteStore, ABlobThatWasChangedOnTheDiskIsRefused) {
  const TempFolder temp;
  const std::string script = "#!/bin/sh\nsleep 1\n";
  FrameGroup group = frames(1, 1);
  group.blobs.push_back(blob(script));
  ASSERT_TRUE(open_store(temp.path())->append(group));
  const std::string file = (temp / "journal.db").string();
  std::string bytes = read_file(file).value();
  const size_t at = bytes.find("sleep 1");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 7, "exit 77");
  std::ofstream(file, std::ios::binary) << bytes;
  const auto read = open_store(temp.path())->blob(blob_key(script));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kDamaged);
}

// What a kill -9 leaves: the files as they are at some moment, the log not folded in.
TEST(SqliteStore, FilesCopiedWhileOpenHoldEveryDurableFrame) {
  const TempFolder temp;
  const auto store = open_store(temp / "state");
  ASSERT_TRUE(store->append(frames(1, 10)));
  ASSERT_TRUE(store->checkpoint({5, from_seconds(1), "state at 5", {}}));
  ASSERT_TRUE(store->append(frames(11, 20)));
  std::filesystem::create_directory(temp / "copy");
  for (const char* name : {"journal.db", "journal.db-wal"}) {
    std::filesystem::copy_file(temp / "state" / name, temp / "copy" / name);
  }
  const auto copy = open_store(temp / "copy");
  EXPECT_EQ(copy->load_latest_checkpoint().value()->bytes, "state at 5");
  EXPECT_EQ(read_all(*copy, 6).size(), 15U);
}

TEST(SqliteStore, HalfWrittenCommitIsNotThere) {
  const TempFolder temp;
  const auto store = open_store(temp / "state");
  ASSERT_TRUE(store->append(frames(1, 10)));
  std::filesystem::create_directory(temp / "copy");
  const auto log_before = std::filesystem::file_size(temp / "state" / "journal.db-wal");
  ASSERT_TRUE(store->append(frames(11, 200)));
  for (const char* name : {"journal.db", "journal.db-wal"}) {
    std::filesystem::copy_file(temp / "state" / name, temp / "copy" / name);
  }
  std::filesystem::resize_file(temp / "copy" / "journal.db-wal", log_before + 5000);
  const auto copy = open_store(temp / "copy");
  EXPECT_EQ(copy->last_sequence().value(), 10U);
  EXPECT_EQ(copy->append(frames(11, 11)).value(), 11U);
}

TEST(SqliteStore, CheckpointTrimsFramesAndIsReplaced) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  ASSERT_TRUE(store->append(frames(1, 5000)));
  EXPECT_FALSE(store->load_latest_checkpoint().value().has_value());
  const std::string large(3'500'000, 'x');
  ASSERT_TRUE(store->checkpoint({4500, from_seconds(9), large, {}}));
  const std::optional<Checkpoint> found = store->load_latest_checkpoint().value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sequence, 4500U);
  EXPECT_EQ(found->time, from_seconds(9));
  EXPECT_EQ(found->bytes, large);
  EXPECT_EQ(store->first_sequence().value(), 4501U);
  EXPECT_EQ(store->read(4500, [](const Frame&) { return true; }).error().code,
            ErrorCode::kNotFound);
  ASSERT_TRUE(store->checkpoint({5000, from_seconds(10), "small", {}}));
  EXPECT_EQ(store->load_latest_checkpoint().value()->bytes, "small");
  EXPECT_EQ(store->first_sequence().value(), 5001U);
  EXPECT_EQ(store->last_sequence().value(), 5000U);
  EXPECT_EQ(store->append(frames(5001, 5001)).value(), 5001U);
}

TEST(SqliteStore, ReaderCursorHoldsFramesUpToTheCap) {
  const TempFolder temp;
  SqliteOptions options = small_options();
  options.max_frames_for_readers = 50;
  const auto store = open_store(temp.path(), options);
  ASSERT_TRUE(store->append(frames(1, 100)));
  ASSERT_TRUE(store->set_cursor("dbd", 30));
  ASSERT_TRUE(store->checkpoint({60, kNoTime, "a", {}}));
  EXPECT_EQ(store->first_sequence().value(), 31U);
  ASSERT_TRUE(store->checkpoint({100, kNoTime, "b", {}}));
  EXPECT_EQ(store->first_sequence().value(), 51U);
  EXPECT_EQ(store->cursors().value().at("dbd"), 30U);
  ASSERT_TRUE(store->remove_cursor("dbd"));
  ASSERT_TRUE(store->append(frames(101, 101)));
  ASSERT_TRUE(store->checkpoint({101, kNoTime, "c", {}}));
  EXPECT_EQ(store->first_sequence().value(), 102U);
}

TEST(SqliteStore, SameBlobIsKeptOnceAndGoesWhenNothingNeedsIt) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  const std::string script(10'000, 's');
  for (Sequence s = 1; s <= 50; ++s) {
    FrameGroup group = frames(s, s);
    group.blobs = {blob(script), blob("environment " + std::to_string(s))};
    ASSERT_TRUE(store->append(group));
  }
  EXPECT_EQ(store->blob(blob_key(script)).value(), script);
  EXPECT_LT(std::filesystem::file_size(temp / "journal.db-wal"), 50 * script.size() * 4);
  const std::vector<std::string> live = {blob_key("environment 7"), blob_key("environment 7")};
  ASSERT_TRUE(store->checkpoint({40, kNoTime, "state", live}));
  EXPECT_TRUE(store->blob(blob_key("environment 7")));
  EXPECT_EQ(store->blob(blob_key("environment 8")).error().code, ErrorCode::kNotFound);
  // mentioned by later frames
  EXPECT_TRUE(store->blob(blob_key("environment 41")));
  EXPECT_EQ(store->blob(blob_key(script)).value(), script);
  ASSERT_TRUE(store->checkpoint({50, kNoTime, "state", std::vector<std::string>{}}));
  EXPECT_FALSE(store->blob(blob_key(script)));
}

TEST(SqliteStore, TwoControllersCannotShareAFolder) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  const std::string error = open_error(temp.path());
  EXPECT_TRUE(contains(error, "in use by process " + std::to_string(getpid()))) << error;
}

TEST(SqliteStore, ReaderBesideARunningControllerSeesItsFrames) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  ASSERT_TRUE(store->append(frames(1, 2)));
  const auto reader = SqliteReader::open(temp.path()).value();
  EXPECT_EQ(read_all(*reader, 1).size(), 2U);
  ASSERT_TRUE(store->append(frames(3, 3)));
  EXPECT_EQ(read_all(*reader, 3).size(), 1U);
  EXPECT_EQ(reader->info().epoch, 1U);
}

TEST(SqliteStore, NewerFormatAndForeignFilesAreRefused) {
  const TempFolder temp;
  { open_store(temp / "newer"); }
  {
    Database database =
        Database::open(database_file(temp / "newer"), Database::Mode::kReadWrite).value();
    ASSERT_TRUE(database.script("PRAGMA user_version = 99"));
  }
  std::string error = open_error(temp / "newer");
  EXPECT_TRUE(contains(error, "format 99")) << error;

  std::filesystem::create_directory(temp / "foreign");
  {
    Database database =
        Database::open(database_file(temp / "foreign"), Database::Mode::kCreate).value();
    ASSERT_TRUE(database.script("CREATE TABLE a(b)"));
  }
  error = open_error(temp / "foreign");
  EXPECT_TRUE(contains(error, "is not a Sluice journal")) << error;
}

TEST(SqliteStore, DamageIsNamedWithTheFile) {
  const TempFolder temp;
  std::filesystem::create_directory(temp / "garbage");
  std::ofstream(temp / "garbage" / "journal.db") << std::string(8192, 'g');
  std::string error = open_error(temp / "garbage");
  EXPECT_TRUE(contains(error, "garbage/journal.db is damaged")) << error;

  {
    const auto store = open_store(temp / "cut");
    FrameGroup group;
    for (Sequence s = 1; s <= 100; ++s) group.frames.push_back(frame(s, std::string(3000, 'c')));
    ASSERT_TRUE(store->append(group));
  }
  std::filesystem::resize_file(temp / "cut" / "journal.db", 150'000);
  const Result<std::unique_ptr<SqliteStore>> cut = SqliteStore::open(temp / "cut", small_options());
  error = cut ? (*cut)->read(1, [](const Frame&) { return true; }).error().text : cut.error().text;
  EXPECT_TRUE(contains(error, "cut/journal.db is damaged")) << error;
}

TEST(SqliteStore, FlippedBitInAFrameIsNoticed) {
  const TempFolder temp;
  {
    const auto store = open_store(temp.path());
    ASSERT_TRUE(store->append(frames(1, 3)));
  }
  {
    Database database =
        Database::open(database_file(temp.path()), Database::Mode::kReadWrite).value();
    ASSERT_TRUE(database.script("UPDATE frame SET bytes = x'00' WHERE sequence = 2"));
  }
  const auto store = open_store(temp.path());
  const Status read = store->read(1, [](const Frame&) { return true; });
  ASSERT_FALSE(read);
  EXPECT_TRUE(contains(read.error().text, "frame 2 has a wrong checksum")) << read.error().text;
  // the bug: it said "not an error", and told to rebuild the file, which keeps what is wrong
  EXPECT_TRUE(contains(read.error().text, "is damaged (database disk image is malformed)"))
      << read.error().text;
  EXPECT_TRUE(contains(read.error().text, "sluice restore FOLDER")) << read.error().text;
}

// What was written into a file without a name was acknowledged, and lost at the end.
TEST(SqliteStore, AStoreThatWasRemovedTakesNothingUntilItIsBack) {
  const TempFolder folder, other;
  const auto place = folder / "state";
  const auto store = open_store(place);
  ASSERT_TRUE(store->append(frames(1, 1)));
  std::filesystem::rename(place, other / "away");
  for (int replaced = 0; replaced < 2; ++replaced) {
    const Result<Sequence> done = store->append(frames(2, 2));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kRetry);
    EXPECT_TRUE(contains(done.error().text, place.string())) << done.error().text;
    EXPECT_FALSE(store->still_there());
    if (replaced == 0) (void)open_store(place);
  }
  std::filesystem::remove_all(place);
  std::filesystem::rename(other / "away", place);
  EXPECT_TRUE(store->still_there());
  EXPECT_TRUE(store->append(frames(2, 2)));
  EXPECT_EQ(read_all(*store, 1).size(), 2U);
}

TEST(SqliteStore, FullDiskFirstUsesTheBallastAndGoesOnWhenRoomIsBack) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  ASSERT_TRUE(store->limit_disk(60));
  EXPECT_FALSE(store->low_on_room());
  Sequence last = 0;
  const auto append = [&] {
    FrameGroup group;
    group.frames.push_back(frame(last + 1, std::string(4000, 'f')));
    Result<Sequence> done = store->append(group);
    if (done) last = *done;
    return done;
  };
  while (!store->low_on_room()) ASSERT_TRUE(append());
  const Sequence when_low = last;
  Result<Sequence> done = append();
  while (done) done = append();
  EXPECT_EQ(done.error().code, ErrorCode::kStorageFull);
  EXPECT_GE(last, when_low + 10) << "the ballast's room was used";
  store->regain_reserve();
  EXPECT_TRUE(store->low_on_room());
  ASSERT_TRUE(store->limit_disk(600));
  ASSERT_TRUE(append());
  EXPECT_TRUE(store->low_on_room());
  store->regain_reserve();
  EXPECT_FALSE(store->low_on_room());
  EXPECT_EQ(read_all(*store, 1).size(), last);
}

// What ends could not be written until the next checkpoint was tried.
TEST(SqliteStore, ACheckpointThatFindsNoRoomTakesNone) {
  const TempFolder temp;
  const auto store = open_store(temp.path());
  ASSERT_TRUE(store->append(frames(1, 2)));
  ASSERT_TRUE(store->limit_disk(1000));
  const Status taken = store->checkpoint({2, kNoTime, std::string(size_t{8} << 20, 's'), {}});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kStorageFull);
  FrameGroup group;
  for (Sequence s = 3; s <= 500; ++s) group.frames.push_back(frame(s, std::string(4000, 'f')));
  const Result<Sequence> done = store->append(group);
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_FALSE(store->load_latest_checkpoint().value().has_value());
}

}  // namespace
}  // namespace sluice::journal
