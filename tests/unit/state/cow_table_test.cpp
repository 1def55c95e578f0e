// CowTable and CowIdSet against plain containers, with snapshots that must not change.
#include "ctld/state/core/cow_table.hpp"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "common/wire/codec.hpp"
#include "ctld/state/core/cow_id_set.hpp"
#include "ctld/state/decide.hpp"

namespace sluice::state {
namespace {

std::map<uint32_t, int> content(const CowTable<int>& table) {
  std::map<uint32_t, int> out;
  for (uint32_t id = table.next_id(0); id != CowTable<int>::kNone; id = table.next_id(id + 1)) {
    out[id] = table.at(id);
  }
  return out;
}

TEST(CowTable, BehavesAsAMapAndSnapshotsStay) {
  std::mt19937 random(7);
  CowTable<int> table;
  std::map<uint32_t, int> model;
  std::vector<std::pair<CowTable<int>, std::map<uint32_t, int>>> snapshots;
  for (int round = 0; round < 20000; ++round) {
    const auto id =
        static_cast<uint32_t>(random() % 3 == 0 ? random() % 400000 : 100000 + random() % 300);
    const int value = static_cast<int>(random());
    if (random() % 3 == 0) {
      EXPECT_EQ(table.erase(id), model.erase(id) == 1);
    } else {
      table.edit_or_insert(id) = value;
      model[id] = value;
    }
    if (round % 2000 == 0) snapshots.emplace_back(table, model);
  }
  EXPECT_EQ(table.size(), model.size());
  EXPECT_EQ(content(table), model);
  for (const auto& [copy, as_it_was] : snapshots) EXPECT_EQ(content(copy), as_it_was);
  while (table.next_id(0) != CowTable<int>::kNone) table.erase(table.next_id(0));
  EXPECT_TRUE(table.empty());
}

TEST(CowTable, VisitsInOrderOfIds) {
  CowTable<int> table;
  for (const uint32_t id : {70000U, 5U, 4096U, 63U, 64U}) table.insert(id, static_cast<int>(id));
  std::vector<int> seen;
  table.for_each([&](int value) { seen.push_back(value); });
  EXPECT_EQ(seen, (std::vector<int>{5, 63, 64, 4096, 70000}));
}

TEST(CowIdSet, BehavesAsASet) {
  std::mt19937 random(11);
  CowIdSet ids;
  std::set<uint32_t> model;
  CowIdSet snapshot;
  std::set<uint32_t> as_it_was;
  for (int round = 0; round < 20000; ++round) {
    const auto id = static_cast<uint32_t>(random() % 20000);
    if (random() % 2 == 0) EXPECT_EQ(ids.insert(id), model.insert(id).second);
    else EXPECT_EQ(ids.erase(id), model.erase(id) == 1);
    if (round == 10000) snapshot = ids, as_it_was = model;
  }
  const auto listed = [](const CowIdSet& set) {
    std::set<uint32_t> out;
    set.for_each([&](uint32_t id) { out.insert(id); });
    return out;
  };
  EXPECT_EQ(listed(ids), model);
  EXPECT_EQ(listed(snapshot), as_it_was);
}

TEST(Events, SurviveTheCodec) {
  JobStarted started;
  started.record = 7;
  started.time = from_seconds(5);
  Allocation allocation;
  allocation.nodes.push_back({.node = 3, .cores = Bitmap::first(4), .cpus = 4, .memory_mib = 9});
  started.starts.push_back({2, 8, std::make_shared<Allocation>(allocation)});
  const EventFrame frame{{Event(started), Event(JobsPurged{{1, 2}, {}})}};
  const auto back = wire::decode<EventFrame>(wire::encode(frame));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->events.size(), 2u);
  const auto& again = std::get<JobStarted>(back->events[0]);
  EXPECT_EQ(again.starts[0].allocation->nodes[0].cores.count(), 4u);
  EXPECT_EQ(std::get<JobsPurged>(back->events[1]).jobs, (std::vector<JobId>{1, 2}));
}

}  // namespace
}  // namespace sluice::state
