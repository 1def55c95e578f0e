// What sacct says of records that wait in a controller.
#include "cli/sacct/waiting_records.hpp"

#include <gtest/gtest.h>

#include "common/base/time_text.hpp"

namespace sluice::cli {
namespace {

const Time kNow = from_seconds(1'760'000'000);
using Lines = std::vector<std::string>;

TEST(WaitingRecords, AreCountedWhereTheControllerWasAsked) {
  const std::vector<protocol::WaitingHistory> waiting = {{"other", kNow, "No space left on device"},
                                                         {"own", kNow, ""}};
  const std::string since = format_time(kNow), earlier = format_time(kNow - std::chrono::hours(1));
  const std::string other = "The newest records of cluster other wait in its controller since " +
                            since + ": No space left on device";
  EXPECT_EQ(waiting_lines(waiting, "Own", RecordsInController{12, kNow - std::chrono::hours(1)}),
            (Lines{other, "12 record(s) of cluster own wait in its controller since " + earlier}));
  EXPECT_EQ(waiting_lines(waiting, "Own", RecordsInController{12, kNoTime}),
            (Lines{other, "12 record(s) of cluster own wait in its controller since " + since}));
  EXPECT_EQ(
      waiting_lines(waiting, "own", std::nullopt),
      (Lines{other, "The newest records of cluster own wait in its controller since " + since}));
}

TEST(WaitingRecords, NothingIsSaidOfWhatWasStoredMeanwhileOrIsNotKnown) {
  EXPECT_EQ(waiting_lines({{"own", kNow, ""}}, "own", RecordsInController{}), Lines{});
  EXPECT_EQ(waiting_lines({{"own", kNoTime, ""}}, "own", std::nullopt), Lines{});
}

}  // namespace
}  // namespace sluice::cli
