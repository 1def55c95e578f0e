#include "common/step/frame.hpp"

#include <gtest/gtest.h>

#include "common/step/step_spool.hpp"
#include "unit/temp_folder.hpp"

namespace sluice {
namespace {

TEST(Frame, ComesBackWholeHoweverItIsCut) {
  std::string bytes;
  append_frame(bytes, protocol::FrameType::kStdout, 7, "hello");
  append_frame(bytes, protocol::FrameType::kStdin, kNoTask, "");
  FrameReader reader;
  std::vector<Frame> got;
  for (const char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    auto frame = reader.next();
    ASSERT_TRUE(frame);
    if (frame->has_value()) got.push_back(**frame);
  }
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].type, protocol::FrameType::kStdout);
  EXPECT_EQ(got[0].task, 7U);
  EXPECT_EQ(got[0].body, "hello");
  EXPECT_EQ(got[1].task, kNoTask);
  EXPECT_TRUE(got[1].body.empty());
}

TEST(Frame, RefusesImpossibleLengths) {
  FrameReader reader;
  reader.feed(std::string("\x7f\xff\xff\xff", 4));
  EXPECT_FALSE(reader.next());
  FrameReader short_one;
  short_one.feed(std::string("\0\0\0\1", 4));
  EXPECT_FALSE(short_one.next());
}

TEST(StepSpool, NamesGoThereAndBack) {
  const protocol::StepKey key{{5, kBatchStep}, 2};
  EXPECT_EQ(step_file_name(key), "5.4294967291.2");
  EXPECT_EQ(parse_step_file_name("5.4294967291.2"), key);
  EXPECT_EQ(parse_step_file_name("5.1"), std::nullopt);
  EXPECT_EQ(parse_step_file_name("5.1.x"), std::nullopt);
}

TEST(StepSpool, AReportWithoutAKeyIsOfNoLaterStep) {
  const test::TempFolder folder;
  const StepSpool spool(folder.path());
  protocol::StepEnded report;
  protocol::StepRecord record;
  report.key = record.key = {{5, kBatchStep}, 0};
  ASSERT_TRUE(spool.prepare());
  ASSERT_TRUE(spool.write_end(report));
  ASSERT_TRUE(spool.claim(record).value());
  EXPECT_FALSE(spool.read_end(report.key));
  ASSERT_TRUE(spool.write_end(report));
  EXPECT_FALSE(spool.claim(record).value());
  EXPECT_TRUE(spool.read_end(report.key)) << "a second claim takes nothing away";
}

}  // namespace
}  // namespace sluice
