// Which source of an option wins, and how lines of directives are read.
#include "cli/options/option_parser.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
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
    for (std::string& word : words) argv.push_back(word.data());
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

// Whatever the order of the table of options.
TEST_F(OptionParserTest, OfTwoWaysToSayTheSameTheLaterCounts) {
  const auto sharing = [this](std::vector<std::string> words, const std::string& directive = {}) {
    OptionParser parser(kSbatch);
    EXPECT_EQ(arguments(parser, std::move(words)), -1);
    EXPECT_FALSE(parser.read_script("#!/bin/sh\n#SBATCH " + directive + "\n", "f"));
    Submission s;
    EXPECT_FALSE(parser.apply(s));
    return s.job.sharing;
  };
  EXPECT_EQ(sharing({"--exclusive", "-s", "job.sh"}), Sharing::kOversubscribe);
  EXPECT_EQ(sharing({"-s", "--exclusive", "job.sh"}), Sharing::kExclusive);
  EXPECT_EQ(sharing({"-s", "job.sh"}, "--exclusive"), Sharing::kOversubscribe);
  EXPECT_EQ(sharing({"--exclusive", "job.sh"}, "-s"), Sharing::kExclusive);
}

// The bug: --requeue won over --no-requeue, wherever they were said.
TEST_F(OptionParserTest, OfRequeueAndNoRequeueTheLaterCounts) {
  const auto requeue = [this](std::vector<std::string> words, const std::string& directive = {}) {
    OptionParser parser(kSbatch);
    EXPECT_EQ(arguments(parser, std::move(words)), -1);
    EXPECT_FALSE(parser.read_script("#!/bin/sh\n#SBATCH " + directive + "\n", "f"));
    parser.read_environment();
    Submission s;
    EXPECT_FALSE(parser.apply(s));
    return s.job.requeue;
  };
  EXPECT_EQ(requeue({"--requeue", "--no-requeue", "job.sh"}), Toggle::kNo);
  EXPECT_EQ(requeue({"--no-requeue", "--requeue", "job.sh"}), Toggle::kYes);
  EXPECT_EQ(requeue({"--no-requeue", "job.sh"}, "--requeue"), Toggle::kNo);
  EXPECT_EQ(requeue({"--requeue", "job.sh"}, "--no-requeue"), Toggle::kYes);
  setenv("SBATCH_REQUEUE", "1", 1);
  EXPECT_EQ(requeue({"--no-requeue", "job.sh"}), Toggle::kNo);
  unsetenv("SBATCH_REQUEUE");
}

TEST_F(OptionParserTest, NoFileIsNamedInAnyCase) {
  OptionParser parser(kSbatch);
  ASSERT_EQ(arguments(parser, {"-o", "NONE", "-e", "None", "-i", "none", "job.sh"}), -1);
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  for (const SharedText& file : {s.job.std_out, s.job.std_err, s.job.std_in})
    EXPECT_EQ(file, "/dev/null");
}

