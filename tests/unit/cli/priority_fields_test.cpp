// The lines of sprio, as a Slurm 26.05 printed them.
#include "cli/format/priority_fields.hpp"

#include <gtest/gtest.h>

#include "cli/format/table_printer.hpp"

namespace sluice::cli {
namespace {

PriorityWeights captured_weights() {
  return {.age = 1000,
          .assoc = 0,
          .fair_share = 10000,
          .job_size = 1000,
          .partition = 1000,
          .qos = 2000,
          .tres = {}};
}

protocol::PriorityRecord captured_record() {
  protocol::PriorityRecord record;
  record.job = 23;
  record.partition = "debug";
  record.uid = 0;
  record.account = "physics";
  record.qos = "normal";
  record.priority = 6562;
  record.factors = {.fair_share = 0.5, .job_size = 0.5625, .partition = 1};
  return record;
}

std::string printed(const PriorityLayout& form, bool weights_only) {
  protocol::PriorityChunk all;
  all.weights = captured_weights();
  const std::string layout = priority_layout(form, all.weights);
  const protocol::PriorityRecord record = captured_record();
  RenderContext context;
  context.user_name = [](uint32_t) { return std::string("root"); };
  Table<PriorityView> table("sprio", "job", priority_fields(), parse_letter_format(layout));
  std::string out;
  table.append_header(out);
  table.append_row({weights_only ? nullptr : &record, &all}, context, out);
  return out;
}

TEST(Sprio, AsCaptured) {
  EXPECT_EQ(
      printed({}, false),
      "          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE    JOBSIZE  "
      "PARTITION        QOS\n"
      "             23 debug           6562          0          0       5000        562       "
      "1000          0\n");
  EXPECT_EQ(
      printed({}, true),
      "          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE    JOBSIZE  "
      "PARTITION        QOS\n"
      "        Weights                               1       1000      10000       1000       "
      "1000       2000\n");
}

TEST(Sprio, LongAsCaptured) {
  EXPECT_EQ(printed({.long_form = true}, false),
            "          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      "
            "ASSOC  FAIRSHARE    JOBSIZE  PARTITION    QOSNAME        QOS        NICE             "
            "    TRES\n"
            "             23 debug         root  physics       6562          0          0          "
            "0       5000        562       1000     normal          0           0               "
            "      \n");
}

}  // namespace
}  // namespace sluice::cli
