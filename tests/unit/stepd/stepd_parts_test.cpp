#include <numeric>

#include <gtest/gtest.h>

#include "stepd/io/line_assembler.hpp"
#include "stepd/multi_prog.hpp"
#include "stepd/process/task_prolog.hpp"
#include "support/cpu_time.hpp"

namespace sluice::stepd {
namespace {

TEST(LineAssembler, GivesWholeLinesAndTheRestAtTheEnd) {
  std::vector<std::string> got;
  const auto emit = [&](std::string_view text) { got.emplace_back(text); };
  LineAssembler lines(true);
  lines.feed("a\nb", emit);
  lines.feed("c", emit);
  lines.feed("d\ne\nf", emit);
  lines.finish(emit);
  EXPECT_EQ(got, (std::vector<std::string>{"a\n", "bcd\ne\n", "f"}));
  got.clear();
  lines.feed(std::string(LineAssembler::kMaxHeld, 'x'), emit);
  EXPECT_EQ(got.size(), 1U);
  LineAssembler raw(false);
  raw.feed("ab", emit);
  EXPECT_EQ(got.back(), "ab");
}

TEST(Labels, ArePaddedToTheWidestRank) {
  EXPECT_EQ(labelled("a\nb\n", 3, 11), " 3: a\n 3: b\n");
  EXPECT_EQ(labelled("x", 0, 1), "0: x\n");
  EXPECT_EQ(labelled("", 0, 1), "");
}

Result<std::vector<SharedText>> program_of_task(std::string_view text, uint32_t task,
                                                const std::vector<SharedText>& extra) {
  return MultiProg(text, {1, task, 100}).of_task(task, extra);
}

// The bug: the whole text was taken apart again for each task.
TEST(MultiProg, ALongTextIsReadOnce) {
  std::string text;
  while (text.size() < (4U << 20)) text += "# a remark\n900 none\n";
  text += "* program %t\n";
  std::vector<uint32_t> tasks(512);
  std::iota(tasks.begin(), tasks.end(), 0);
  const auto before = cpu_time();
  MultiProg programs(text, tasks);
  for (const uint32_t task : tasks)
    EXPECT_EQ(programs.of_task(task, {})->back(), std::to_string(task));
  EXPECT_LT(cpu_time() - before, std::chrono::seconds(10));
}

// The bug: each task had a copy of all words, which took 80 MB a task of the node's memory,
// whatever the job's limit was.
TEST(MultiProg, WordsOfAllTasksAreBounded) {
  std::string text = "* program";
  for (int i = 0; i < 100'000; ++i) text += " a";
  std::vector<uint32_t> tasks(512);
  std::iota(tasks.begin(), tasks.end(), 0);
  MultiProg programs(text, tasks);
  size_t given = 0;
  while (given < tasks.size() && programs.of_task(tasks[given], {})) ++given;
  EXPECT_GE(given, 10U) << "as many as a kernel takes of a program, of some tasks";
  EXPECT_LT(given, 20U);
  MultiProg one("* program " + std::string(100'000, 'a'), tasks);
  for (const uint32_t task : tasks) EXPECT_TRUE(one.of_task(task, {})) << task;
}

TEST(MultiProg, FindsTheProgramOfEachTask) {
  const std::string text =
      "# first\n4-6 hostname\n1,7 echo task:%t\n0,2-3 echo 'off set':%o \\\n  more\n";
  EXPECT_EQ(program_of_task(text, 5, {}), (std::vector<SharedText>{"hostname"}));
  EXPECT_EQ(program_of_task(text, 7, {"x"}), (std::vector<SharedText>{"echo", "task:7", "x"}));
  EXPECT_EQ(program_of_task(text, 2, {}), (std::vector<SharedText>{"echo", "off set:1", "more"}));
  EXPECT_FALSE(program_of_task(text, 8, {}));
  EXPECT_EQ(program_of_task("0 a\n* b %o", 9, {}), (std::vector<SharedText>{"b", "9"}));
  EXPECT_EQ(program_of_task("* b 5%%t 100%", 9, {}), (std::vector<SharedText>{"b", "5%t", "100%"}));
}

// The bug: the number of the task came in between quotes too, where Slurm leaves the text as it is.
TEST(MultiProg, QuotedTextStays) {
  EXPECT_EQ(program_of_task("* sh -c 'echo %t %% %o' a\\%t b%t'%t'", 9, {}),
            (std::vector<SharedText>{"sh", "-c", "echo %t %% %o", "a%t", "b9%t"}));
}

TEST(TaskProlog, ExportUnsetPrint) {
  Environment env = Environment::from_block(std::string("A=1\0", 4));
  EXPECT_EQ(apply_task_prolog("export B=x y=z\nunset A\nprint to user\nnoise\n", env), "to user\n");
  EXPECT_EQ(env.entries(), std::vector<std::string>{"B=x y=z"});
}

}  // namespace
}  // namespace sluice::stepd