// The bug: the job's own SLURM_TRES_PER_TASK won over a step's --gpus-per-task, and its SLURM_GPUS
// over --gres=none.
TEST_F(OptionParserTest, GpusOfTheCommandLineWinOverThoseOfTheJobAround) {
  const std::vector<std::pair<const char*, const char*>> job = {
      {"SLURM_TRES_PER_TASK", "cpu=3,gres/gpu:2,gres/nic:1"}, {"SLURM_GPUS", "4"}};
  for (const auto& [name, value] : job) setenv(name, value, 1);
  const auto read = [this](std::vector<std::string> words) {
    words.emplace_back("true");
    OptionParser parser(kSrun);
    EXPECT_EQ(arguments(parser, std::move(words)), -1);
    parser.read_environment();
    Submission s;
    EXPECT_FALSE(parser.apply(s));
    return fmt::format("{} {} {}", s.job.cpus_per_task, s.job.tres_per_task.view(),
                       s.job.tres_per_job.view());
  };
  EXPECT_EQ(read({}), "3 gres/gpu:2,gres/nic:1 gres/gpu:4");
  EXPECT_EQ(read({"--gpus-per-task=1"}), "3 gres/gpu:1,gres/nic:1 gres/gpu:4");
  EXPECT_EQ(read({"--gres=none"}), "3  ");
  EXPECT_EQ(read({"--gres=none", "--gpus=1"}), "3  gres/gpu:1");
  setenv("SLURM_TRES_PER_TASK", "gres/gpu:2", 1);
  EXPECT_EQ(read({"--gpus-per-task=1"}), "0 gres/gpu:1 gres/gpu:4");
  EXPECT_EQ(read({"--tres-per-task=gres/gpu:1"}), "0 gres/gpu:1 gres/gpu:4");
  for (const auto& [name, value] : job) unsetenv(name);
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

// The bug: it was the argument, and `#SBATCH -J ""` left the job without a name.
TEST_F(OptionParserTest, AnEmptyWordOfADirectiveIsNoArgument) {
  const auto said = [](const std::string& directive) {
    OptionParser parser(kSbatch);
    ::testing::internal::CaptureStderr();
    const auto status = parser.read_script("#!/bin/sh\n#SBATCH " + directive + "\ntrue\n", "f");
    const std::string text = ::testing::internal::GetCapturedStderr();
    return std::to_string(status.value_or(-1)) + " " + text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(said("-J \"\""), "255 sbatch: option requires an argument -- 'J'");
  EXPECT_EQ(said("-n2 -J '' -N2"), "255 sbatch: option requires an argument -- 'J'");
  EXPECT_EQ(said("--comment \"\""), "255 sbatch: option '--comment' requires an argument");
  EXPECT_EQ(said("-n2 \"\" -N2"), "255 sbatch: error: Invalid directive found in batch script: ");
  EXPECT_EQ(said("--job-name=\"\""), "-1 ");
  EXPECT_EQ(said("-J a\"\"b -n2"), "-1 ");
}

// The bug: of #PBS lines nothing but names was taken. As Slurm 22.05 has them they count more than
// our own.
TEST_F(OptionParserTest, ForeignDirectives) {
  OptionParser parser(kSbatch);
  ASSERT_FALSE(parser.read_script(
      "#!/bin/sh\n#PBS -N foo\n#PBS -l nodes=2\n#SBATCH -N1 -J own -n5\ntrue\n#PBS -l walltime=00:10:00\n"
      "#SBATCH -n9\n",
      "f"));
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_EQ(s.job.name, "foo");
  EXPECT_EQ(s.job.min_nodes, 2U);
  EXPECT_EQ(s.job.num_tasks, 5U);
  EXPECT_EQ(s.job.time_limit, 10U);
  Submission lsf;
  OptionParser other(kSbatch);
  ASSERT_FALSE(
      other.read_script("#!/bin/sh\n#BSUB -J bar\n#BSUB -n 2,4 -W 90\n#PBS -N pbs\ntrue\n"
                        "#BSUB -m \"n1 n2\" -x -M 1500\n",
                        "f"));
  ASSERT_FALSE(other.apply(lsf));
  EXPECT_EQ(lsf.job.name, "bar");
  EXPECT_EQ(lsf.job.num_tasks, 4U);
  EXPECT_EQ(lsf.job.time_limit, 90U);
  EXPECT_EQ(lsf.job.required_nodes, "n1,n2");
  EXPECT_EQ(lsf.job.memory_mib, 2U);
  EXPECT_EQ(lsf.job.sharing, Sharing::kExclusive);
  OptionParser wrong(kSbatch);
  EXPECT_EQ(wrong.read_script("#!/bin/sh\n#BSUB -R span[hosts=1]\n", "f"), 1);
}

TEST_F(OptionParserTest, AFlagInTheEnvironmentCanBeOff) {
  setenv("SLURM_LABELIO", "0", 1);
  OptionParser parser(kSrun);
  parser.read_environment();
  Submission s;
  ASSERT_FALSE(parser.apply(s));
  EXPECT_FALSE(s.step.label);
}

// The hint was taken together with what excludes it. As Slurm 22.05 does.
TEST_F(OptionParserTest, AHintAndWhatItStandsForExcludeEachOther) {
  const auto hint_of = [this](
                           std::vector<std::string> words,
                           const std::vector<std::pair<const char*, const char*>>& variables = {}) {
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    OptionParser parser(kSrun);
    EXPECT_EQ(arguments(parser, std::move(words)), -1);
    parser.read_environment();
    Submission s;
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(parser.apply(s));
    if (s.settings.verbose > 0) parser.print_defined(s);
    std::string said = ::testing::internal::GetCapturedStderr();
    said.resize(std::min(said.size(), said.find("srun: defined options")));
    for (const auto& variable : variables) unsetenv(variable.first);
    return s.job.hint.str() + " " + std::to_string(s.job.ntasks_per_core) + " " +
           s.step.cpu_bind.str() + said;
  };
  const std::string begin =
      "srun: Following options are mutually exclusive with --hint: --ntasks-per-core, --threads-per-core, -B and --cpu-bind";
  EXPECT_EQ(hint_of({"--hint=nomultithread", "--ntasks-per-core=2"}), " 2 ");
  EXPECT_EQ(hint_of({"-v", "--hint=nomultithread", "--ntasks-per-core=2"}),
            " 2 " + begin + " (other then --cpu-bind=verbose). Ignoring --hint.\n");
  EXPECT_EQ(hint_of({"--hint=nomultithread", "--cpu-bind=verbose"}), "nomultithread 0 verbose");
  EXPECT_EQ(hint_of({"--hint=nomultithread", "--cpu-bind=cores"}), " 0 cores");
  EXPECT_EQ(hint_of({"--hint=nomultithread"}, {{"SLURM_NTASKS_PER_CORE", "2"}}),
            "nomultithread 0 ");
  EXPECT_EQ(hint_of({"--ntasks-per-core=2"}, {{"SLURM_HINT", "nomultithread"}}), " 2 ");
  EXPECT_EQ(hint_of({"-v"}, {{"SLURM_HINT", "nomultithread"}, {"SLURM_CPU_BIND", "cores"}}),
            " 0 cores" + begin +
                ", but more than one set by environment variables. Ignoring SLURM_HINT.\n");
}

// It was passed over that they contradict each other.
TEST_F(OptionParserTest, VerboseAndQuietExcludeEachOther) {
  OptionParser parser(kSrun);
  EXPECT_EQ(arguments(parser, {"-vQ", "true"}), -1);
  Submission s;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parser.apply(s), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "srun: error: don't specify both --verbose (-v) and --quiet (-Q)\n");
}

// Values were shown as they were given.
TEST_F(OptionParserTest, TheTableOfOptionsShowsWhatTheyCameTo) {
  const auto shown = [this](CommandSet command, std::vector<std::string> words) {
    program_ = submit_command_name(command);
    OptionParser parser(command);
    EXPECT_EQ(arguments(parser, std::move(words)), -1);
    parser.read_environment();
    Submission s;
    EXPECT_FALSE(parser.apply(s));
    ::testing::internal::CaptureStderr();
    parser.print_defined(s);
    return ::testing::internal::GetCapturedStderr();
  };
  const auto table = [](const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& rows) {
    const std::string rule = name + ": -------------------- --------------------\n";
    std::string out = name + ": defined options\n" + rule;
    for (const auto& [option, value] : rows)
      out += name + ": " + option + std::string(20 - option.size(), ' ') + ": " + value + "\n";
    return out + rule + name + ": end of defined options\n";
  };
  setenv("SBATCH_DEBUG", "1", 1);
  EXPECT_EQ(shown(kSbatch, {"-vvv", "-A", "x", "-t3", "-o", "/tmp/o", "--mem=2048", "--gres=gpu:2",
                            "--no-requeue", "--exclusive", "--open-mode=append", "--signal=10@30",
                            "--nice", "--switches=2@10"}),
            table("sbatch", {{"account", "x"},
                             {"exclusive", "exclusive"},
                             {"gres", "gres:gpu:2"},
                             {"mem", "2G"},
                             {"nice", "100"},
                             {"no-requeue", "no-requeue"},
                             {"open-mode", "a"},
                             {"output", "/tmp/o"},
                             {"signal", "USR1@30"},
                             {"switches", "2@00:10:00"},
                             {"time", "00:03:00"},
                             {"verbose", "4"}}));
  unsetenv("SBATCH_DEBUG");
  EXPECT_EQ(shown(kSrun, {"-v", "-K", "-i", "none", "-o", "o", "-I", "--time=0",
                          "--mem-per-cpu=1500K", "true"}),
            table("srun", {{"immediate", "1"},
                           {"input", "/dev/null"},
                           {"kill-on-bad-exit", "1"},
                           {"mem-per-cpu", "2"},
                           {"output", "o"},
                           {"time", "UNLIMITED"},
                           {"verbose", "1"}}));
  EXPECT_EQ(shown(kSalloc, {"-v", "-K9", "--bell", "--no-shell", "--time-min=5"}),
            table("salloc", {{"bell", "bell-always"},
                             {"kill-command", "KILL"},
                             {"no-shell", "set"},
                             {"time-min", "00:05:00"},
                             {"verbose", "1"}}));
}

// The exit status when a variable is set to nothing; -1 when the command goes on.
int status_of_empty(CommandSet command, const std::string& variable) {
  setenv(variable.c_str(), "", 1);
  OptionParser parser(command);
  parser.read_environment();
  Submission s;
  const int status = parser.apply(s).value_or(-1);
  unsetenv(variable.c_str());
  return status;
}

// As Slurm 22.05 has them; of every command's own variables that it refuses, by its exit status.
TEST_F(OptionParserTest, VariablesThatAreEmptyAreValuesOfTheirOptions) {
  const std::vector<std::pair<int, std::vector<std::string>>> refused = {
      {1, {"CPUS_PER_GPU", "HINT", "REQ_SWITCH", "THREADS_PER_CORE", "THREAD_SPEC"}},
      {255,
       {"CPU_FREQ_REQ", "DELAY_BOOT", "GPU_BIND", "GPU_FREQ", "GRES_FLAGS", "MEM_BIND",
        "MEM_PER_CPU", "MEM_PER_GPU", "MEM_PER_NODE", "PROFILE", "SIGNAL", "TIMELIMIT"}}};
  const std::vector<std::string> accepted = {
      "ACCOUNT",       "ACCTG_FREQ",  "BURST_BUFFER", "CLUSTER_CONSTRAINT", "CONSTRAINT",
      "CORE_SPEC",     "EXCLUSIVE",   "GPUS",         "GPUS_PER_NODE",      "GPUS_PER_SOCKET",
      "GPUS_PER_TASK", "NETWORK",     "NO_KILL",      "OVERCOMMIT",         "POWER",
      "QOS",           "RESERVATION", "SPREAD_JOB",   "USE_MIN_NODES",      "WAIT4SWITCH",
      "WCKEY"};
  const std::pair<CommandSet, std::string> commands[] = {
      {kSbatch, "SBATCH_"}, {kSrun, "SLURM_"}, {kSalloc, "SALLOC_"}};
  for (const auto& [command, prefix] : commands) {
    for (const auto& [status, names] : refused) {
      for (const std::string& name : names)
        EXPECT_EQ(status_of_empty(command, prefix + name), status) << prefix << name;
    }
    for (const std::string& name : accepted)
      EXPECT_EQ(status_of_empty(command, prefix + name), -1) << prefix << name;
    EXPECT_EQ(status_of_empty(command, "SLURM_CLUSTERS"), 1);
    EXPECT_EQ(status_of_empty(command, "SLURM_HINT"), 1);
  }
  for (const char* name : {"SBATCH_CLUSTERS", "SBATCH_HINT"})
    EXPECT_EQ(status_of_empty(kSbatch, name), 1) << name;
  for (const char* name : {"SBATCH_DISTRIBUTION", "SBATCH_OPEN_MODE"})
    EXPECT_EQ(status_of_empty(kSbatch, name), 255) << name;
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_ERROR", "SBATCH_GET_USER_ENV",
                           "SBATCH_REQUEUE", "SBATCH_WAIT_ALL_NODES"})
    EXPECT_EQ(status_of_empty(kSbatch, name), -1) << name;
}

