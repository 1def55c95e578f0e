// Generic resources: texts, what a node has, and what is left of it.
#include "common/model/gres.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

GresDevices devices(std::string name, std::string type, std::vector<std::string> files,
                    std::string cores = "") {
  const uint64_t count = files.size();
  return {.name = std::move(name),
          .type = std::move(type),
          .count = count,
          .files = std::move(files),
          .cores = std::move(cores)};
}
GresDevices counted(std::string name, uint64_t count) {
  return {.name = std::move(name), .count = count};
}
Bitmap units(std::string_view text) { return Bitmap::from_text(text).value_or(Bitmap()); }

TEST(Gres, ItemsOfAText) {
  const auto items = gres_items("gres/gpu:a100:2(S:0,1),gres:fan,shard=4K, gpu:h100");
  ASSERT_TRUE(items);
  const std::vector<GresItem> expected = {
      {"gpu", "a100", 2}, {"fan", {}, 1}, {"shard", {}, 4096}, {"gpu", "h100", 1}};
  EXPECT_EQ(*items, expected);
  EXPECT_TRUE(gres_items("none")->empty());
  EXPECT_FALSE(gres_items("gpu:x:y"));
  EXPECT_FALSE(gres_items("gpu:"));
  EXPECT_FALSE(gres_items("gpu:a:b:1"));
}

TEST(Gres, InventoryTakesTypesOfTheDevices) {
  const auto inventory =
      make_inventory("gpu:3,fan:2", {devices("gpu", "t4", {"a", "b"}, "0-3"),
                                     devices("gpu", "v100", {"c", "d"}, "4-7"), counted("fan", 5)});
  ASSERT_NE(inventory, nullptr);
  ASSERT_EQ(inventory->kinds.size(), 3u);
  EXPECT_EQ(inventory->kinds[0].type, "t4");
  EXPECT_EQ(inventory->kinds[0].units, units("0-1"));
  EXPECT_EQ(inventory->kinds[1].units, units("2"));  // no more than Gres= says
  EXPECT_EQ(inventory->kinds[2].count, 2u);
  EXPECT_EQ(*inventory->near_cores("gpu", 2), units("4-7"));
  EXPECT_EQ(used_gres_text(*inventory, {}), "gpu:t4:0(IDX:N/A),gpu:v100:0(IDX:N/A),fan:0");
}

TEST(Gres, WithoutRegistrationOnlyCounts) {
  const auto inventory = make_inventory("gpu:a100:4", {});
  ASSERT_NE(inventory, nullptr);
  EXPECT_EQ(inventory->kinds[0].count, 4u);
  EXPECT_TRUE(inventory->kinds[0].units.none());
  EXPECT_EQ(make_inventory("", {}), nullptr);
}

TEST(Gres, SharesAddUpAndComeBack) {
  GresShares sum;
  const GresShares one = {{"gpu", "a100", 1, units("0"), {}}, {"fan", {}, 2, {}, {}}};
  const GresShares two = {{"gpu", "a100", 2, units("1,3"), {}}};
  add_shares(sum, one);
  add_shares(sum, two);
  EXPECT_EQ(gres_text(sum, true), "gpu:a100:3(IDX:0-1,3),fan(CNT:2)");
  EXPECT_EQ(gres_text(sum, false), "gpu:a100:3,fan:2");
  const auto inventory =
      make_inventory("gpu:a100:4,fan:3", {devices("gpu", "a100", {"a", "b", "c", "d"})});
  EXPECT_TRUE(
      has_free(*inventory, sum, {{"gpu", "a100", 1, units("2"), {}}, {"fan", {}, 1, {}, {}}}));
  EXPECT_FALSE(has_free(*inventory, sum, one));
  EXPECT_FALSE(has_free(*inventory, sum, {{"fan", {}, 2, {}, {}}}));
  EXPECT_FALSE(has_free(*inventory, {}, {{"gpu", "h100", 1, units("0"), {}}}));
  remove_shares(sum, one);
  EXPECT_TRUE(same_shares(sum, two));
  remove_shares(sum, two);
  EXPECT_TRUE(sum.empty());
}

