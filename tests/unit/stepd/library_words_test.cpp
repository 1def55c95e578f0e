#include "stepd/mpi/library_words.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::stepd {
namespace {

void say(std::string_view text) {
  ASSERT_EQ(::write(STDERR_FILENO, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(LibraryWords, AreTakenLineByLine) {
  const int before = ::dup(STDERR_FILENO);
  boost::asio::io_context io;
  std::vector<std::string> lines;
  const auto words =
      LibraryWords::start(io, [&](std::string_view line) { lines.emplace_back(line); });
  ASSERT_TRUE(words);
  say("one\n\ntwo\nth");
  io.run_one();
  const std::vector<std::string> two = lines;
  say("ree");
  (*words)->stop();
  say("nobody hears this\n");
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  EXPECT_EQ(two, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
}

}  // namespace
}  // namespace sluice::stepd