TEST_F(OptionParserTest, ResourcesWithoutANameAreRefusedWhereTheyAreAskedFor) {
  setenv("SBATCH_GRES", "", 1);
  for (const auto& [options, expected] :
       {std::pair(std::vector<std::string>{}, ErrorCode::kInvalidTres),
        {{"--gres=none"}, ErrorCode::kOk},
        {{"--gres="}, ErrorCode::kInvalidTres}}) {
    OptionParser parser(kSbatch);
    ASSERT_EQ(arguments(parser, options), -1);
    parser.read_environment();
    Submission s;
    ASSERT_FALSE(parser.apply(s));
    const Status known = check_gres(s.job, {"gpu"});
    EXPECT_EQ(known ? ErrorCode::kOk : known.error().code, expected) << options.size();
  }
  unsetenv("SBATCH_GRES");
}

TEST_F(OptionParserTest, EmptyVariablesOfSrunAlone) {
  for (const char* name :
       {"SLURM_CPU_BIND", "SLURM_JOB_ID", "SLURM_MPI_TYPE", "SLURM_NCORES_PER_SOCKET",
        "SLURM_NPROCS", "SLURM_NSOCKETS_PER_NODE", "SLURM_NTASKS", "SLURM_NTASKS_PER_GPU",
        "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_TRES", "SLURM_THREADS", "SRUN_CPUS_PER_TASK"})
    EXPECT_EQ(status_of_empty(kSrun, name), 1) << name;
  for (const char* name : {"SLURM_DISTRIBUTION", "SLURM_JOB_NUM_NODES", "SLURM_OPEN_MODE"})
    EXPECT_EQ(status_of_empty(kSrun, name), 255) << name;
  for (const char* name :
       {"SLURMD_DEBUG",     "SLURM_BCAST",      "SLURM_COMPRESS",        "SLURM_DEPENDENCY",
        "SLURM_EPILOG",     "SLURM_IMMEDIATE",  "SLURM_JOB_NAME",        "SLURM_KILL_BAD_EXIT",
        "SLURM_LABELIO",    "SLURM_NNODES",     "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_SOCKET",
        "SLURM_OVERLAP",    "SLURM_REMOTE_CWD", "SLURM_RESV_PORTS",      "SLURM_SEND_LIBS",
        "SLURM_STDOUTMODE", "SLURM_STEP_GRES",  "SLURM_TASK_PROLOG",     "SLURM_WAIT",
        "SLURM_WORKING_DIR"})
    EXPECT_EQ(status_of_empty(kSrun, name), -1) << name;
  for (const char* name : {"SALLOC_BELL", "SALLOC_IMMEDIATE", "SALLOC_KILL_CMD", "SALLOC_NO_BELL",
                           "SALLOC_WAIT_ALL_NODES"})
    EXPECT_EQ(status_of_empty(kSalloc, name), -1) << name;
}

