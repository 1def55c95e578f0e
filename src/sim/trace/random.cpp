#include "sim/trace/random.hpp"

#include <cmath>

namespace sluice::sim {

double Random::uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

// Marsaglia's polar method; the second number of each pair is not kept.
double Random::normal() {
  while (true) {
    const double x = uniform(-1, 1), y = uniform(-1, 1);
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
  }
}

// Marsaglia and Tsang 2000.
double Random::gamma(double shape, double scale) {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal();
    const double root = 1 + c * x;
    const double u = uniform();
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(u) < x * x / 2 + d - d * cube + d * std::log(cube)) return d * cube * scale;
  }
}

}  // namespace sluice::sim
