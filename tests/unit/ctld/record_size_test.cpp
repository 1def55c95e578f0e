#include "ctld/query/record_size.hpp"

#include <gtest/gtest.h>

#include "common/protocol/job_query.hpp"
#include "common/wire/codec.hpp"

namespace sluice::ctld {
namespace {

protocol::JobRecord record_of(const JobSpec& spec) {
  protocol::JobRecord record;
  record.job.id = 1;
  record.job.spec = std::make_shared<const JobSpec>(spec);
  return record;
}

TEST(RecordSize, IsAboutWhatIsSent) {
  JobSpec spec;
  spec.submit_line = std::string(100'000, 'x');
  spec.arguments.assign(1000, std::string(100, 'y'));
  const protocol::JobRecord record = record_of(spec);
  const size_t sent = wire::encode(protocol::JobChunk{{record}, kNoTime}).size();
  EXPECT_GE(record_bytes(record) * 5 / 4, sent);
  EXPECT_LE(record_bytes(record), sent * 2);
}

// The bug: 20 jobs with long arguments, and nobody's squeue showed anything.
TEST(RecordSize, LongTextsAreCutAndShortRecordsStay) {
  JobSpec spec;
  spec.name = "long";
  spec.comment = std::string(1024, 'c');
  spec.arguments = {"first", std::string(size_t{2} << 20, 'x'), "last"};
  spec.submit_line = std::string(size_t{2} << 20, 'x');
  protocol::JobRecord record = record_of(spec);
  auto step = std::make_shared<Step>();
  auto step_spec = std::make_shared<StepSpec>();
  step_spec->multi_prog = std::string(size_t{4} << 20, 'm');
  step->spec = step_spec;
  record.job.steps = {step, step};
  cut_long_texts(record);
  EXPECT_LT(record_bytes(record), 20'000U);
  EXPECT_EQ(record.job.spec->name, "long");
  EXPECT_EQ(record.job.spec->comment, spec.comment);
  ASSERT_EQ(record.job.spec->arguments.size(), 2U);
  EXPECT_EQ(record.job.spec->arguments[0], "first");
  EXPECT_EQ(record.job.spec->submit_line.view().substr(0, 3), "xxx");
  EXPECT_EQ(spec.submit_line.size(), size_t{2} << 20) << "of the state nothing is cut";

  protocol::JobRecord small = record_of(JobSpec{.submit_line = std::string(5000, 'x')});
  const auto before = small.job.spec;
  cut_long_texts(small);
  EXPECT_EQ(small.job.spec, before);
}

}  // namespace
}  // namespace sluice::ctld