TEST_F(OptionParserTest, TheWaitForSwitchesHasAVariable) {
  setenv("SBATCH_WAIT4SWITCH", "30", 1);
  for (const auto& [option, expected] :
       {std::pair("--switches=2", "2@30"), {"--switches=2@5", "2@5"}, {"-N2", ""}}) {
    OptionParser parser(kSbatch);
    ASSERT_EQ(arguments(parser, {option}), -1);
    parser.read_environment();
    Submission s;
    ASSERT_FALSE(parser.apply(s));
    EXPECT_EQ(s.job.switches, expected) << option;
  }
  unsetenv("SBATCH_WAIT4SWITCH");
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

TEST_F(OptionParserTest, ComponentsOfAScript) {
  const char* script =
      "#!/bin/sh\n#SBATCH -n2 --mem=10 -J all -t 5\n#SBATCH  hetjob \n#SBATCH -n3 --mem-per-cpu=7\n"
      "#SBATCH packjob\n#SBATCH -c 4 -J last\necho\n#SBATCH hetjob\n";
  EXPECT_EQ(script_components(script).count, 3U);
  EXPECT_TRUE(script_components(script).old_word);
  std::vector<OptionParser> parsers(3, OptionParser(kSbatch));
  std::vector<Submission> s(3);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_FALSE(parsers[i].read_script(script, "f", i));
    if (i > 0) parsers[i].inherit(parsers[i - 1]);
    ASSERT_FALSE(parsers[i].apply(s[i]));
  }
  EXPECT_EQ(s[0].job.num_tasks, 2U);
  EXPECT_EQ(s[1].job.num_tasks, 3U);
  EXPECT_EQ(s[2].job.num_tasks, 0U);  // each component's own
  EXPECT_EQ(s[1].job.name, "all");    // the job's
  EXPECT_EQ(s[2].job.name, "last");
  EXPECT_EQ(s[2].job.time_limit, 5U);
  EXPECT_EQ(s[1].job.memory_kind, MemoryKind::kPerCpu);
  EXPECT_EQ(s[1].job.memory_mib, 7U);
}

