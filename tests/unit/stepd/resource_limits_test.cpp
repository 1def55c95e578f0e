#include <sys/resource.h>

#include <gtest/gtest.h>

#include "stepd/process/resource_limits.hpp"

namespace sluice::stepd {
namespace {

using Limits = std::vector<uint64_t>;

// The bug: a lower hard limit of who submits became the task's.
TEST(ResourceLimits, HardOnesOfTheNodeBoundWhatIsAskedForAndStay) {
  const Limits bounds = {10, 20, 30, RLIM_INFINITY, 5, 7};
  EXPECT_EQ(limits_within({}, bounds), bounds) << "nothing is asked for";
  EXPECT_EQ(limits_within({15, 18, 40, 50}, bounds), (Limits{15, 20, 40, RLIM_INFINITY, 5, 7}))
      << "a soft limit may be raised to the hard one";
  EXPECT_EQ(limits_within({1, 0, RLIM_INFINITY, RLIM_INFINITY, 6, 100}, bounds),
            (Limits{10, 20, RLIM_INFINITY, RLIM_INFINITY, 6, 7}));
  EXPECT_EQ(limits_within({25, 100, 1, 0, RLIM_INFINITY, RLIM_INFINITY}, bounds),
            (Limits{20, 20, 30, RLIM_INFINITY, 7, 7}));
}

// The bug: without propagation the soft limit of core files was the daemon's.
TEST(ResourceLimits, CoreFilesAreAsLongAsTheyMayBe) {
  Limits limits = own_limits();
  limits[RLIMIT_CORE * 2] = 0;
  limits[RLIMIT_CORE * 2 + 1] = 4096;
  Limits raised = limits;
  raise_core_limit(raised);
  limits[RLIMIT_CORE * 2] = 4096;
  EXPECT_EQ(raised, limits) << "no other limit changes";
}

// The bug: a step's limit of memory was not its limit of resident memory.
TEST(ResourceLimits, ResidentMemoryIsWhatTheStepHas) {
  Limits limits = own_limits();
  limits[RLIMIT_RSS * 2] = 50;
  limits[RLIMIT_RSS * 2 + 1] = RLIM_INFINITY;
  Limits set = limits;
  set_resident_limit(set, 1000);
  limits[RLIMIT_RSS * 2] = limits[RLIMIT_RSS * 2 + 1] = 1000;
  EXPECT_EQ(set, limits);
  set_resident_limit(set, 2000);
  EXPECT_EQ(set, limits) << "nobody raises a hard limit";
}

TEST(ResourceLimits, OwnOnesAreAllThereAre) {
  const Limits own = own_limits();
  ASSERT_EQ(own.size(), size_t{RLIM_NLIMITS} * 2);
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(own[RLIMIT_NOFILE * 2], files.rlim_cur);
  EXPECT_EQ(own[RLIMIT_NOFILE * 2 + 1], files.rlim_max);
}

}  // namespace
}  // namespace sluice::stepd
