// Fills every field of a described struct with a value that is not its default, for tests of what
// works by descriptions.
#pragma once

#include <cstdint>
#include <string>

#include "common/wire/codec.hpp"

namespace sluice::test {

class Filler {
 public:
  explicit Filler(uint64_t seed = 1) : seed_(seed) {}

  template <class T>
  void fill(T& v) {
    using namespace wire::detail;  // NOLINT(google-build-using-namespace): the codec's traits
    if constexpr (std::is_same_v<T, bool>) {
      v = !v;
    } else if constexpr (std::is_same_v<T, double>) {
      v = static_cast<double>(next()) + 0.25;
    } else if constexpr (std::is_same_v<T, Time>) {
      v = Time(Duration(static_cast<int64_t>(next()) * 1'000'003));
    } else if constexpr (std::is_same_v<T, Duration>) {
      v = -Duration(static_cast<int64_t>(next()) * 1'003);
    } else if constexpr (std::is_enum_v<T>) {
      v = static_cast<T>(static_cast<uint64_t>(v) == 1 ? 2 : 1);
    } else if constexpr (std::is_integral_v<T>) {
      v = static_cast<T>(std::is_signed_v<T> ? -static_cast<int64_t>(next() % 100 + 1)
                                             : next() % 100 + 101);
    } else if constexpr (std::is_same_v<T, std::string>) {
      v = "text " + std::to_string(next());
    } else if constexpr (TextCoded<T>) {
      TextTraits<T>::from_text("1-3,7", v);
    } else if constexpr (IsOptional<T>::value) {
      fill(v.emplace());
    } else if constexpr (IsShared<T>::value) {
      auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
      fill(*made);
      v = std::move(made);
    } else if constexpr (IsVector<T>::value) {
      v.clear();
      for (int i = 0; i < 2; ++i) {
        typename T::value_type one{};
        fill(one);
        v.push_back(std::move(one));
      }
    } else if constexpr (IsMap<T>::value) {
      fill(v["key"]);
    } else if constexpr (Variant<T>) {
      std::visit([&](auto& alternative) { fill(alternative); }, v);
    } else {
      T::describe([&](uint32_t, const char*, auto member) { fill(v.*member); });
    }
  }

 private:
  uint64_t next() { return ++seed_; }
  uint64_t seed_;
};

template <class T>
[[nodiscard]] T filled(uint64_t seed = 1) {
  T v{};
  Filler(seed).fill(v);
  return v;
}

// One value of each alternative of a variant, every field filled.
template <Variant T>
[[nodiscard]] std::vector<T> all_alternatives() {
  std::vector<T> values;
  [&]<size_t... Is>(std::index_sequence<Is...>) {
    (values.push_back(T(filled<std::variant_alternative_t<Is, VariantOf<T>>>(Is + 1))), ...);
  }
  (std::make_index_sequence<std::variant_size_v<VariantOf<T>>>());
  return values;
}

}  // namespace sluice::test
