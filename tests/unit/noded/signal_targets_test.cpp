#include "noded/steps/signal_targets.hpp"

#include <gtest/gtest.h>

namespace sluice::noded {
namespace {

using Keys = std::vector<protocol::StepKey>;

const protocol::StepKey kFirst{{7, 0}, 1}, kSecond{{7, 1}, 1}, kScript{{7, kBatchStep}, 1},
    kExtern{{7, kExternStep}, 1}, kEarlier{{7, 0}, 0};

// The script's trap was lost in a few of ten jobs: its task ended first, and srun, and the script.
TEST(SignalTargets, TheScriptIsFirst) {
  Keys keys{kEarlier, kFirst, kSecond, kScript, kExtern};
  script_first(keys);
  EXPECT_EQ(keys, (Keys{kScript, kEarlier, kFirst, kSecond, kExtern}));
}

TEST(SignalTargets, OfTheRunThatIsMeant) {
  const Keys live{kScript, kEarlier, kFirst, kSecond, kExtern};
  protocol::SignalStepRequest request;
  request.key = kSecond;
  EXPECT_EQ(signal_targets(request, live), (Keys{kSecond}));
  request.all_steps = true;
  EXPECT_EQ(signal_targets(request, live), (Keys{kScript, kFirst, kSecond}));
  request.not_batch = true;
  EXPECT_EQ(signal_targets(request, live), (Keys{kFirst, kSecond}));
  request.batch_shell_only = true;
  EXPECT_EQ(signal_targets(request, live), (Keys{kScript}));
}

TEST(SignalTargets, TheExternStepStopsWithItsJob) {
  const Keys live{kScript, kFirst, kExtern};
  protocol::SignalStepRequest request;
  request.key = {{7, UINT32_MAX}, 1};
  request.all_steps = true;
  request.issued = Time(std::chrono::seconds(1));
  EXPECT_EQ(signal_targets(request, live), live);
}

}  // namespace
}  // namespace sluice::noded
