// The log: lines, levels, flags and reopening.
#include "common/log/log.hpp"
#include "common/log/log_file.hpp"
#include "common/log/log_json.hpp"

#include <filesystem>
#include <fstream>
#include <regex>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::log {
namespace {

class Log : public ::testing::Test {
 protected:
  void SetUp() override {
    path = ::testing::TempDir() + "sluice-log-" + std::to_string(::getpid());
    ASSERT_TRUE(configure({.program = "sluicectld",
                           .stderr_level = Level::kQuiet,
                           .file = path,
                           .file_level = Level::kInfo}));
  }
  void TearDown() override {
    set_debug_flags(0);
    ASSERT_TRUE(configure({}));
    std::filesystem::remove(path);
  }
  static std::vector<std::string> lines(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  std::string path;
};

TEST_F(Log, WritesSlurmsLines) {
  info("job {} started", 7);
  error("no such node: {}", "n9");
  verbose("not at this level");
  const auto written = lines(path);
  ASSERT_EQ(written.size(), 2u);
  const std::string stamp = R"(\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\] )";
  EXPECT_TRUE(std::regex_match(written[0], std::regex(stamp + "job 7 started"))) << written[0];
  EXPECT_TRUE(std::regex_match(written[1], std::regex(stamp + "error: no such node: n9")));
}

// What users name is in many lines: none of them may look like two, or move a reader's cursor.
TEST_F(Log, ControlCharactersAreShown) {
  info("job {} of {}", "evil\n[2026-01-01T00:00:00.000] error: forged", "\x1b]0;title\x07");
  const auto written = lines(path);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_NE(
      written[0].find("job evil\\n[2026-01-01T00:00:00.000] error: forged of \\x1b]0;title\\x07"),
      std::string::npos);
}

TEST_F(Log, LinesAreBounded) {
  info("job {}", std::string(64u << 20, 'x'));
  set_debug_flags(*parse_debug_flags("steps"));
  set_level(Level::kVerbose);
  flag(DebugFlag::kSteps, "{}", std::string(1u << 20, '\n'));
  LogFile other;
  const std::string beside = path + ".other";
  ASSERT_TRUE(other.open(beside));
  other.write(std::string(1u << 20, 'y') + "\nshort");
  const auto written = lines(path);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_LT(written[0].size(), 17000u);
  EXPECT_TRUE(std::regex_search(written[0], std::regex(R"(x\.\.\. \(670\d+ more bytes\)$)")));
  EXPECT_LT(written[1].size(), 5 * 17000u) << "escaped";
  const auto lines_beside = lines(beside);
  ASSERT_EQ(lines_beside.size(), 2u);
  EXPECT_LT(lines_beside[0].size(), 17000u);
  EXPECT_NE(lines_beside[1].find("] short"), std::string::npos);
  std::filesystem::remove(beside);
}

TEST_F(Log, LevelAndFlagsChangeAtRunTime) {
  EXPECT_FALSE(enabled(Level::kDebug));
  set_level(Level::kDebug2);
  EXPECT_EQ(level(), Level::kDebug2);
  debug("one");
  debug2("two");
  debug3("three");
  flag(DebugFlag::kSteps, "hidden");
  set_debug_flags(*parse_debug_flags("steps"));
  flag(DebugFlag::kSteps, "shown {}", 1);
  const auto written = lines(path);
  ASSERT_EQ(written.size(), 3u);
  EXPECT_NE(written[0].find("] debug:  one"), std::string::npos);
  EXPECT_NE(written[1].find("] debug2: two"), std::string::npos);
  EXPECT_NE(written[2].find("] STEPS: shown 1"), std::string::npos);
}

TEST_F(Log, ReopenFollowsARotation) {
  info("before");
  std::filesystem::rename(path, path + ".1");
  info("still the old file");
  ASSERT_TRUE(reopen());
  info("after");
  EXPECT_EQ(lines(path + ".1").size(), 2u);
  EXPECT_EQ(lines(path).size(), 1u);
  std::filesystem::remove(path + ".1");
}

TEST_F(Log, AFileThatCannotBeOpenedLeavesTheLogAsItWas) {
  EXPECT_FALSE(configure({.file = "/proc/nowhere/log", .file_level = Level::kInfo}));
  info("here");
  EXPECT_EQ(lines(path).size(), 1u);
}

// journalctl -p err found nothing.
TEST_F(Log, LinesInTheJournalHavePriorities) {
  const std::string journal = path + ".journal";
  const int before = ::dup(STDERR_FILENO);
  const int fd = ::open(journal.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  struct stat file {};
  ASSERT_EQ(::fstat(fd, &file), 0);
  ::dup2(fd, STDERR_FILENO);
  const std::string stream = std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
  ::setenv("JOURNAL_STREAM", stream.c_str(), 1);
  const auto write = [](bool json) {
    ASSERT_TRUE(configure({.program = "slurmctld", .stderr_level = Level::kDebug, .json = json}));
    error("no such node");
    warning("this is odd");
    info("up");
    debug("in detail");
  };
  write(false);
  write(true);
  ::setenv("JOURNAL_STREAM", "1:1", 1);
  write(false);
  ::unsetenv("JOURNAL_STREAM");
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(fd);
  const auto written = lines(journal);
  std::filesystem::remove(journal);
  ASSERT_EQ(written.size(), 12U);
  EXPECT_EQ(written[0], "<3>slurmctld: error: no such node");
  EXPECT_EQ(written[1], "<4>slurmctld: warning: this is odd");
  EXPECT_EQ(written[2], "<6>slurmctld: up");
  EXPECT_EQ(written[3], "<7>slurmctld: debug:  in detail");
  EXPECT_TRUE(written[4].starts_with("<3>{")) << written[4];
  EXPECT_EQ(written[8], "slurmctld: error: no such node") << "of another stream";
}

TEST(JsonLines, NameTheJobAndTheNode) {
  const auto has = [](std::string_view text, std::string_view part) {
    return json_line({.text = text}).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("JobId=17_3(20) ends", R"("job":"17_3")"));
  EXPECT_TRUE(has("node n8 not responding", R"("node":"n8")"));
  EXPECT_TRUE(has("update: NodeName=n[1-3]: drained", R"("node":"n[1-3]")"));
  EXPECT_FALSE(has("the clock of this node is 3600 s behind", R"("node")"));
  EXPECT_TRUE(has("of this node is known: node n2 has it", R"("node":"n2")"));
}

TEST(LogNames, AreReadAndWritten) {
  EXPECT_EQ(parse_level("DEBUG3"), Level::kDebug3);
  EXPECT_EQ(parse_level("6"), Level::kDebug2);
  EXPECT_EQ(parse_level("10"), std::nullopt);
  EXPECT_EQ(parse_level("loud"), std::nullopt);
  EXPECT_EQ(level_name(Level::kVerbose), "verbose");
  EXPECT_EQ(debug_flag_names(*parse_debug_flags("steps, cpu_bind,TLS")), "CPU_Bind,Steps,TLS");
  EXPECT_EQ(parse_debug_flags("steps,nonsense").error().text, "nonsense");
  EXPECT_EQ(parse_time_format("ISO8601_ms"), TimeFormat::kIso8601Ms);
  EXPECT_EQ(parse_time_format("x"), std::nullopt);
}

}  // namespace
}  // namespace sluice::log
