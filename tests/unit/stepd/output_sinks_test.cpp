#include "stepd/io/output_sinks.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::stepd {
namespace {

class Sinks : public ::testing::Test {
 protected:
  Sinks() {
    ::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    sinks.add(ends[1]);
  }
  ~Sinks() override {
    for (const int end : ends) ::close(end);
  }
  std::string take(size_t most) {
    std::string bytes(most, '\0');
    const ssize_t n = ::read(ends[0], bytes.data(), bytes.size());
    bytes.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return bytes;
  }
  std::array<int, 2> ends{};
  boost::asio::io_context io;
  int rooms = 0;
  int lost = 0;
  OutputSinks sinks{io, {[this] { ++rooms; }, [this](int error) { lost = error; }}};
};

TEST_F(Sinks, WhatIsNotTakenWaitsInItsOrder) {
  std::string all;
  for (int i = 0; !sinks.congested(ends[1]); ++i) {
    const std::string line = std::to_string(i) + "\n";
    sinks.write(ends[1], line);
    all += line;
  }
  EXPECT_TRUE(sinks.waiting());
  std::string got;
  while (got.size() < all.size() - 5) {
    got += take(5000);
    io.poll();
  }
  EXPECT_FALSE(sinks.waiting());
  EXPECT_FALSE(sinks.congested(ends[1]));
  EXPECT_EQ(rooms, 1);
  sinks.write(ends[1], "end\n");
  while (got.size() < all.size() + 4) got += take(5000);
  EXPECT_TRUE(got == all + "end\n");
  EXPECT_EQ(lost, 0);
}

TEST_F(Sinks, NobodyReadsAnyMore) {
  while (!sinks.congested(ends[1])) sinks.write(ends[1], std::string(1000, 'x'));
  ::close(ends[0]);
  ends[0] = -1;
  io.poll();
  EXPECT_EQ(lost, EPIPE);
  EXPECT_EQ(rooms, 1);
  EXPECT_FALSE(sinks.waiting());
  sinks.write(ends[1], "more");
  EXPECT_FALSE(sinks.waiting());
}

TEST_F(Sinks, WhatIsDroppedIsNotWaitedFor) {
  while (!sinks.congested(ends[1])) sinks.write(ends[1], std::string(1000, 'x'));
  sinks.drop();
  io.poll();
  EXPECT_FALSE(sinks.waiting());
  sinks.write(ends[1], "more");
  EXPECT_FALSE(sinks.congested(ends[1]));
  EXPECT_EQ(lost, 0);
}

TEST_F(Sinks, AFileTakesAllAtOnce) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int fd = ::fileno(file);
  EXPECT_FALSE(sinks.has(fd));
  EXPECT_FALSE(sinks.congested(fd));
  sinks.add(fd);
  sinks.write(fd, std::string(1 << 20, 'x'));
  EXPECT_FALSE(sinks.waiting());
  EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 1 << 20);
  std::fclose(file);
}

}  // namespace
}  // namespace sluice::stepd
