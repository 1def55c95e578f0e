#include "common/syntax/file_pattern.hpp"

#include <gtest/gtest.h>

namespace sluice {
namespace {

PatternFields fields() {
  PatternFields made;
  made.step = {128, 0};
  made.job_name = "demo";
  made.user_name = "ann";
  made.host = "n1";
  made.node_index = 2;
  made.task = 5;
  return made;
}

TEST(FilePattern, ReplacesEachSymbolAndPadsNumbers) {
  EXPECT_EQ(expand_file_pattern("job%J.out", fields()), "job128.0.out");
  EXPECT_EQ(expand_file_pattern("job%4j-%2t", fields()), "job0128-05");
  EXPECT_EQ(expand_file_pattern("%N-%n-%u-%x-%s-%%", fields()), "n1-2-ann-demo-0-%");
  EXPECT_EQ(expand_file_pattern("%20j|", fields()), "0000000128|");
  EXPECT_EQ(expand_file_pattern("%q%", fields()), "%q%");
  EXPECT_EQ(expand_file_pattern("%A", fields()), "128");
}

TEST(FilePattern, PadsEveryNumberAndNoText) {
  EXPECT_EQ(expand_file_pattern("%6A %6J %3n %3s %3t", fields()), "000128 000128.0 002 000 005");
  EXPECT_EQ(expand_file_pattern("%6u|%6N|%6x", fields()), "ann|n1|demo");
  PatternFields task = fields();
  ArrayInfo array;
  array.array_job = 100;
  array.task = 17;
  task.array = std::make_shared<const ArrayInfo>(array);
  task.step.step = kBatchStep;
  EXPECT_EQ(expand_file_pattern("%5A %4a %6j %6J %6s", task), "00100 0017 000128 000128 batch");
}

TEST(FilePattern, BatchScriptsAndArrays) {
  PatternFields batch = fields();
  batch.step.step = kBatchStep;
  EXPECT_EQ(expand_file_pattern("%J %s", batch), "128 batch");
  EXPECT_EQ(expand_file_pattern("%a", batch), "4294967294");
  ArrayInfo array;
  array.array_job = 100;
  array.task = 17;
  batch.array = std::make_shared<const ArrayInfo>(array);
  EXPECT_EQ(expand_file_pattern("slurm-%A_%4a.%b", batch), "slurm-100_0017.7");
}

TEST(FilePattern, ABackslashTurnsSymbolsOff) {
  EXPECT_EQ(expand_file_pattern("a\\%j", fields()), "a%j");
  EXPECT_EQ(expand_file_pattern("a\\\\b-%j", fields()), "ab-%j");
  PatternFields batch = fields();
  batch.step.step = kBatchStep;
  EXPECT_EQ(expand_file_pattern("a\\b-%j", batch), "ab-%j");
  EXPECT_EQ(expand_file_pattern("a\\\\b-%j", batch), "a\\b-%j");
  EXPECT_EQ(expand_file_pattern("a\\\\\\b", batch), "a\\b");
  EXPECT_EQ(expand_file_pattern("tail\\", batch), "tail");
}

TEST(FilePattern, KnowsWhatDiffersByNode) {
  EXPECT_TRUE(pattern_is_per_node("out.%t"));
  EXPECT_TRUE(pattern_is_per_node("out.%j.%3n"));
  EXPECT_TRUE(pattern_is_per_node("%N"));
  EXPECT_FALSE(pattern_is_per_node("out.%j"));
  EXPECT_FALSE(pattern_is_per_node("out%%t"));
  EXPECT_FALSE(pattern_is_per_node("out\\%t"));
}

}  // namespace
}  // namespace sluice
