// Journals of each format that ever landed still give the state they stood for. tests/corpus has a
// folder for each: journal.db, and state.json, the state after its last frame with every field.
//
// A folder is written once, when a format lands, and again when events or fields have landed that
// no journal of the format holds yet: format-1, format-1-2 and so on. From the root of the sources:
//   build/dev/tests/unit_journal --gtest_also_run_disabled_tests
//   --gtest_filter=Corpus.DISABLED_Write
#include <algorithm>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "common/wire/json.hpp"
#include "ctld/journal/event_codec.hpp"
#include "ctld/journal/recovery.hpp"
#include "ctld/journal/sqlite_schema.hpp"
#include "ctld/journal/sqlite_store.hpp"
#include "ctld/state/apply.hpp"
#include "ctld/state/core/invariants.hpp"
#include "unit/journal/event_maker.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::journal {
namespace {

using wire::Json;

const std::filesystem::path kCorpus = "tests/corpus";

SqliteOptions no_ballast() {
  SqliteOptions options;
  options.ballast_bytes = 0;
  return options;
}

// Everything in `wanted` is in `is`; later versions may add fields.
void expect_within(const Json& wanted, const Json& is, const std::string& where) {
  if (wanted.is_object() && is.is_object()) {
    for (const auto& [key, value] : wanted.items()) {
      if (is.contains(key)) expect_within(value, is[key], where + "." + key);
      else ADD_FAILURE() << where << "." << key << " is missing, it was " << value.dump();
    }
  } else if (wanted.is_array() && is.is_array() && wanted.size() == is.size()) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      expect_within(wanted[i], is[i], where + "[" + std::to_string(i) + "]");
    }
  } else {
    EXPECT_EQ(wanted.dump(), is.dump()) << where;
  }
}

Json full_json(const state::ClusterState& state) {
  return wire::to_json(state::make_image(state), wire::NoRender{}, wire::Defaults::kShown);
}

// A checkpoint of then does not hold what is only noted since.
state::ClusterState without_later_facts(state::ClusterState state) {
  std::vector<NodeId> nodes;
  state.nodes.for_each([&](const Node& node) { nodes.push_back(node.id); });
  for (const NodeId node : nodes) state.nodes.edit(node).undrained = kNoTime;
  std::vector<JobId> jobs;
  state.jobs.for_each([&](const Job& job) {
    if (job.array != nullptr && !job.array->cancelled.empty()) jobs.push_back(job.id);
  });
  for (const JobId id : jobs) {
    Job& job = state.jobs.edit(id);
    auto array = std::make_shared<ArrayInfo>(*job.array);
    array->cancelled.clear();
    job.array = std::move(array);
  }
  return state;
}

// Every frame from the first on gives the same state as the checkpoint and what came after.
void expect_replay_alone(JournalReader& reader, const state::ClusterState& wanted) {
  state::ClusterState state;
  const Status read = reader.read(1, [&](const Frame& frame) {
    const Result<state::Events> events = decode_frame(frame);
    EXPECT_TRUE(events) << events.error().text;
    for (const state::Event& event : *events) state::apply(state, event);
    return true;
  });
  EXPECT_TRUE(read);
  EXPECT_EQ(state::differences(without_later_facts(state), without_later_facts(wanted)),
            std::vector<std::string>());
}

TEST(Corpus, EveryFormatIsStillRead) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    // others are not journals
    if (!entry.path().filename().string().starts_with("format-")) continue;
    SCOPED_TRACE(entry.path());
    names.insert(entry.path().filename().string());
    const test::TempFolder temp;
    std::filesystem::copy_file(database_file(entry.path()), database_file(temp.path()));
    const Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(temp.path(), no_ballast());
    ASSERT_TRUE(store) << store.error().text;
    EXPECT_EQ((*store)->info().epoch, 2U);
    const Result<Recovered> recovered = recover(**store);
    ASSERT_TRUE(recovered) << recovered.error().text;
    EXPECT_GT(recovered->checkpoint, 0U);
    EXPECT_GT(recovered->replayed_events, 0U);
    expect_replay_alone(**store, recovered->state);
    const Json wanted = Json::parse(std::ifstream(entry.path() / "state.json"));
    expect_within(wanted, full_json(recovered->state), "state");
    for (const std::string& key : state::live_blobs(recovered->state)) {
      EXPECT_TRUE((*store)->blob(key));
    }
  }
  for (uint32_t format = 1; format <= std::max(kEventFormat, kStoreFormat); ++format) {
    EXPECT_TRUE(names.contains("format-" + std::to_string(format)))
        << format << " has no journal in tests/corpus";
  }
}

// The kinds of events that a life of `frames` frames does not reach.
std::set<std::string> missing_kinds(uint64_t seed, Sequence frames) {
  std::set<std::string> kinds;
  [&]<size_t... I>(std::index_sequence<I...>) {
    (kinds.insert(std::variant_alternative_t<I, state::AnyEvent>::kName), ...);
  }
  (std::make_index_sequence<std::variant_size_v<state::AnyEvent>>());
  test::EventMaker maker(seed);
  for (Sequence i = 0; i < frames; ++i) {
    for (const state::Event& event : maker.next()) kinds.erase(state::name_of(event));
  }
  return kinds;
}

TEST(Corpus, TheMakerMakesEveryKindOfEvent) {
  std::set<std::string> missing = missing_kinds(1, 400);
  for (uint64_t seed = 2; seed <= 8; ++seed) {
    const std::set<std::string> also = missing_kinds(seed, 400);
    std::erase_if(missing, [&](const std::string& kind) { return !also.contains(kind); });
  }
  EXPECT_EQ(missing, std::set<std::string>())
      << "no journal that is written for tests/corpus would hold it";
}

// A landed corpus is never written again: the first folder of the present format that is not there.
std::filesystem::path next_folder() {
  const std::string format = "format-" + std::to_string(std::max(kEventFormat, kStoreFormat));
  std::filesystem::path folder = kCorpus / format;
  for (int number = 2; std::filesystem::exists(folder); ++number)
    folder = kCorpus / (format + "-" + std::to_string(number));
  return folder;
}

TEST(Corpus, DISABLED_Write) {
  const std::filesystem::path folder = next_folder();
  constexpr Sequence kFrames = 400;
  constexpr uint64_t kSeeds = 1000;
  uint64_t seed = 1;
  while (seed < kSeeds && !missing_kinds(seed, kFrames).empty()) ++seed;
  ASSERT_EQ(missing_kinds(seed, kFrames), std::set<std::string>());
  test::EventMaker maker(seed);
  {
    auto store = SqliteStore::open(folder, no_ballast()).value();
    for (Sequence sequence = 1; sequence <= kFrames; ++sequence) {
      FrameGroup group;
      const state::Events events = maker.next();
      group.frames.push_back(encode_frame(sequence, maker.now(), events));
      group.blobs = maker.take_blobs();
      ASSERT_TRUE(store->append(group));
      if (sequence != kFrames / 2) continue;
      // a reader keeps the older frames
      ASSERT_TRUE(store->set_cursor("corpus", 0));
      ASSERT_TRUE(store->checkpoint(make_checkpoint(maker.state(), sequence, maker.now())));
    }
  }
  std::ofstream(folder / "state.json") << full_json(maker.state()).dump() << "\n";
  for (const char* part : {"lock", "journal.db-shm", "journal.db-wal"})
    std::filesystem::remove(folder / part);
}

}  // namespace
}  // namespace sluice::journal
