// The tables of keys against the inventory, and against the model's own defaults.
#include "common/config/keys/conf_keys.hpp"

#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "common/config/keys/conf_value.hpp"
#include "common/wire/codec.hpp"
#include "unit/config/conf_support.hpp"

namespace sluice::tables {
namespace {

struct InventoryRow {
  std::string file, context, name, type, fallback;
};

std::vector<InventoryRow> inventory() {
  std::ifstream in("tests/data/slurm-conf.tsv");
  std::vector<InventoryRow> rows;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> cells = split(line, '\t');
    if (cells.size() >= 5) rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4]});
  }
  return rows;
}

template <class Keys>
void expect_known(const Keys& keys, std::string_view file, std::string_view context) {
  size_t count = 0;
  for (const InventoryRow& row : inventory()) {
    if (row.file != file || row.context != context) continue;
    ++count;
    EXPECT_NE(find_key(keys, row.name), nullptr) << file << " " << context << " " << row.name;
  }
  EXPECT_GT(count, 0U) << context;
}

TEST(ConfKeys, KnowsEveryKeyOfTheInventory) {
  expect_known(global_keys(), "slurm.conf", "global");
  expect_known(node_keys(), "slurm.conf", "NodeName");
  expect_known(partition_keys(), "slurm.conf", "PartitionName");
  expect_known(node_set_keys(), "slurm.conf", "NodeSet");
  expect_known(down_nodes_keys(), "slurm.conf", "DownNodes");
  expect_known(frontend_keys(), "slurm.conf", "FrontendName");
  expect_known(power_action_keys(), "slurm.conf", "PowerAction");
  expect_known(cgroup_keys(), "cgroup.conf", "global");
  expect_known(gres_keys(), "gres.conf", "line");
  expect_known(mpi_keys(), "mpi.conf", "global");
  expect_known(helpers_keys(), "helpers.conf", "global");
  expect_known(helper_line_keys(), "helpers.conf", "Feature line");
}

TEST(ConfKeys, AllowsEveryValueOfTheInventory) {
  // values of kinds that belong to hardware or plugins that are gone
  const std::set<std::string> gone = {"proctrack/cray_aries", "select/cray_aries"};
  for (const InventoryRow& row : inventory()) {
    if (row.file != "slurm.conf" || row.type != "value" || gone.contains(row.name)) continue;
    const GlobalKey* key = find_key(global_keys(), row.context);
    ASSERT_NE(key, nullptr) << row.context;
    std::vector<std::string> unknown;
    EXPECT_TRUE(parse_conf_value(rule_of(*key), row.name, &unknown))
        << row.context << "=" << row.name;
    EXPECT_TRUE(unknown.empty()) << row.context << "=" << row.name;
  }
}

TEST(ConfKeys, NamesAreUniqueAndDefaultsAreAllowed) {
  std::set<std::string> names;
  for (const GlobalKey& row : global_keys()) {
    EXPECT_TRUE(names.insert(to_lower(row.name)).second) << row.name;
    if (row.fallback.empty()) continue;
    EXPECT_TRUE(parse_conf_value(rule_of(row), row.fallback)) << row.name;
  }
}

// Members that a configuration always fills: lists start empty, and these are what a file must say.
TEST(ConfKeys, DefaultsOfTableAndModelAreTheSame) {
  const ClusterConfig loaded = config_of("");
  const ClusterConfig fresh;
  // and one that follows from whether others are there
  const std::set<std::string> filled = {"cluster_name", "controllers", "values", "priority_type"};
  ClusterConfig::describe([&](uint32_t, const char* name, auto member) {
    using T = std::decay_t<decltype(loaded.*member)>;
    if constexpr (wire::detail::IsVector<T>::value) return;
    if (filled.contains(name)) return;
    EXPECT_TRUE(loaded.*member == fresh.*member) << name;
  });
  const CgroupConfig cgroup;
  for (const auto& row : cgroup_keys()) {
    if (!row.set || row.fallback.empty()) continue;
    CgroupConfig other;
    ASSERT_TRUE(row.set(other, *parse_conf_value(rule_of(row), row.fallback)));
    EXPECT_TRUE(other == cgroup) << row.name;
  }
}

TEST(ConfKeys, SuggestsTheNearestName) {
  EXPECT_EQ(did_you_mean_key("KilWait", global_keys()), "; did you mean \"KillWait\"?");
  EXPECT_EQ(did_you_mean_key("Foo", global_keys()), "");
}

}  // namespace
}  // namespace sluice::tables
