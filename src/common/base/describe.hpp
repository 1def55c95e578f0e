// Described structs: a struct lists its fields once, and codec, JSON, comparison and schema follow.
//
//   struct Point {
//     int32_t x = 0;
//     std::string label;
//     template <class V>
//     static void describe(V&& field) {
//       field(1, "x", &Point::x);          // number: stable for ever, as in protobuf
//       field(2, "label", &Point::label);  // name: for JSON and messages
//     }
//   };
//
// Field types: bool, integers, enums, double, std::string, Time, Duration, other described structs,
// and std::optional, std::vector, std::map<std::string, std::string>, std::variant (also as a
// class: variant_class.hpp) and std::shared_ptr<const T> of those. A variant's alternatives are
// described structs that carry `static constexpr uint32_t kTag` (1…) and `static constexpr const
// char* kName`. The number of a removed field is listed in `static constexpr uint32_t kRetired[]`
// and not used again; a new one takes a fresh number and a default that means what was meant
// before.
#pragma once

#include <concepts>
#include <cstdint>

namespace sluice {

struct NullVisitor {
  template <class M>
  void operator()(uint32_t, const char*, M) const {}
};

template <class T>
concept Described = requires(NullVisitor v) {
  T::describe(v);
};

// A type that travels as text: specialise with `static std::string to_text(const T&)` and
// `static bool from_text(std::string_view, T&)`.
template <class T>
struct TextTraits;

template <class T>
concept TextCoded = requires(const T& t) {
  TextTraits<T>::to_text(t);
};

}  // namespace sluice
