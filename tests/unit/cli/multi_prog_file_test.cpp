// srun --multi-prog: which files are refused, and in which words.
#include "cli/options/multi_prog_file.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using Lines = std::vector<std::string>;

Lines faults(std::string_view text, uint32_t tasks = 3) {
  return check_multi_prog(text, tasks, "mp").faults;
}
Lines bad_line(int number, const std::string& why) {
  return {why, "Line " + std::to_string(number) + " of configuration file mp invalid"};
}

TEST(MultiProgFileTest, EveryTaskHasOneRecord) {
  EXPECT_EQ(faults("# remark\n\n0,1 a\n2 b\n* rest\n* again\n"), Lines{});
  EXPECT_EQ(faults("0-2 echo \\\n0 more words\n"), Lines{});
  EXPECT_EQ(faults("0 a\n1 b"), Lines{"Configuration file mp invalid, no record for task id 2"});
  EXPECT_EQ(faults("0 a\n0-2 b\n"), bad_line(2, "Duplicate record for task 0"));
  EXPECT_EQ(faults("0-1,1-2 a\n"), bad_line(1, "Duplicate record for task 1"));
  EXPECT_EQ(faults("* a\n0 b\n"),
            bad_line(2, "Task range specification with asterisk must be last"));
}

TEST(MultiProgFileTest, RanksAreChecked) {
  EXPECT_EQ(faults("0-5 a\n"), bad_line(1, "Invalid task id, 5 >= ntasks"));
  EXPECT_EQ(faults("2-0 a\n"), bad_line(1, "Invalid task range, 2-0"));
  EXPECT_EQ(faults("0-2:2 a\n"), bad_line(1, "Invalid task range specification"));
  EXPECT_EQ(faults("0,x a\n"), bad_line(1, "Invalid task range specification (x)"));
  EXPECT_EQ(faults("[0-2] a\n"), bad_line(1, "Invalid task range specification ([0-2])"));
}

TEST(MultiProgFileTest, ARecordNeedsAProgram) {
  const Lines bare = {"Line 2 of configuration file mp invalid"};
  EXPECT_EQ(faults("0,1 a\n2 \n"), bare);
  EXPECT_EQ(faults("0-2 a\n*\n"), bare);
}

TEST(MultiProgFileTest, TheFileMayTellHowManyTasks) {
  EXPECT_EQ(check_multi_prog("0-1 a\n3 b\n2 c\n", 0, "mp").tasks, 4U);
  EXPECT_EQ(check_multi_prog("* a\n", 0, "mp").tasks, 0U);
  EXPECT_EQ(check_multi_prog("* a\n", 3, "mp").tasks, 3U);
  EXPECT_EQ(faults("1 a\n", 0), Lines{"Configuration file mp invalid, no record for task id 0"});
  EXPECT_FALSE(faults("4294967295 a\n", 0).empty());
}

TEST(MultiProgFileTest, WhatCannotBeRead) {
  EXPECT_EQ(read_multi_prog("/").error().text, "Error reading multi_prog config file /");
  EXPECT_EQ(read_multi_prog("/nosuch").error().text,
            "Could not open multi_prog config file /nosuch");
}

}  // namespace
}  // namespace sluice::cli
