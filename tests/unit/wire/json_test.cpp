// Described structs as JSON.
#include "common/wire/json.hpp"

#include <gtest/gtest.h>

#include "common/model/job.hpp"

namespace sluice {
namespace {

TEST(Json, OnlyWhatIsNotDefaultIsShown) {
  Job job;
  job.id = 12;
  job.exit_status = -1;
  job.state = JobState::kRunning;
  job.submit = from_seconds(5);
  EXPECT_EQ(wire::to_json(job).dump(), R"({"id":12,"state":1,"submit":5000000,"exit_status":-1})");
}

TEST(Json, RenderNamesEnums) {
  Job job;
  job.state = JobState::kRunning;
  const auto render = [](const auto& v) -> std::optional<wire::Json> {
    if constexpr (std::is_same_v<std::decay_t<decltype(v)>, JobState>) return "a state";
    return std::nullopt;
  };
  EXPECT_EQ(wire::to_json(job, render).dump(), R"({"state":"a state"})");
}

TEST(Json, BytesThatAreNoTextBecomeHexadecimal) {
  EXPECT_EQ(wire::json_text("Gr\xc3\xbc\xc3\x9f"), "Gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(wire::json_text("\xff\x01z"), "\\xff017a");
  EXPECT_FALSE(wire::is_utf8("\xc0\xaf"));      // overlong
  EXPECT_FALSE(wire::is_utf8("\xed\xa0\x80"));  // surrogate
  EXPECT_FALSE(wire::is_utf8("\xe2\x82"));      // cut
  EXPECT_TRUE(wire::is_utf8("\xf0\x9f\x98\x80"));
}

}  // namespace
}  // namespace sluice
