// Random numbers that are the same with every compiler and library: those of the standard's
// distributions are not.
#pragma once

#include <cstdint>
#include <random>

namespace sluice::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  [[nodiscard]] double uniform();  // in [0, 1)
  [[nodiscard]] double uniform(double from, double to) { return from + (to - from) * uniform(); }
  [[nodiscard]] double normal();  // mean 0, deviation 1
  // Of mean shape * scale; the shape is 1 or more.
  [[nodiscard]] double gamma(double shape, double scale);

 private:
  std::mt19937_64 engine_;
};

}  // namespace sluice::sim
