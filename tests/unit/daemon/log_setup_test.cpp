// A daemon's log from its settings.
#include "common/daemon/log_setup.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/log/log.hpp"

namespace sluice::daemon {
namespace {

std::string line_with(const std::string& time_format) {
  const std::string path = ::testing::TempDir() + "sluice-log-setup-" + std::to_string(::getpid());
  EXPECT_TRUE(start_log({.program = "slurmctld", .file = path, .time_format = time_format}));
  log::info("here");
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  EXPECT_TRUE(log::configure({}));
  std::filesystem::remove(path);
  return line;
}

bool matches(const std::string& line, const std::string& pattern) {
  return std::regex_match(line, std::regex(pattern));
}

TEST(LogSetup, TimesLookAsLogTimeFormatSays) {
  const std::string day = R"(\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)";
  EXPECT_TRUE(matches(line_with(""), day + R"(\.\d{3}\] here)"));
  EXPECT_TRUE(matches(line_with("iso8601"), day + R"(\] here)"));
  EXPECT_TRUE(matches(line_with("rfc5424_ms"), day + R"(\.\d{3}[+-]\d\d:\d\d\] here)"));
  EXPECT_TRUE(matches(line_with("short"), R"(\[[A-Z]\S+ +\d+ \d\d:\d\d:\d\d\] here)"));
  EXPECT_TRUE(
      matches(line_with("Short,format_stderr"), R"(\[[A-Z]\S+ +\d+ \d\d:\d\d:\d\d\] here)"));
  EXPECT_TRUE(matches(line_with("nonsense"), day + R"(\.\d{3}\] here)"));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(LogSetup, AnotherFileIsOpenedUnlessTheCommandLineNamedOne) {
  const std::string path = ::testing::TempDir() + "sluice-log-move-" + std::to_string(::getpid());
  ASSERT_TRUE(start_log({.program = "slurmctld", .file = path}));
  ASSERT_TRUE(change_log_file("/of/slurm.conf", path + "-not")) << "-L named the present one";
  log::set_level(log::Level::kDebug);
  ASSERT_TRUE(change_log_file(path, path + "-new"));
  log::debug("moved");
  EXPECT_FALSE(change_log_file(path + "-new", "/no/such/folder/log"));
  log::info("stays");
  EXPECT_TRUE(log::configure({}));
  EXPECT_FALSE(std::filesystem::exists(path + "-not"));
  EXPECT_NE(text_of(path).find("the log goes on in " + path + "-new"), std::string::npos);
  EXPECT_EQ(text_of(path).find("moved"), std::string::npos);
  EXPECT_NE(text_of(path + "-new").find("moved"), std::string::npos) << "the level is kept";
  EXPECT_NE(text_of(path + "-new").find("stays"), std::string::npos);
  std::filesystem::remove(path);
  std::filesystem::remove(path + "-new");
}

}  // namespace
}  // namespace sluice::daemon
