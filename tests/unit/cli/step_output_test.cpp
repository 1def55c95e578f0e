// What srun makes of the tasks' output.
#include "cli/step/step_output.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

// What is written of these pieces, each followed by a bar, and at the end.
std::string written(Labels labels, uint32_t tasks,
                    const std::vector<std::pair<uint32_t, std::string>>& pieces) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  OutputTarget target(ends[1], labels, tasks);
  for (const auto& [task, text] : pieces) {
    target.write(task, text);
    EXPECT_EQ(::write(ends[1], "|", 1), 1);
  }
  target.finish();
  ::close(ends[1]);
  std::string all(4096, '\0');
  const ssize_t got = ::read(ends[0], all.data(), all.size());
  ::close(ends[0]);
  all.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return all;
}

TEST(StepOutput, PassesOnWhatHasNoLabels) {
  EXPECT_EQ(written(Labels::kNone, 2, {{0, "a"}, {1, "b\nc"}}), "a|b\nc|");
}

TEST(StepOutput, LabelsLines) {
  EXPECT_EQ(written(Labels::kOfLines, 11, {{0, "a"}, {10, "b\nc"}, {0, "d\n"}}),
            "|10: b\n| 0: ad\n|10: c\n");
}

// A prompt on a terminal is there at once, as srun --pty -l of Slurm has it.
TEST(StepOutput, LabelsPieces) {
  EXPECT_EQ(written(Labels::kOfPieces, 1, {{0, "$ "}, {0, "a\r\nb"}, {0, "\n"}}),
            "0: $ \n|0: a\r\n0: b\n|0: \n|");
}

}  // namespace
}  // namespace sluice::cli