TEST(Gres, ShardsArePartsOfGpus) {
  const auto inventory =
      make_inventory("gpu:2,shard:8", {devices("gpu", "", {"a", "b"}), counted("shard", 8)});
  ASSERT_EQ(inventory->kinds.size(), 2u);
  const GresKind& gpu = inventory->kinds[0];
  const GresKind& shard = inventory->kinds[1];
  EXPECT_EQ(shard.units, units("0-1"));
  EXPECT_EQ(shard.parts, (std::vector<uint32_t>{4, 4}));
  const GresShares some = {{"shard", {}, 3, units("0"), {3}}};
  EXPECT_EQ(free_of(gpu, some).units, units("1"));  // a GPU in parts is no whole one
  EXPECT_EQ(free_of(shard, some).parts, (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(free_of(shard, {{"gpu", {}, 1, units("1"), {}}}).count, 4u);
  GresShares sum = some;
  add_shares(sum, {{"shard", {}, 2, units("1"), {2}}});
  EXPECT_EQ(free_of(shard, sum).parts, (std::vector<uint32_t>{1, 2}));
  EXPECT_FALSE(has_free(*inventory, sum, {{"shard", {}, 3, units("1"), {3}}}));
  remove_shares(sum, some);
  EXPECT_EQ(free_of(shard, sum).parts, (std::vector<uint32_t>{4, 2}));
}

TEST(Gres, PartsOfOneUnitOrOfSeveral) {
  const auto one_unit = [](std::string_view name, std::vector<std::string> flags) {
    GresDevices parts = counted(std::string(name), 8);
    parts.flags = std::move(flags);
    const auto inventory = make_inventory("gpu:2," + std::string(name) + ":8",
                                          {devices("gpu", "", {"a", "b"}), parts});
    return inventory->kinds.at(1).one_unit;
  };
  EXPECT_TRUE(one_unit("mps", {}));
  EXPECT_FALSE(one_unit("mps", {"all_sharing"}));
  EXPECT_FALSE(one_unit("shard", {}));
  EXPECT_TRUE(one_unit("shard", {"one_sharing"}));
}

TEST(Gres, LinksAreByUnit) {
  std::vector<GresDevices> found;
  for (const char* links : {"-1,0,4", "0,-1,x", ""}) {
    GresDevices one = devices("gpu", "", {"f"});
    one.links = links;
    found.push_back(one);
  }
  const auto inventory = make_inventory("gpu:3", found);
  EXPECT_TRUE(inventory->has_links("gpu"));
  EXPECT_FALSE(inventory->has_links("fan"));
  EXPECT_EQ(inventory->link("gpu", 0, 2), 4);
  EXPECT_EQ(inventory->link("gpu", 0, 0), 0);  // itself
  EXPECT_EQ(inventory->link("gpu", 1, 2), 0);
  EXPECT_EQ(inventory->link("gpu", 2, 0), 0);
  EXPECT_EQ(inventory->link("gpu", 7, 9), 0);
  EXPECT_EQ(inventory->near_cores("gpu", 0), nullptr);  // of cores nothing was told
  EXPECT_FALSE(make_inventory("gpu:2", {devices("gpu", "", {"a", "b"})})->has_links("gpu"));
}

TEST(Gres, PartOfWhatIsFree) {
  const GresShares free = {{"gpu", "t4", 1, units("1"), {}}, {"gpu", "v100", 2, units("2-3"), {}}};
  EXPECT_EQ(gres_text(take_shares(free, "gpu", "", 2), true), "gpu:t4:1(IDX:1),gpu:v100:1(IDX:2)");
  EXPECT_EQ(gres_text(take_shares(free, "gpu", "v100", 5), true), "gpu:v100:2(IDX:2-3)");
  EXPECT_TRUE(take_shares(free, "fan", "", 1).empty());
}

}  // namespace
}  // namespace sluice
