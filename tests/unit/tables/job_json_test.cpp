// --json of older parsers: the keys of a job are those that Slurm prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "common/tables/job_json.hpp"
#include "common/tables/json_parser.hpp"
#include "unit/cli/canned_jobs.hpp"

namespace sluice {
namespace {

std::vector<std::string> golden_keys(unsigned parser) {
  std::ifstream file("tests/golden/json/job-keys-v0.0." + std::to_string(parser) + ".txt");
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

TEST(JobJson, KeysOfEachParserAsCaptured) {
  const auto record = test::finished_job();
  for (const unsigned parser : {42U, 43U, 44U}) {
    Json jobs = Json::array({job_to_json({&record, kNoTask, {}}, {})});
    fit_json_parser("jobs", jobs, parser);
    std::vector<std::string> keys;
    for (const auto& [key, value] : jobs[0].items()) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, golden_keys(parser)) << parser;
  }
}

TEST(JobJson, TheOldestParsersHaveTheShapeOf42) {
  Json rows = Json::array({{{"partition", {{"name", "debug"}, {"topology", ""}}}}});
  fit_json_parser("sinfo", rows, 43);
  EXPECT_TRUE(rows[0]["partition"].contains("topology"));
  fit_json_parser("sinfo", rows, 40);
  EXPECT_EQ(rows[0]["partition"].dump(), R"({"name":"debug"})");
}

TEST(JobJson, ParsersAreFoundByName) {
  EXPECT_EQ(find_json_parser("v0.0.43"), 43U);
  EXPECT_EQ(find_json_parser("data_parser/v0.0.42"), 42U);
  for (const char* wrong : {"", "43", "v0.0.", "v0.0.39", "v0.0.45", "data_parser/43", "v0.0.43x"}) {
    EXPECT_FALSE(find_json_parser(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sluice
