#include "stepd/group_entry.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/read_file.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::stepd {
namespace {

int run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return run_in_groups(static_cast<int>(words.size()), arguments.data());
}

TEST(GroupEntry, NothingRunsOutsideOfItsGroups) {
  char name[] = "/tmp/sluice-groups-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  const std::string first = folder + "/first", second = folder + "/second";
  std::ofstream(first) << "";
  EXPECT_EQ(run({first, second, "--", "/no/such/program"}), protocol::kCannotEnterGroup);
  std::ofstream(second) << "";
  EXPECT_EQ(run({first, second, "--", "/no/such/program"}), protocol::kCannotRunProgram);
  EXPECT_EQ(read_file(first), "0");
  EXPECT_EQ(read_file(second), "0");
  EXPECT_EQ(run({first, "--"}), protocol::kCannotRunProgram);
  EXPECT_EQ(run({}), protocol::kCannotRunProgram);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice::stepd
