// For who writes lines behind the work (log::write_lines): the order of a log's lines.
#pragma once

#include <functional>

namespace sluice::log {

// Runs before each line of log.hpp's functions for single lines is written, on its thread: the
// others catch up. Null: nothing. It may still be at work somewhere when this returns.
void before_lines(std::function<void()> hook);

}  // namespace sluice::log
