// #PBS lines, as Slurm 22.05 was seen to take them.
#include "cli/options/pbs_directives.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

// "nodes=2 hold"; "?" and what was said when the line is refused.
std::string meaning(const std::vector<std::string>& words) {
  ::testing::internal::CaptureStderr();
  const auto options = pbs_options(words);
  const std::string said = ::testing::internal::GetCapturedStderr();
  if (!options) return "?" + said;
  std::string out;
  for (const PbsOption& option : *options) {
    out.append(out.empty() ? "" : " ").append(option.name);
    if (option.value) out.append("=").append(*option.value);
  }
  return out;
}
std::string resources(const std::string& list) { return meaning({"-l", list}); }

TEST(PbsDirectives, Letters) {
  EXPECT_EQ(meaning({"-N", "a b"}), "job-name=a b");
  EXPECT_EQ(meaning({"-Nglued", "-h", "-V", "-r", "n"}), "job-name=glued hold");
  EXPECT_EQ(meaning({"-A", "acc", "-q", "debug", "-t", "1-3", "-M", "me"}),
            "account=acc partition=debug array=1-3 mail-user=me");
  EXPECT_EQ(meaning({"-m", "abex"}), "mail-type=BEGIN,END,FAIL");
  EXPECT_EQ(meaning({"-p", "-10", "-p", "x"}), "nice=-10");
  EXPECT_EQ(meaning({"-W", "depend=afterok:1", "-W", "x=y"}), "dependency=afterok:1");
  EXPECT_EQ(meaning({"-v", "A=1,B=2"}), "export=A=1,B=2");
}

TEST(PbsDirectives, Resources) {
  EXPECT_EQ(resources("nodes=2"), "nodes=2");
  EXPECT_EQ(resources("nodes=2:ppn=3,walltime=00:20:00,mem=200mb"),
            "nodes=2 ntasks=6 time=00:20:00 mem=200m");
  EXPECT_EQ(resources("nodes=n1:ppn=2+n2:ppn=4"), "ntasks=6 nodelist=n1,n2");
  EXPECT_EQ(resources("nodes=1:ppn=2+n2"), "nodes=1 ntasks=2 nodelist=n2");
  EXPECT_EQ(resources("nodes=2:ppn=x"), "nodes=2");
  EXPECT_EQ(resources("nodes=0"), "");
  EXPECT_EQ(resources("select=2:ncpus=4"), "nodes=2 mincpus=4");
  EXPECT_EQ(resources("cput=10,file=10mb,nice=5,mpiprocs=2"),
            "time=10 tmp=10m nice=5 ntasks-per-node=2");
  EXPECT_EQ(resources("naccelerators=2"), "gres=gpu:2");
  EXPECT_EQ(resources("walltime,host=n2,pmem=1gb,foo=bar"), "");
}

TEST(PbsDirectives, WhatIsRefused) {
  const std::string unknown = "sbatch: error: Unrecognized command line parameter ?\n";
  EXPECT_EQ(meaning({"-d", "/tmp"}), "?sbatch: invalid option -- 'd'\n" + unknown);
  EXPECT_EQ(meaning({"-N"}), "?sbatch: option requires an argument -- 'N'\n" + unknown);
  EXPECT_EQ(meaning({"--foo"}), "?sbatch: unrecognized option '--foo'\n" + unknown);
  EXPECT_EQ(meaning({"-N", "x", "y"}), "?sbatch: error: Invalid argument: y\n");
  EXPECT_EQ(resources("naccelerators=0"),
            "?sbatch: error: Invalid numeric value \"0\" for naccelerators.\n");
}

}  // namespace
}  // namespace sluice::cli
