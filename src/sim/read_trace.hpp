// A trace from a file, plain or compressed by gzip.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "sim/trace/trace.hpp"

namespace sluice::sim {

[[nodiscard]] Result<Trace> read_trace(const std::string& path);

}  // namespace sluice::sim