// What is said of a later component alone counted for that one and those behind it.
TEST_F(OptionParserTest, TheFirstComponentHasWhatIsSaidOfTheJobBehindIt) {
  std::vector<OptionParser> parsers(2, OptionParser(kSbatch));
  ASSERT_EQ(arguments(parsers[0], {"-t", "4"}), -1);
  ASSERT_EQ(arguments(parsers[1], {"-n3", "-J", "behind", "-t", "5", "-H"}), -1);
  ASSERT_FALSE(parsers[1].read_script("#SBATCH --comment=of_the_script\n", "f"));
  parsers[0].inherit_from_behind(parsers[1]);
  Submission s;
  ASSERT_FALSE(parsers[0].apply(s));
  EXPECT_EQ(s.job.name, "behind");
  EXPECT_TRUE(s.job.hold);
  EXPECT_EQ(s.job.time_limit, 4U);
  EXPECT_EQ(s.job.num_tasks, 0U);
  EXPECT_EQ(s.job.comment, "");
}

TEST_F(OptionParserTest, VariablesOfAComponentStandForThePlainOnes) {
  for (const auto& [name, value] :
       {std::pair{"SLURM_HET_SIZE", "2"}, std::pair{"SLURM_NTASKS", "9"},
        std::pair{"SLURM_NTASKS_HET_GROUP_1", "4"}, std::pair{"SLURM_LABELIO", "1"}}) {
    setenv(name, value, 1);
  }
  const auto tasks_of = [](std::optional<uint32_t> group) {
    OptionParser parser(kSrun);
    parser.read_environment(group);
    Submission s;
    EXPECT_FALSE(parser.apply(s));
    EXPECT_TRUE(s.step.label);
    return s.job.num_tasks;
  };
  EXPECT_EQ(tasks_of(1), 4U);
  EXPECT_EQ(tasks_of(0), 0U);  // the others have it, this one does not
  EXPECT_EQ(tasks_of(std::nullopt), 9U);
  for (const char* name : {"SLURM_HET_SIZE", "SLURM_NTASKS", "SLURM_NTASKS_HET_GROUP_1"})
    unsetenv(name);
}

