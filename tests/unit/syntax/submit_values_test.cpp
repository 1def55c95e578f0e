// Values of options: counts, sizes, lists.
#include "common/syntax/submit_values.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "common/model/job_spec.hpp"

namespace sluice {
namespace {

TEST(SubmitValuesTest, Values) {
  EXPECT_EQ(parse_gres("gpu:a100:2,fan"), "gres/gpu:a100:2,gres/fan:1");
  EXPECT_EQ(parse_gres("none"), "");
  EXPECT_EQ(parse_gpus("a100:1,v100:2"), "gres/gpu:a100:1,gres/gpu:v100:2");
  EXPECT_EQ(parse_gpus("a100,v100:2"), "gres/gpu:a100,gres/gpu:v100:2") << "one of a type alone";
  for (const char* bad : {"gpu:1:2", "a100:", ":2", "a100:x", "2x", "-1"})
    EXPECT_EQ(parse_gpus(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_signal("sigusr1"), 10U);
  EXPECT_EQ(parse_signal("foo"), std::nullopt);
  const auto nodes = parse_node_counts("1k-2k");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->least, 1024U);
  EXPECT_EQ(nodes->most, 2048U);
  EXPECT_EQ(parse_node_counts("-3")->least, 1U);
  EXPECT_EQ(parse_node_counts("0")->list, kNoNodes);
  EXPECT_EQ(parse_node_counts("1,4-8:2")->most, 8U);
  EXPECT_EQ(parse_node_counts("2-").error().text,
            "Maximum node count -1 is less than minimum node count 2");
  EXPECT_EQ(bad_cpu_bind("verbose,map_cpu:0,1,2"), std::nullopt);
  EXPECT_EQ(bad_cpu_bind("foo"), "foo");
  EXPECT_EQ(parse_mail_types("end,time_limit_80"), "END,TIME_LIMIT_80");
  EXPECT_EQ(parse_mail_types("time_limit,END,time_limit_50,array_tasks,BEGIN,end"),
            "ARRAY_TASKS,BEGIN,END,TIME_LIMIT_50,TIME_LIMIT");
}

}  // namespace
}  // namespace sluice
