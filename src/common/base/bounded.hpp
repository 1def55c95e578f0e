// Arithmetic with numbers that users chose: what would not fit is the largest number that does, and
// never a small one.
#pragma once

#include <cstdint>
#include <limits>

namespace sluice {

template <class Number>
[[nodiscard]] constexpr Number bounded_product(Number a, Number b) {
  Number product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<Number>::max() : product;
}
[[nodiscard]] constexpr uint64_t bounded_product(uint64_t a, uint32_t b) {
  return bounded_product<uint64_t>(a, b);
}

[[nodiscard]] constexpr uint64_t bounded_sum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// `b` is not 0.
template <class Number>
[[nodiscard]] constexpr Number rounded_up_quotient(Number a, Number b) {
  return static_cast<Number>(a / b + (a % b != 0 ? 1 : 0));
}

}  // namespace sluice
