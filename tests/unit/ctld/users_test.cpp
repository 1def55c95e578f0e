// How long it is believed in which groups a user is: GroupUpdateTime, GroupUpdateForce.
#include "ctld/query/users.hpp"

#include <gtest/gtest.h>

namespace sluice::ctld {
namespace {

using std::chrono::seconds;
const Time kStart{seconds(1'000'000)};

// One who is in a new group each time somebody asks.
struct World {
  int asked = 0;
  Time changed = kStart;
  std::string name = "ann";
  Users users{UserSource{[this](uint32_t, uint32_t) {
                           UserEntry entry;
                           entry.name = name;
                           entry.groups = {"g" + std::to_string(++asked)};
                           return entry;
                         },
                         [this] { return changed; }}};

  void use(int64_t update_s, bool force) {
    ClusterConfig config;
    config.group_update_time = seconds(update_s);
    config.group_update_force = force;
    users.use(config);
  }
  std::string group_at(int64_t second) {
    return users.find(7, 7, kStart + seconds(second)).groups.front();
  }
};

TEST(Users, AreAskedForAgainAfterGroupUpdateTime) {
  World world;
  world.use(30, true);
  EXPECT_EQ(world.group_at(0), "g1");
  EXPECT_EQ(world.group_at(29), "g1");
  EXPECT_EQ(world.group_at(30), "g2");
  EXPECT_EQ(world.group_at(59), "g2");
  EXPECT_EQ(world.group_at(60), "g3");
}

// Of users with waiting jobs: their round is not that of each entry.
TEST(Users, AreAskedForAgainWhenTheyAreToBe) {
  World world;
  world.use(30, true);
  EXPECT_EQ(world.group_at(0), "g1");
  EXPECT_EQ(world.users.find_again(7, 7, kStart + seconds(29)).groups.front(), "g2");
  EXPECT_EQ(world.group_at(58), "g2");
  world.use(30, false);
  EXPECT_EQ(world.group_at(60), "g3");
  EXPECT_EQ(world.users.find_again(7, 7, kStart + seconds(70)).groups.front(), "g3")
      << "no file of groups was written";
}

TEST(Users, WithoutForceOnlyWhenTheFileOfGroupsHasChanged) {
  World world;
  world.use(30, false);
  EXPECT_EQ(world.group_at(0), "g1");
  EXPECT_EQ(world.group_at(100), "g1");
  world.changed += seconds(101);
  EXPECT_EQ(world.group_at(102), "g1") << "not before it is time";
  EXPECT_EQ(world.group_at(130), "g2");
  EXPECT_EQ(world.group_at(200), "g2");
}

TEST(Users, AreKeptForEverWithoutATimeUntilTheConfigurationIsReadAgain) {
  World world;
  world.use(0, true);
  EXPECT_EQ(world.group_at(0), "g1");
  world.changed += seconds(1);
  EXPECT_EQ(world.group_at(1'000'000), "g1");
  world.use(0, true);
  EXPECT_EQ(world.group_at(1'000'001), "g2");
}

TEST(Users, WhoIsNotKnownYetMayBeSoon) {
  World world;
  world.name.clear();
  world.use(0, false);
  EXPECT_EQ(world.group_at(0), "g1");
  world.name = "ann";
  EXPECT_EQ(world.group_at(59), "g1");
  EXPECT_EQ(world.group_at(60), "g2");
}

// A group of thousands was taken for one that is not there.
TEST(Users, AnEntryMayBeLarge) {
  for (const size_t needs : {size_t{100}, size_t{17} << 10, size_t{3} << 20}) {
    std::vector<char> room;
    int asked = 0;
    const int error = with_room(room, [&] {
      ++asked;
      return room.size() < needs ? ERANGE : 0;
    });
    EXPECT_EQ(error, 0);
    EXPECT_GE(room.size(), needs);
    EXPECT_LT(asked, 6);
  }
  std::vector<char> room;
  EXPECT_EQ(with_room(room, [] { return ERANGE; }), ERANGE) << "and there is an end";
  EXPECT_EQ(with_room(room, [] { return ENOENT; }), ENOENT);
}

}  // namespace
}  // namespace sluice::ctld
