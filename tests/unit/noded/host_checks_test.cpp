// What an agent refuses to start without.
#include "noded/node/host_checks.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "unit/temp_folder.hpp"

namespace sluice::noded {
namespace {

TEST(HostChecks, AProgramIsThereAndExecutable) {
  const test::TempFolder folder;
  const std::string path = (folder.path() / "slurmstepd").string();
  EXPECT_EQ(may_run(path).error().text, "cannot run " + path + ": No such file or directory");
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(may_run(path).error().text, "cannot run " + path + ": Permission denied");
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_TRUE(may_run(path));
  EXPECT_FALSE(may_run(folder.path().string())) << "a folder is no program";
}

TEST(HostChecks, NothingIsLeftInTheFolder) {
  const test::TempFolder folder;
  EXPECT_TRUE(may_write_in(folder.path().string()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(may_write_in((folder.path() / "missing").string()));
}

}  // namespace
}  // namespace sluice::noded
