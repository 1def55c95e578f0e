// What srun says of a step that does not fit into its job.
#include "cli/options/step_checks.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using Lines = std::vector<std::string>;

Submission step(uint32_t nodes) {
  Submission s;
  s.job.min_nodes = s.job.max_nodes = nodes;
  return s;
}
Lines faults(const Submission& s) { return step_faults(s, 2, "n[1-2]"); }

TEST(StepChecksTest, NodesOfTheJob) {
  EXPECT_EQ(faults(step(2)), Lines{});
  EXPECT_EQ(faults(step(3)), Lines{"Only allocated 2 nodes asked for 3"});
}

TEST(StepChecksTest, Relative) {
  Submission s = step(2);
  s.step.relative = 1;
  EXPECT_EQ(faults(s), Lines{"--relative and --nodes option incompatible with count of allocated "
                             "nodes (1+2>2)"});
  s.settings.nodes_inherited = true;
  EXPECT_EQ(faults(s), Lines{"--relative and SLURM_JOB_NUM_NODES option incompatible with count of "
                             "allocated nodes (1+2>2)"});
  s.job.min_nodes = 1;
  EXPECT_EQ(faults(s), Lines{});
  s.step.relative = 2;  // fewer tasks than nodes made them one
  EXPECT_EQ(faults(s), Lines{"--relative and --nodes option incompatible with count of allocated "
                             "nodes (2+1>2)"});
  s.step.relative = 0;
  s.job.required_nodes = "n2";
  const Lines refused{"-r,--relative not allowed with -w,--nodelist or -x,--exclude."};
  EXPECT_EQ(faults(s), refused);
  s.job.required_nodes = "";
  s.job.excluded_nodes = "n1";
  EXPECT_EQ(faults(s), refused);
}

TEST(StepChecksTest, ExcludedNodes) {
  Submission s = step(2);
  s.job.excluded_nodes = "n3";
  EXPECT_EQ(faults(s), Lines{});
  s.job.excluded_nodes = "n1";
  EXPECT_EQ(faults(s), (Lines{"Only allocated 1 nodes asked for 2",
                              "Are required nodes explicitly excluded?"}));
  s.job.min_nodes = 1;
  EXPECT_EQ(faults(s), Lines{});
  s.job.required_nodes = "n1";
  EXPECT_EQ(faults(s),
            (Lines{"Requested node n1 is also in the excluded list.", "Job not submitted."}));
  s.job.required_nodes = "";
  s.job.excluded_nodes = "n[1-3]";
  EXPECT_EQ(faults(s), Lines{"Hostlist is empty!  Can't run job."});
}

}  // namespace
}  // namespace sluice::cli
