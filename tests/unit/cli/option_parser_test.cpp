// Which source of an option wins, and how lines of directives are read.
#include "cli/shared/option_parser.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

class OptionParserTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("SBATCH_PARTITION");
    unsetenv("SBATCH_ACCOUNT");
    unsetenv("SLURM_LABELIO");
  }
  // The exit status of reading `words`; -1 when it goes on.
  int arguments(OptionParser& parser, std::vector<std::string> words) {
    std::vector<char*> argv = {program_.data()};
    for (std::string& word : words)
      argv.push_back(word.data());
    return parser.read_arguments(static_cast<int>(argv.size()), argv.data()).value_or(-1);
  }
  std::string program_ = "sbatch";
};

TEST_F(OptionParserTest, ArgumentsWinOverEnvironmentOverScript) {
  OptionParser parser(kSbatch);
  ASSERT_EQ(arguments(parser, {"-J", "arg", "job.sh", "-J", "operand"}), -1);
  ASSERT_FALSE(parser.read_script(
      "#!/bin/sh\n#SBATCH -J script -p script\n#SBATCH --account=script --comment='a b'\n", "f"));
  setenv("SBATCH_PARTITION", "env", 1);
  setenv("SBATCH_ACCOUNT", "env", 1);
  parser.read_environment();
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_EQ(s.job.name, "arg");
  EXPECT_EQ(s.job.partitions, "env");
  EXPECT_EQ(s.job.account, "env");
  EXPECT_EQ(s.job.comment, "a b");
  EXPECT_EQ(parser.operands(), (std::vector<std::string>{"job.sh", "-J", "operand"}));
}

TEST_F(OptionParserTest, DirectivesEndAtTheFirstCommand) {
  OptionParser parser(kSbatch);
  ASSERT_FALSE(parser.read_script(
      "#!/bin/sh\n#SBATCH -n 3 # rest -n 9\n\n  # remark\n #SBATCH -n 7\ntrue\n#SBATCH -n 5\n",
      "f"));
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_EQ(s.job.num_tasks, 3U);
}

TEST_F(OptionParserTest, ForeignDirectivesNameTheJob) {
  OptionParser parser(kSbatch);
  ASSERT_FALSE(parser.read_script("#!/bin/sh\n#PBS -N foo\n#PBS -l nodes=2\ntrue\n", "f"));
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_EQ(s.job.name, "foo");
  EXPECT_EQ(s.job.min_nodes, 0U);
}

TEST_F(OptionParserTest, AFlagInTheEnvironmentCanBeOff) {
  setenv("SLURM_LABELIO", "0", 1);
  OptionParser parser(kSrun);
  parser.read_environment();
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_FALSE(s.step.label);
}

TEST_F(OptionParserTest, ShortOptionsClusterAndLongOnesMayBeCutShort) {
  OptionParser parser(kSrun);
  ASSERT_EQ(arguments(parser, {"-lN2", "--jobi=12", "-vv", "prog", "-l"}), -1);
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_TRUE(s.step.label);
  EXPECT_EQ(s.job.min_nodes, 2U);
  EXPECT_EQ(s.settings.job_id, 12U);
  EXPECT_EQ(s.settings.verbose, 2U);
  EXPECT_EQ(parser.operands(), (std::vector<std::string>{"prog", "-l"}));
}

TEST_F(OptionParserTest, MemoryIsAskedForInOneWay) {
  OptionParser parser(kSbatch);
  ASSERT_EQ(arguments(parser, {"--mem=10", "--mem-per-cpu=10"}), -1);
  Submission s;
  EXPECT_EQ(parser.apply(s), 1);
}

TEST(DirectiveWordsTest, QuotesAndRemarks) {
  using List = std::vector<std::string>;
  EXPECT_EQ(*directive_words(" --a=\"b c\" -x 'y z' # no"), (List{"--a=b c", "-x", "y z"}));
  EXPECT_EQ(*directive_words(""), List{});
  EXPECT_EQ(directive_words(" --comment=\"a").error().text, "Unmatched `\"` in [--comment=\"a]");
}

}  // namespace
}  // namespace sluice::cli
