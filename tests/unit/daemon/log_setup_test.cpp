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

}  // namespace
}  // namespace sluice::daemon