TEST(DirectiveWordsTest, QuotesAndRemarks) {
  using List = std::vector<std::string>;
  EXPECT_EQ(*directive_words(" --a=\"b c\" -x 'y z' # no"), (List{"--a=b c", "-x", "y z"}));
  EXPECT_EQ(*directive_words(""), List{});
  EXPECT_EQ(*directive_words(" -J a#b c"), (List{"-J", "a"}));
  EXPECT_EQ(*directive_words(" -J \"\" 'a #b'"), (List{"-J", "", "a #b"}));
  EXPECT_EQ(directive_words(" --comment=\"a").error().text, "Unmatched `\"` in [--comment=\"a]");
  EXPECT_EQ(directive_words(" -J \"x").error().text, "Unmatched `\"` in [ \"x]");
  EXPECT_EQ(directive_words("    -J    \"x  ").error().text, "Unmatched `\"` in [    \"x  ]");
}

TEST(DirectiveWordsTest, Backslashes) {
  using List = std::vector<std::string>;
  EXPECT_EQ(*directive_words(R"( --comment="say \"hi\"" 'a\'b')"),
            (List{R"(--comment=say "hi")", "a'b"}));
  EXPECT_EQ(*directive_words(R"( C:\\dir "C:\\dir\\" a\b 'a\b')"),
            (List{R"(C:\dir)", R"(C:\dir\)", "ab", "ab"}));
  EXPECT_EQ(*directive_words(R"( a\#b \# no # more)"), (List{"a#b", "#", "no"}));
  EXPECT_EQ(*directive_words(R"( a\ b "c\ d")"), (List{"a", "b", "c d"}));
  EXPECT_EQ(*directive_words(R"( -n 2 \)"), (List{"-n", "2"}));
  EXPECT_EQ(directive_words(R"( "a\")").error().text, R"(Unmatched `"` in ["a\"])");
}

}  // namespace
}  // namespace sluice::cli
