// Heterogeneous jobs on command lines.
#include "cli/options/het_request.hpp"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using Words = std::vector<std::string>;

std::vector<Words> operands_of(CommandSet command, Words words) {
  words.insert(words.begin(), "command");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  std::vector<OptionParser> parsers;
  EXPECT_FALSE(read_components(command, static_cast<int>(argv.size()), argv.data(), parsers));
  std::vector<Words> out;
  for (const OptionParser& parser : parsers) out.push_back(parser.operands());
  return out;
}

TEST(HetRequest, ComponentsAreCutAtColons) {
  EXPECT_EQ(operands_of(kSrun, {"-n1", "a", "x", ":", "-n2", "b"}),
            (std::vector<Words>{{"a", "x"}, {"b"}}));
  EXPECT_EQ(operands_of(kSrun, {"-n1", ":", "-n2", ":", "b"}), (std::vector<Words>{{}, {}, {"b"}}));
  EXPECT_EQ(operands_of(kSbatch, {"-n1", ":", "-n2", "script", "x", ":", "y"}),
            (std::vector<Words>{{}, {"script", "x", ":", "y"}}));
  EXPECT_EQ(operands_of(kSalloc, {":", "-n2"}), (std::vector<Words>{{}, {}}));
  EXPECT_EQ(operands_of(kSrun, {"prog"}), (std::vector<Words>{{"prog"}}));
}

IndexSet set(const char* text) { return *IndexSet::parse(text); }
std::string places(const std::vector<IndexSet>& said, size_t components) {
  const PartPlaces placed = place_parts(said, components);
  if (!placed.error.empty()) return placed.error;
  std::string out;
  for (const PartPlace& place : placed.places) {
    out += std::to_string(place.part) + ">" + std::to_string(place.group) + " ";
  }
  return out;
}

TEST(HetRequest, PartsGoToComponents) {
  EXPECT_EQ(places({set("")}, 3), "0>0 ");
  EXPECT_EQ(places({set("2,0-1")}, 3), "0>0 0>1 0>2 ");
  EXPECT_EQ(places({set(""), set("")}, 3), "0>0 1>1 ");
  EXPECT_EQ(places({set("1"), set("0")}, 2), "1>0 0>1 ");
  EXPECT_EQ(places({set("0"), set("0")}, 2),
            "fatal: Duplicate het groups in single srun not supported");
  EXPECT_EQ(places({set("0-4294967294")}, 2),
            "Requested het-group offset exceeds highest hetjob index (4294967294 > 1)");
  EXPECT_EQ(places({set("2")}, 2),
            "Requested het-group offset exceeds highest hetjob index (2 > 1)");
  EXPECT_EQ(
      places({set(""), set(""), set("")}, 2),
      "Attempt to run a job step with het group value of 2, but the job allocation has maximum value of 1");
}

TEST(HetRequest, GroupsWhereThereAreNone) {
  EXPECT_EQ(fault_without_components({set("")}), "");
  EXPECT_EQ(fault_without_components({set("0")}),
            "No directives to start application on any available hetjob components");
  EXPECT_EQ(fault_without_components({set("1")}),
            "Requested het-group offset exceeds highest hetjob index (1 > 0)");
}

}  // namespace
}  // namespace sluice::cli
