// Which libpmix a root daemon loads.
#include "stepd/mpi/pmix_race.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace sluice::stepd {
namespace {

TEST(PmixRace, VersionsWithTheKnownRaceAreTold) {
  for (const char* mended : {"OpenPMIx 4.2.6 (PMIx Standard: 4.2)", "OpenPMIx 4.2.10, repo rev: x",
                             "OpenPMIx 5.0.1 (x)", "PMIx 6.0.0a1", "OpenPMIx 5.1.0"}) {
    EXPECT_TRUE(is_mended_pmix(mended)) << mended;
  }
  for (const char* open : {"OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, Stable ABI: 0.0)",
                           "OpenPMIx 4.2.5", "OpenPMIx 5.0.0", "PMIx 3.2.5", "", "OpenPMIx"}) {
    EXPECT_FALSE(is_mended_pmix(open)) << open;
  }
}

TEST(PmixRace, WhatALibraryCallsIsSeen) {
  void* library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no libpmix here";
  EXPECT_TRUE(imports(library, "lchown") || imports(library, "chown"));
  EXPECT_FALSE(imports(library, "PMIx_server_init")) << "that is its own";
  EXPECT_FALSE(imports(library, "no_such_function"));
  ::dlclose(library);
}

// Debian's 4.2.2-1+deb12u1 calls itself 4.2.2rc2 and is mended.
TEST(PmixRace, AMendedOneIsTakenByRoot) {
  void* library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no libpmix here";
  const Status safe = check_pmix_race(library);
  EXPECT_EQ(safe.has_value(), !imports(library, "chown"));
  ::dlclose(library);
}

}  // namespace
}  // namespace sluice::stepd
