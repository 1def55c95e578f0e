// Equality of described values through pointers, vectors and optionals, naming the first field that
// differs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/base/describe.hpp"

namespace sluice::state {

template <class T>
[[nodiscard]] bool deep_equal(const T& a, const T& b, std::string& path);
template <class T>
[[nodiscard]] bool deep_equal(const std::vector<T>& a, const std::vector<T>& b, std::string& path);
template <class T>
[[nodiscard]] bool deep_equal(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b,
                              std::string& path);

template <class T>
bool deep_equal(const T& a, const T& b, std::string& path) {
  if constexpr (Described<T>) {
    bool same = true;
    T::describe([&](uint32_t, const char* name, auto member) {
      if (!same) return;
      same = deep_equal(a.*member, b.*member, path);
      if (!same) path = path.empty() ? name : std::string(name) + '.' + path;
    });
    return same;
  } else {
    return a == b;
  }
}
template <class T>
bool deep_equal(const std::vector<T>& a, const std::vector<T>& b, std::string& path) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!deep_equal(a[i], b[i], path)) return false;
  }
  return true;
}
template <class T>
bool deep_equal(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b,
                std::string& path) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && deep_equal(*a, *b, path);
}

}  // namespace sluice::state
