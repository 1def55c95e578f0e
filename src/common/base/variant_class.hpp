// Classes that stand for a std::variant of many alternatives. A class that derives from one and
// declares its special members, to be defined in a .cpp file, spares each translation unit that
// copies, moves or destroys it the code for all alternatives:
//
//   using AnyEvent = std::variant<JobSubmitted, …>;
//   class Event : public AnyEvent {
//    public:
//     Event();  // and the other special members, defaulted in a .cpp file
//     template <AlternativeOf<AnyEvent> T>
//     Event(T&& value) : AnyEvent(std::in_place_type<std::remove_cvref_t<T>>,
//     std::forward<T>(value)) {}
//   };
//
// std::visit, std::get_if and std::holds_alternative take it as they take the variant.
#pragma once

#include <type_traits>
#include <variant>

namespace sluice {

namespace detail {
template <class... Alternatives>
std::type_identity<std::variant<Alternatives...>> variant_of(const std::variant<Alternatives...>&);

template <class T, class V>
struct IsAlternative : std::false_type {};
template <class T, class... Alternatives>
struct IsAlternative<T, std::variant<Alternatives...>>
    : std::bool_constant<(std::is_same_v<T, Alternatives> || ...)> {};
}  // namespace detail

// A std::variant, or a class that derives from one.
template <class T>
concept Variant = requires(const T& value) {
  detail::variant_of(value);
};

// The std::variant itself.
template <Variant T>
using VariantOf = typename decltype(detail::variant_of(std::declval<const T&>()))::type;

// What the variant V may hold, as a value or a reference.
template <class T, class V>
concept AlternativeOf = detail::IsAlternative<std::remove_cvref_t<T>, V>::value;

}  // namespace sluice
