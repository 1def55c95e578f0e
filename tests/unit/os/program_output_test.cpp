// What is kept of what a program prints.
#include "common/os/program_output.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice {
namespace {

void print(const ProgramOutput& output, const std::string& text) {
  ASSERT_EQ(::write(output.fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

using Lines = std::vector<std::string>;

TEST(ProgramOutput, TheLastLinesAreTold) {
  const ProgramOutput output;
  ASSERT_GE(output.fd(), 0);
  EXPECT_EQ(output.last_lines(2, 100), Lines{});
  print(output, "one\n\n  two\n \nthree");
  EXPECT_EQ(output.last_lines(9, 100), (Lines{"one", "  two", "three"}));
  EXPECT_EQ(output.last_lines(2, 100), (Lines{"  two", "three"}));
  EXPECT_EQ(output.last_lines(9, 9), Lines{"three"}) << "of the line before only an end is left";
  EXPECT_EQ(output.last_lines(9, 3), Lines{"ree"});
  EXPECT_EQ(output.text(5), "one\n\n");
}

TEST(ProgramOutput, IsBounded) {
  ProgramOutput output;
  print(output, "before\n");
  output.bound(100);
  EXPECT_EQ(output.last_lines(9, 100), Lines{"before"});
  print(output, std::string(100, 'x') + "\n");
  output.bound(100);
  print(output, "after\n");
  EXPECT_EQ(output.text(100), std::string(24, 'x') + "\nafter\n")
      << "the end of it, and what follows";
}

TEST(ProgramOutput, WhatIsLeftRunningCannotFillIt) {
  ProgramOutput output;
  const int left = ::dup(output.fd());
  print(output, "said\n");
  output.close();
  EXPECT_EQ(output.text(100), "");
  EXPECT_EQ(::write(left, "more", 4), -1);
  EXPECT_EQ(errno, EPERM);
  ::close(left);
}

}  // namespace
}  // namespace sluice
