// Wild values in any field of a described struct, by a seed.
#pragma once

#include <array>
#include <limits>
#include <random>
#include <string>

#include "common/wire/codec.hpp"

namespace sluice::testing {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Changes each field with this chance.
  template <class T>
  void change(T& message, double chance) {
    chance_ = chance;
    visit(message);
  }
  // Cuts, flips, repeats and puts in bytes.
  std::string change_bytes(std::string bytes) {
    for (uint32_t times = 1 + below(4); times > 0; --times) {
      const size_t at = below(static_cast<uint32_t>(bytes.size()) + 1);
      switch (below(4)) {
        case 0: bytes.resize(at); break;
        case 1:
          if (at < bytes.size()) bytes[at] = static_cast<char>(below(256));
          break;
        case 2: bytes.insert(at, noise(1 + below(16))); break;
        default:
          bytes.insert(at, bytes.substr(below(static_cast<uint32_t>(at) + 1), below(64)));
          break;
      }
    }
    return bytes;
  }
  std::string noise(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % std::max(1U, bound)); }

 private:
  bool hit() { return std::uniform_real_distribution<>(0, 1)(random_) < chance_; }
  template <class Number>
  Number number() {
    using Limits = std::numeric_limits<Number>;
    const std::array<Number, 8> values{0,
                                       1,
                                       2,
                                       Limits::max(),
                                       static_cast<Number>(Limits::max() - 1),
                                       Limits::min(),
                                       static_cast<Number>(Limits::max() / 2),
                                       static_cast<Number>(random_())};
    return values[below(values.size())];
  }
  std::string text() {
    static const std::array<std::string, 22> kTexts{"",
                                                    "x",
                                                    std::string(70'000, 'x'),
                                                    std::string("a\0b", 3),
                                                    "\xff\xfe\x80",
                                                    "n[1-4000000000]",
                                                    "n[1-65536],n[1-65536]",
                                                    "n1",
                                                    "n1,n1,n1",
                                                    "ALL",
                                                    "%j%1000000d%%%",
                                                    "1-4294967295",
                                                    "0-4294967295:4294967295%4294967295",
                                                    "[1-",
                                                    "../../../etc/passwd",
                                                    "a\nb",
                                                    "plane=4294967295",
                                                    "arbitrary",
                                                    "-1",
                                                    "99999999999999999999",
                                                    "afterok:1?afterany:2,singleton",
                                                    "gpu:4294967295"};
    return below(8) == 0 ? noise(below(100)) : kTexts[below(kTexts.size())];
  }
  template <class T>
  void visit(T& v) {
    using namespace wire::detail;  // NOLINT(google-build-using-namespace): the codec's traits
    if constexpr (std::is_same_v<T, bool>) {
      if (hit()) v = !v;
    } else if constexpr (std::is_same_v<T, double>) {
      if (hit()) v = below(2) == 0 ? std::numeric_limits<double>::quiet_NaN() : 1e300;
    } else if constexpr (std::is_same_v<T, Time>) {
      if (hit()) v = Time(Duration(number<int64_t>()));
    } else if constexpr (std::is_same_v<T, Duration>) {
      if (hit()) v = Duration(number<int64_t>());
    } else if constexpr (std::is_enum_v<T>) {
      if (hit()) v = static_cast<T>(number<std::underlying_type_t<T>>());
    } else if constexpr (std::is_integral_v<T>) {
      if (hit()) v = number<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (hit()) v = text();
    } else if constexpr (TextCoded<T>) {
      if (hit()) TextTraits<T>::from_text(text(), v);
    } else if constexpr (IsOptional<T>::value) {
      if (hit()) v.emplace();
      if (v) visit(*v);
    } else if constexpr (IsShared<T>::value) {
      auto made = v ? std::make_shared<std::remove_const_t<typename T::element_type>>(*v)
                    : std::make_shared<std::remove_const_t<typename T::element_type>>();
      visit(*made);
      if (v || hit()) v = std::move(made);
      if (hit()) v = nullptr;
    } else if constexpr (IsVector<T>::value) {
      if (hit()) v.resize(below(5));
      for (size_t i = 0; i < v.size(); ++i) {
        typename T::value_type item = v[i];
        visit(item);
        v[i] = std::move(item);
      }
    } else if constexpr (IsMap<T>::value) {
      if (hit()) v[text()] = {};
      for (auto& [key, value] : v) visit(value);
    } else {
      T::describe([&](uint32_t, const char*, auto member) { visit(v.*member); });
    }
  }

  std::mt19937_64 random_;
  double chance_ = 0;
};

}  // namespace sluice::testing
