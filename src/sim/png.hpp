// The picture of a simulation as a PNG file, drawn by Cairo.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "sim/run/result.hpp"

namespace sluice::sim {

[[nodiscard]] Status write_png(const SimResult& result, const std::string& path);

}  // namespace sluice::sim
