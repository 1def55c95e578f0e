// How much of a described struct is texts: of a job's or a step's specification, nearly all of what
// it takes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/shared_text.hpp"

namespace sluice::state {

template <Described T>
[[nodiscard]] size_t text_bytes(const T& value) {
  size_t bytes = 0;
  T::describe([&](uint32_t, const char*, auto member) {
    const auto& one = value.*member;
    if constexpr (std::is_same_v<std::decay_t<decltype(one)>, SharedText>) bytes += one.size();
    if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::vector<SharedText>>) {
      for (const SharedText& text : one) bytes += text.size() + 1;
    }
  });
  return bytes;
}

// Of an argument beside its bytes: its place in the list, its counts, and what is lost to whole
// blocks of memory.
inline constexpr size_t kBesideArgument = 40;

// The memory that these texts take: of short arguments most is not theirs.
template <Described T>
[[nodiscard]] size_t text_memory(const T& value) {
  return text_bytes(value) + kBesideArgument * value.arguments.size();
}

}  // namespace sluice::state
