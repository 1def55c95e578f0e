#include "stepd/process/site_program.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/protocol/stepd_start.hpp"
#include "unit/temp_folder.hpp"

namespace sluice::stepd {
namespace {

// Told to begin, or left by who started it.
int run(std::vector<std::string> words, bool told = true) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  if (told && ::write(ends[0], "", 1) != 1) return -1;
  ::close(ends[0]);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int status = run_when_told(ends[1], static_cast<int>(words.size()), arguments.data());
  if (!told) ::close(ends[1]);
  return status;
}

TEST(SiteProgram, NothingRunsOutsideOfItsGroups) {
  const test::TempFolder folder;
  const std::string first = folder / "first", second = folder / "second";
  std::ofstream(first) << "";
  EXPECT_EQ(run({first, second, "--", "/no/such/program"}), protocol::kCannotEnterGroup);
  std::ofstream(second) << "";
  EXPECT_EQ(run({first, second, "--", "/no/such/program"}), protocol::kCannotRunProgram);
  EXPECT_EQ(read_file(first), "0");
  EXPECT_EQ(read_file(second), "0");
  EXPECT_EQ(run({first, "--"}), protocol::kCannotRunProgram);
  EXPECT_EQ(run({}), protocol::kCannotRunProgram);
}

TEST(SiteProgram, NothingBeginsWhenWhoStartedItIsGone) {
  const test::TempFolder folder;
  const std::string group = folder / "group";
  std::ofstream(group) << "";
  EXPECT_EQ(run({group, "--", "/no/such/program"}, false), protocol::kNeverTold);
  EXPECT_EQ(read_file(group), "");
}

}  // namespace
}  // namespace sluice::stepd
