// libFuzzer's entry: one program for all targets, of which SLUICE_FUZZ_TARGET names one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.hpp"

namespace {

void (*chosen)(std::string_view) = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* wanted = std::getenv("SLUICE_FUZZ_TARGET");  // NOLINT(concurrency-mt-unsafe)
  for (const auto& target : sluice::fuzz::all_targets()) {
    if (wanted == nullptr)
      std::printf("%.*s\n", static_cast<int>(target.name.size()), target.name.data());
    else if (target.name == wanted) chosen = target.run;
  }
  if (chosen != nullptr) return 0;
  if (wanted != nullptr)
    std::fprintf(stderr, "SLUICE_FUZZ_TARGET=%s: there is no such target\n", wanted);
  std::exit(wanted == nullptr ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): without one it lists them
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen({reinterpret_cast<const char*>(data), size});
  return 0;
}
