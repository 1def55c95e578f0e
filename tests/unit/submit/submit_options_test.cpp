// The table of submit options: every row that acts changes what is submitted, values are checked as
// Slurm does, and the environment's names are right.
#include "common/submit/submit_options.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/syntax/submit_values.hpp"
#include "common/wire/codec.hpp"
#include "unit/submit/submit_fixture.hpp"

namespace sluice {
namespace {

// A value that each option takes; what is not here takes "2".
const std::map<std::string_view, const char*> kSamples = {{"begin", "now+1hour"},
                                                          {"deadline", "now+1hour"},
                                                          {"distribution", "cyclic"},
                                                          {"cpu-bind", "cores"},
                                                          {"cpu_bind", "cores"},
                                                          {"hint", "nomultithread"},
                                                          {"kill-on-invalid-dep", "yes"},
                                                          {"mail-type", "END"},
                                                          {"mpi", "none"},
                                                          {"open-mode", "append"},
                                                          {"signal", "USR1@90"},
                                                          {"gpu-bind", "single:1"},
                                                          {"gres-flags", "enforce-binding"},
                                                          {"tres-bind", "gres/gpu:closest"},
                                                          {"tres-per-task", "cpu=2"},
                                                          {"requeue", nullptr},
                                                          {"no-kill", nullptr},
                                                          {"gres", "gpu:1"},
                                                          {"nice", "5"},
                                                          {"wait-all-nodes", "1"},
                                                          {"propagate", "STACK"},
                                                          {"exclusive", nullptr},
                                                          {"mem-bind", "local"},
                                                          {"oom-kill-step", "1"},
                                                          {"ignore-signals", "USR1"},
                                                          {"send-libs", "yes"},
                                                          {"bcast", "/tmp/x"},
                                                          {"compress", "lz4"},
                                                          {"x11", "first"},
                                                          {"kill-command", "INT"},
                                                          {"accel-bind", "g"}};

std::string fingerprint(const Submission& s) {
  const SubmitSettings& t = s.settings;
  std::string text = wire::encode(s.job) + "|" + wire::encode(s.step) + "|";
  for (const bool flag :
       {t.quiet, t.test_only, t.parsable, t.export_given, t.wait_for_end, t.wrap.has_value(),
        t.ignore_pbs, t.bell.value_or(false), t.bell.has_value(), t.no_shell,
        t.kill_signal.has_value(), t.disable_status, t.quit_on_interrupt, t.multi_prog,
        t.debugger_test, t.no_allocate, t.exclusive_step, t.propagate.has_value()}) {
    text += flag ? '1' : '0';
  }
  return text + std::to_string(t.verbose) + std::to_string(t.job_id) + t.prolog + t.epilog +
         t.node_file + t.export_file + t.user + t.group + t.broadcast.value_or("") +
         t.broadcast_exclude.value_or("") + t.compress.value_or("") +
         std::to_string(t.send_libraries.value_or(false)) +
         std::to_string(t.ignored_signals.size()) + std::to_string(t.message_seconds) +
         t.het_groups.to_text();
}

TEST(SubmitOptionsTest, EveryOptionThatActsChangesWhatIsSubmitted) {
  const std::string empty = fingerprint(Submission{});
  for (const SubmitOption& row : submit_options()) {
    if (row.status != OptionStatus::kActs || row.section == OptionSection::kHelp ||
        row.name == "version") {
      continue;
    }
    for (const CommandSet command : {kSbatch, kSrun, kSalloc}) {
      if ((row.commands & command) == 0) continue;
      const auto sample = kSamples.find(row.name);
      const char* value = row.argument_of(command) == OptionArgument::kNone ? nullptr
                          : sample != kSamples.end()                        ? sample->second
                                                                            : "2";
      Submission s;
      const OptionResult done = apply(s, std::string(row.name).c_str(), value, command);
      EXPECT_TRUE(done) << row.name << ": " << (done ? "" : done.error().errors.back());
      EXPECT_NE(fingerprint(s), empty) << row.name << " has no effect";
    }
  }
}

TEST(SubmitOptionsTest, RowsAreWellFormed) {
  for (const CommandSet command : {kSbatch, kSrun, kSalloc}) {
    std::map<char, std::string_view> letters;
    std::map<std::string_view, int> names;
    for (const SubmitOption& row : submit_options()) {
      if ((row.commands & command) == 0) continue;
      EXPECT_EQ(names[row.name]++, 0) << row.name;
      EXPECT_NE(row.set, nullptr) << row.name;
      EXPECT_GE(row.tier, 1);
      EXPECT_TRUE(row.section == OptionSection::kHidden || !row.help.empty()) << row.name;
      if (row.letter == 0) continue;
      EXPECT_TRUE(letters.emplace(row.letter, row.name).second) << row.name << row.letter;
    }
  }
}

TEST(SubmitOptionsTest, VariablesFollowTheCommand) {
  const auto variables = [](const char* name, CommandSet command) {
    return option_variables(*find_submit_option(name, command), command);
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(variables("account", kSbatch), List{"SBATCH_ACCOUNT"});
  EXPECT_EQ(variables("account", kSrun), List{"SLURM_ACCOUNT"});
  EXPECT_EQ(variables("account", kSalloc), List{"SALLOC_ACCOUNT"});
  EXPECT_EQ(variables("ntasks", kSrun), (List{"SLURM_NPROCS", "SLURM_NTASKS"}));
  EXPECT_EQ(variables("ntasks", kSbatch), List{});
  EXPECT_EQ(variables("clusters", kSalloc), (List{"SALLOC_CLUSTERS", "SLURM_CLUSTERS"}));
  EXPECT_EQ(variables("jobid", kSrun), List{"SLURM_JOB_ID"}) << "SLURM_JOBID is for programs alone";
  EXPECT_EQ(variables("output", kSrun), (List{"SLURM_STDOUTMODE", "SRUN_OUTPUT"}));
}

// tests/data/env-input.tsv: command, variable, option that it stands for.
TEST(SubmitOptionsTest, EveryVariableOfTheInventoryStandsForItsOption) {
  std::ifstream file("tests/data/env-input.tsv");
  size_t rows = 0;
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string command, variable, option;
    words >> command >> variable >> option;
    const CommandSet of = command == "sbatch" ? kSbatch : command == "srun" ? kSrun : kSalloc;
    const SubmitOption* row = find_submit_option(option, of);
    ASSERT_NE(row, nullptr) << line;
    const std::vector<std::string> known = option_variables(*row, of);
    EXPECT_NE(std::ranges::find(known, variable), known.end()) << line;
    ++rows;
  }
  EXPECT_GT(rows, 140u);
}

TEST(SubmitOptionsTest, FaultsAreSaidAsSlurmSaysThem) {
  EXPECT_EQ(fault("nodes", "x"), "\"x\" is not a valid node count");
  EXPECT_EQ(fault("nodes", "4-2"), "Maximum node count 2 is less than minimum node count 4");
  EXPECT_EQ(fault("nodes", "2-4-5"), "\"4-5\" is not a valid node count");
  EXPECT_EQ(fault("ntasks", "0"), "Invalid numeric value \"0\" for --ntasks.");
  EXPECT_EQ(fault("mem", "1.5G"), "Invalid --mem specification");
  EXPECT_EQ(fault("time", "abc"), "Invalid --time specification");
  EXPECT_EQ(fault("mail-type", "foo"), "Invalid --mail-type specification");
  EXPECT_EQ(fault("mail-type", "BEGIN,foo"), "");
  EXPECT_EQ(fault("signal", "USR1@x"), "Invalid --signal specification");
  EXPECT_EQ(fault("signal", "B:USR1", kSrun), "Invalid --signal specification");
  EXPECT_EQ(fault("distribution", "block:foo"), "Invalid --distribution specification");
  EXPECT_NE(fault("distribution", "plane=2,pack"), "");
  EXPECT_EQ(fault("gres", "gpu:a:b"), "Invalid generic resource (gres) specification");
  EXPECT_EQ(fault("extra-node-info", "x"), "Invalid numeric value \"x\" for first arg of -B.");
  EXPECT_EQ(fault("hint", "foo"), "unrecognized --hint argument \"foo\", see --hint=help");
  EXPECT_EQ(fault("hint", "nomultithread,foo"),
            "unrecognized --hint argument \"foo\", see --hint=help");
  EXPECT_EQ(fault("hint", "nomultithread,"), "unrecognized --hint argument \"\", see --hint=help");
  EXPECT_EQ(fault("hint", "Compute_Bound,nomultithread"), "");
  EXPECT_EQ(fault("propagate", "STACK,foo"), "--propagate=STACK,foo is not valid.");
  EXPECT_EQ(fault("propagate", "NONE,STACK"), "--propagate=NONE,STACK is not valid.");
  EXPECT_EQ(fault("propagate", "STACK,ALL"), "--propagate=STACK,ALL is not valid.");
  EXPECT_EQ(fault("priority", "-1"), "Priority must be >= 0");
  EXPECT_EQ(fault("exclusive", "foo"), "Invalid --exclusive specification");
  EXPECT_EQ(fault("exclusive", "user"), "");
  EXPECT_EQ(fault("acctg-freq", "foo=1"), "Invalid --acctg-freq specification: foo=1");
  EXPECT_EQ(fault("profile", "foo"), "invalid --profile=foo option");
  EXPECT_EQ(fault("mem-bind", "foo"), "unrecognized --mem-bind argument \"foo\"");
  EXPECT_EQ(fault("gpu-bind", "foo"), "Invalid --gpu-bind argument: gpu:foo");
  EXPECT_EQ(fault("gpu-bind", "verbose,map_gpu:0,x"),
            "Invalid --gpu-bind argument: gpu:verbose,map_gpu:0,x");
  EXPECT_EQ(fault("msg-timeout", "0", kSrun), "Invalid numeric value \"0\" for --msg-timeout.");
  EXPECT_EQ(fault("accel-bind", "x", kSrun), "Invalid --accel-bind specification");
  EXPECT_EQ(fault("accel-bind", "gx", kSrun), "");
}

TEST(SubmitOptionsTest, NumbersInListsOfBindingsAreChecked) {
  for (const char* good : {"map_mem:0,1", "map_mem:0*2", "mask_mem:0x1*2,3", "v,map_mem:0,,1",
                           "mask_mem:1,ff", "map_mem:0,v"}) {
    EXPECT_EQ(fault("mem-bind", good), "") << good;
  }
  EXPECT_EQ(fault("mem-bind", "map_mem"), "missing list for \"--mem-bind=map_mem:<list>\"");
  EXPECT_EQ(fault("mem-bind", "mask_mem:"), "missing list for \"--mem-bind=mask_mem:<list>\"");
  EXPECT_EQ(fault("mem-bind", "map_mem:0x1"),
            "Failed to validate number: 0x1, the offending character is x");
  EXPECT_EQ(fault("mem-bind", "map_mem:-1"),
            "Failed to validate number: -1, the offending character is -");
  EXPECT_EQ(fault("mem-bind", "map_mem:0*x"),
            "Failed to validate number: *x, the offending character is x");
  EXPECT_EQ(fault("mem-bind", "mask_mem:0xg"),
            "Failed to validate number: g, the offending character is g");
  EXPECT_EQ(fault("mem-bind", "map_mem:0,foo"), "unrecognized --mem-bind argument \"foo\"");
  for (const char* good :
       {"map_cpu:0,1,v", "mask_cpu:0xFF,f", "quiet,mask_cpu:0x03", "MAP_CPU:1", "map_ldom:1*2"}) {
    EXPECT_EQ(fault("cpu-bind", good, kSrun), "") << good;
  }
  for (const char* bad : {"foo", "", "map_cpu", "map_cpu:", "map_cpu:x", "map_cpu:0x1",
                          "mask_cpu:zz", "map_cpu:0,foo"}) {
    EXPECT_EQ(fault("cpu-bind", bad, kSrun), "fatal: Failed to parse --cpu-bind= values.") << bad;
  }
}

TEST(SubmitOptionsTest, HintsAreTakenTogether) {
  const auto follows = [](const char* hints) {
    Submission s;
    std::vector<std::string> said;
    EXPECT_TRUE(apply(s, "hint", hints, kSrun) && finish_submission(s, kSrun, said)) << hints;
    return std::to_string(s.job.threads_per_core) + std::to_string(s.job.cores_per_socket) +
           std::string(s.step.cpu_bind.view());
  };
  EXPECT_EQ(follows("compute_bound,nomultithread"), "10cores");
  EXPECT_EQ(follows("nomultithread,Memory_Bound"), "11cores");
  EXPECT_EQ(follows("multithread,nomultithread"), "10threads");
  EXPECT_EQ(follows("nomultithread,multithread"), "00threads");
}

// The bug: a socket had one task, and a job of more tasks than there are sockets was refused.
TEST(SubmitOptionsTest, MemoryBoundTasksMayShareASocket) {
  Submission s;
  std::vector<std::string> said;
  EXPECT_TRUE(apply(s, "hint", "memory_bound", kSbatch) && finish_submission(s, kSbatch, said));
  EXPECT_EQ(s.job.ntasks_per_socket, 0U);
}

TEST(SubmitOptionsTest, TheLaterOfTwoWaysToSayItCounts) {
  using Options = std::vector<std::pair<const char*, const char*>>;
  for (const CommandSet command : {kSbatch, kSrun, kSalloc}) {
    const auto made = [&](const Options& options) {
      Submission s;
      for (const auto& [name, value] : options) EXPECT_TRUE(apply(s, name, value, command)) << name;
      return s;
    };
    EXPECT_EQ(made({{"exclusive", nullptr}, {"oversubscribe", nullptr}}).job.sharing,
              Sharing::kOversubscribe);
    EXPECT_EQ(made({{"oversubscribe", nullptr}, {"exclusive", "user"}}).job.sharing,
              Sharing::kUser);
    const Submission list = made({{"nodefile", "hosts"}, {"nodelist", "n3"}});
    EXPECT_EQ(list.job.required_nodes, "n3");
    EXPECT_EQ(list.settings.node_file, "");
    for (const char* first : {"n3", "./others"}) {
      const Submission file = made({{"nodelist", first}, {"nodefile", "hosts"}});
      EXPECT_EQ(file.job.required_nodes, "");
      EXPECT_EQ(file.settings.node_file, "hosts");
      EXPECT_TRUE(file.settings.node_file_option);
    }
  }
}

TEST(SubmitOptionsTest, ValuesThatSayNothing) {
  Submission s;
  EXPECT_TRUE(apply(s, "propagate", "", kSrun));
  EXPECT_EQ(s.settings.propagate, "ALL");
  EXPECT_TRUE(apply(s, "priority", "0", kSbatch));
  EXPECT_EQ(s.job.priority, JobSpec().priority);
  EXPECT_TRUE(apply(s, "nodelist", "", kSbatch));
  EXPECT_EQ(s.job.node_counts, kNoNodes);
  EXPECT_TRUE(apply(s, "nodes", "2", kSbatch));
  EXPECT_EQ(s.job.node_counts, "");
}

TEST(SubmitOptionsTest, TheShapeOfNodesCountsTasks) {
  const auto tasks = [](CommandSet command, const char* shape,
                        std::vector<std::pair<const char*, const char*>> others = {}) {
    Submission s;
    EXPECT_TRUE(apply(s, "extra-node-info", shape, command));
    for (const auto& [name, value] : others) EXPECT_TRUE(apply(s, name, value, command));
    std::vector<std::string> said;
    EXPECT_TRUE(finish_submission(s, command, said));
    return s.job.num_tasks;
  };
  for (const CommandSet command : {kSbatch, kSalloc}) {
    EXPECT_EQ(tasks(command, "2:4"), 8U);
    EXPECT_EQ(tasks(command, "2"), 2U);
    EXPECT_EQ(tasks(command, "*:4"), 4U);
    EXPECT_EQ(tasks(command, "2:4:1", {{"nodes", "2"}}), 16U);
    EXPECT_EQ(tasks(command, "2:2", {{"nodelist", "n1,n2"}}), 8U);
    EXPECT_EQ(tasks(command, "2:2", {{"nodes", "2-3"}}), 0U) << "how many nodes is not known";
    EXPECT_EQ(tasks(command, "2:4", {{"ntasks", "1"}}), 1U);
    EXPECT_EQ(tasks(command, "2:2", {{"ntasks-per-node", "2"}}), 0U);
    EXPECT_EQ(tasks(command, "2:2", {{"gpus-per-task", "1"}}), 4U);
    EXPECT_EQ(tasks(command, "65535:65535:65535"), 0x7fffffffU);
  }
  EXPECT_EQ(tasks(kSrun, "2:4"), 0U);
}

TEST(SubmitOptionsTest, PartsOfTheShapeCountTasksWhereNodesAreAskedFor) {
  const auto tasks = [](std::vector<std::pair<const char*, const char*>> options) {
    Submission s;
    for (const auto& [name, value] : options) EXPECT_TRUE(apply(s, name, value, kSbatch)) << name;
    std::vector<std::string> said;
    EXPECT_TRUE(finish_submission(s, kSbatch, said));
    return s.job.num_tasks;
  };
  EXPECT_EQ(tasks({{"nodes", "2"}, {"cores-per-socket", "2"}}), 4U);
  EXPECT_EQ(tasks({{"nodelist", "n1,n2"}, {"cores-per-socket", "2"}}), 4U);
  EXPECT_EQ(tasks({{"nodes", "2"},
                   {"sockets-per-node", "1"},
                   {"cores-per-socket", "3"},
                   {"threads-per-core", "1"}}),
            6U);
  EXPECT_EQ(tasks({{"nodes", "2"}, {"cores-per-socket", "2"}, {"ntasks", "3"}}), 3U);
  EXPECT_EQ(tasks({{"nodes", "1-2"}, {"cores-per-socket", "2"}}), 0U)
      << "how many nodes is not known";
  EXPECT_EQ(tasks({{"cores-per-socket", "2"}}), 0U);
  // The bug: it was one task a node that was not told, and SLURM_TASKS_PER_NODE had all CPUs.
  EXPECT_EQ(tasks({{"nodes", "2"}, {"threads-per-core", "1"}}), 2U);
  EXPECT_EQ(tasks({{"nodes", "2"}, {"hint", "nomultithread"}}), 2U);
  EXPECT_EQ(tasks({{"hint", "nomultithread"}}), 0U);
}

TEST(SubmitOptionsTest, OnlyRootChoosesTheUser) {
  for (const CommandSet command : {kSbatch, kSrun, kSalloc}) {
    Submission s;
    EXPECT_TRUE(apply(s, "uid", "nobody", command));
    const OptionResult refused = apply(s, "gid", "0", command, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().errors.back(), "--gid only permitted by root user");
    EXPECT_EQ(refused.error().exit_status, 255);
    EXPECT_FALSE(apply(s, "uid", "nosuch", command, false));
  }
}

// The node list and the warnings (or the refusal) of a request, as "LIST|TEXT".
struct Request {
  uint32_t tasks = 0, least = 0, most = 0;
  const char* nodes = "";
  uint32_t tasks_per_node = 0;
};
std::string finished(const Request& request, CommandSet command) {
  Submission s;
  s.job.num_tasks = request.tasks;
  s.job.min_nodes = request.least;
  s.job.max_nodes = request.most;
  s.job.required_nodes = request.nodes;
  s.job.ntasks_per_node = request.tasks_per_node;
  std::vector<std::string> said;
  const OptionResult fits = finish_submission(s, command, said);
  if (!fits) return fits.error().errors.back();
  return fmt::format("{}|{}|{}", s.job.required_nodes.view(), s.job.min_nodes,
                     said.empty() ? "" : said.back());
}

TEST(SubmitOptionsTest, ANodeListIsCutToTasksAndNodes) {
  EXPECT_EQ(finished({.nodes = "n3,n2,n3"}, kSbatch), "n[2-3]|2|");
  for (const CommandSet command : {kSbatch, kSrun, kSalloc}) {
    EXPECT_EQ(finished({.tasks = 1, .nodes = "n3,n2"}, command),
              "n2|1|Warning: can't run 1 processes on 2 nodes, setting nnodes to 1");
  }
  const Request few = {.tasks = 4, .least = 1, .most = 2, .nodes = "n4,n3,n2"};
  EXPECT_EQ(finished(few, kSbatch), "invalid number of nodes (-N 3-2)");
  EXPECT_EQ(finished(few, kSalloc), "invalid number of nodes (-N 3-2)");
  EXPECT_EQ(
      finished(few, kSrun),
      "n[3-4]|2|error: Required nodelist includes more nodes than permitted by max-node count "
      "(3 > 2). Eliminating nodes from the nodelist.");
}

TEST(SubmitOptionsTest, AListOfNodesIsTheLeastThatIsTaken) {
  for (const CommandSet command : {kSbatch, kSalloc, kSrun}) {
    Submission s;
    s.job.num_tasks = 9;
    s.job.required_nodes = "n1,n3";
    std::vector<std::string> said;
    ASSERT_TRUE(finish_submission(s, command, said));
    EXPECT_EQ(std::pair(s.job.min_nodes, s.job.max_nodes), std::pair(2U, 0U));
  }
}

TEST(SubmitOptionsTest, ADeadlineIsNotBeforeTheBegin) {
  for (const CommandSet command : {kSbatch, kSrun, kSalloc}) {
    const auto finished = [&](int64_t begin, int64_t deadline) {
      Submission s;
      if (begin != 0) s.job.begin = from_seconds(begin);
      if (deadline != 0) s.job.deadline = from_seconds(deadline);
      std::vector<std::string> said;
      return finish_submission(s, command, said);
    };
    for (const auto& [begin, deadline] :
         {std::pair{0, 5000}, {5000, 0}, {5000, 5000}, {4000, 5000}}) {
      EXPECT_TRUE(finished(begin, deadline)) << begin;
    }
    const OptionResult late = finished(6000, 5000);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().errors.back(), "Incompatible begin and deadline time specification");
    EXPECT_EQ(late.error().exit_status, 1);
  }
}

TEST(SubmitOptionsTest, TasksPerNodeThatDoNotMatchAreIgnored) {
  const auto per_node = [](uint32_t tasks, uint32_t nodes, uint32_t each) {
    return finished({.tasks = tasks, .least = nodes, .most = nodes, .tasks_per_node = each}, kSrun);
  };
  EXPECT_EQ(per_node(4, 2, 1),
            "|2|Warning: can't honor --ntasks-per-node set to 1 which doesn't match the requested "
            "tasks 4 with the number of requested nodes 2. Ignoring --ntasks-per-node.");
  EXPECT_NE(per_node(6, 2, 4), "|2|");
  EXPECT_EQ(per_node(4, 2, 4), "|2|");
  EXPECT_EQ(per_node(4, 2, 2), "|2|");
  EXPECT_EQ(per_node(2, 2, 2), "|2|");
  EXPECT_EQ(per_node(4, 0, 1), "|0|");
  EXPECT_EQ(per_node(3, 2, 1), "|2|") << "nearly: the controller refuses it";
  for (const auto& [tasks, kept] : {std::pair{2U, 0U}, {0U, 2U}}) {
    // too few are no reason to warn
    Submission s;
    s.job.num_tasks = tasks;
    s.job.min_nodes = s.job.max_nodes = 2;
    s.job.ntasks_per_node = 2;
    std::vector<std::string> said;
    ASSERT_TRUE(finish_submission(s, kSrun, said));
    EXPECT_EQ(s.job.ntasks_per_node, kept) << tasks;
  }
}

TEST(SubmitOptionsTest, MoreTasksThanCanBeCounted) {
  Submission s;
  std::vector<std::string> warnings;
  ASSERT_TRUE(apply(s, "nodes", "65536", kSbatch));
  ASSERT_TRUE(apply(s, "ntasks-per-node", "65536", kSbatch));
  ASSERT_TRUE(finish_submission(s, kSbatch, warnings));
  EXPECT_EQ(s.job.num_tasks, 0x7fffffffU) << "it was 0: as many as the nodes have room for";
}

TEST(SubmitOptionsTest, SwitchesAreCounted) {
  for (const char* none : {"0", "0@5", "", "@5", "foo", "1x"}) {
    Submission s;
    const OptionResult set = apply(s, "switches", none, kSbatch);
    ASSERT_FALSE(set) << none;
    const std::string count = std::string(none).substr(0, std::string(none).find('@'));
    EXPECT_EQ(set.error().errors.back(), "Invalid numeric value \"" + count + "\" for --switches.");
  }
  Submission s;
  EXPECT_TRUE(apply(s, "switches", "1@foo", kSbatch)) << "Slurm waits as long as usual then";
}

TEST(SubmitOptionsTest, WhatTheConfigurationSays) {
  ClusterConfig config;
  config.scheduler_parameters = {"delay_boot=5"};
  Submission s;
  std::vector<std::string> said;
  follow_config(s, config, said);
  EXPECT_EQ(s.job.delay_boot_seconds, 300U);
  ASSERT_TRUE(apply(s, "delay-boot", "0", kSbatch));
  ASSERT_TRUE(apply(s, "core-spec", "1", kSbatch));
  follow_config(s, config, said);
  EXPECT_EQ(s.job.delay_boot_seconds, 0U) << "the option wins";
  for (const char* longer : {"UNLIMITED", "100000000"}) {  // they were cut to what 32 bits hold
    ASSERT_TRUE(apply(s, "delay-boot", longer, kSbatch));
    EXPECT_EQ(s.job.delay_boot_seconds, UINT32_MAX) << longer;
  }
  EXPECT_EQ(s.job.core_spec, UINT32_MAX);
  const std::string ignored =
      "error: Ignoring -S since it's not allowed by configuration (AllowSpecResourcesUsage = No)";
  EXPECT_EQ(said, std::vector<std::string>{ignored});
  config.allow_spec_resources_usage = true;
  ASSERT_TRUE(apply(s, "core-spec", "1", kSbatch));
  follow_config(s, config, said);
  EXPECT_EQ(s.job.core_spec, 1U);
}

TEST(SubmitOptionsTest, ExclusiveIsOfTheAllocationAloneWhereTheSiteSaysSo) {
  const auto step_of = [](std::vector<std::pair<const char*, const char*>> options,
                          uint32_t job_id) {
    ClusterConfig config;
    config.launch_parameters = {"srun_exclusive_allocation"};
    Submission s;
    std::vector<std::string> said;
    s.settings.job_id = job_id;
    for (const auto& [name, value] : options) EXPECT_TRUE(apply(s, name, value, kSrun));
    EXPECT_TRUE(finish_submission(s, kSrun, said));
    EXPECT_EQ(s.step.exact, s.step.overlap == OverlapKind::kExclusive || options.size() == 3);
    follow_config(s, config, said);
    EXPECT_EQ(s.job.sharing, Sharing::kExclusive);
    return std::pair(s.step.exact, s.step.overlap);
  };
  EXPECT_EQ(step_of({{"ntasks", "1"}, {"exclusive", nullptr}}, 0),
            std::pair(false, OverlapKind::kDefault));
  EXPECT_EQ(step_of({{"ntasks", "1"}, {"exclusive", nullptr}}, 7),
            std::pair(true, OverlapKind::kExclusive))
      << "in a job";
  EXPECT_TRUE(step_of({{"ntasks", "1"}, {"exclusive", nullptr}, {"exact", nullptr}}, 0).first)
      << "asked for by itself";
}

TEST(SubmitOptionsTest, MoreNodesThanTasksAreCutDown) {
  Submission s;
  ASSERT_TRUE(apply(s, "nodes", "4", kSrun));
  ASSERT_TRUE(apply(s, "ntasks", "2", kSrun));
  std::vector<std::string> warnings;
  ASSERT_TRUE(finish_submission(s, kSrun, warnings));
  EXPECT_EQ(warnings, std::vector<std::string>{
                          "Warning: can't run 2 processes on 4 nodes, setting nnodes to 2"});
  EXPECT_EQ(make_step(s).min_nodes, 2U);
}

}  // namespace
}  // namespace sluice
