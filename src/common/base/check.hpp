// SLUICE_CHECK: an invariant that stays on in release builds. A broken one ends the process with
// its place and text; the journal makes that safe.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace sluice {
[[noreturn]] inline void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "fatal: %s:%d: check failed: %s\n", file, line, what);
  std::abort();
}
}  // namespace sluice

#define SLUICE_CHECK(condition)                                               \
  do {                                                                        \
    if (!(condition)) ::sluice::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
