// Paths with wildcards.
#include "common/os/matching_paths.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(MatchingPaths, AreInTheOrderOfTheirNames) {
  std::string folder = ::testing::TempDir() + "matching_paths_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  for (const char* name : {"b.conf", "B.conf", "a.conf", "other"})
    std::ofstream(folder + "/" + name) << "x";
  const std::vector<std::string> all{folder + "/B.conf", folder + "/a.conf", folder + "/b.conf"};
  EXPECT_EQ(matching_paths(folder + "/*.conf"), all);
  EXPECT_EQ(matching_paths(folder + "/[ab].conf"), (std::vector<std::string>{all[1], all[2]}));
  EXPECT_TRUE(matching_paths(folder + "/none*").empty());
  EXPECT_EQ(matching_paths(folder + "/none"), std::vector<std::string>{folder + "/none"});
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice
