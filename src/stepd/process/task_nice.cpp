#include "stepd/process/task_nice.hpp"

#include <algorithm>

namespace sluice::stepd {
namespace {

constexpr int kLowest = -20, kHighest = 19;
constexpr uint32_t kBehindDaemon = 2;

}  // namespace

std::optional<int> task_nice(uint32_t rule, int submitted, int daemon, bool is_root) {
  if (rule == 0) return std::nullopt;
  if (rule == kBehindDaemon) submitted = std::max(submitted, daemon + 1);
  else if (!is_root) submitted = std::max(submitted, daemon);
  return std::clamp(submitted, kLowest, kHighest);
}

}  // namespace sluice::stepd
