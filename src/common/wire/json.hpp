// Described structs (base/describe.hpp) as JSON, for tools and people. Enums are numbers and times
// microseconds since 1970, unless `render` knows better. Text that is no UTF-8 becomes "\x" and
// hexadecimal digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/wire/codec.hpp"

namespace sluice::wire {

// Keeps the order of the fields.
using Json = nlohmann::ordered_json;

enum class Defaults { kLeftOut, kShown };  // fields that hold their default

struct NoRender {
  template <class T>
  std::optional<Json> operator()(const T&) const {
    return std::nullopt;
  }
};

[[nodiscard]] bool is_utf8(std::string_view text);
[[nodiscard]] Json json_text(std::string_view text);

// `render(value)` is asked for each enum and Time, and gives the JSON to use or nothing.
template <class T, class Render = NoRender>
[[nodiscard]] Json to_json(const T& v, const Render& render = {},
                           Defaults defaults = Defaults::kLeftOut) {
  using namespace detail;  // NOLINT(google-build-using-namespace): the codec's traits
  if constexpr (std::is_same_v<T, std::string>) {
    return json_text(v);
  } else if constexpr (std::is_enum_v<T>) {
    if (std::optional<Json> rendered = render(v)) return std::move(*rendered);
    return static_cast<uint64_t>(v);
  } else if constexpr (std::is_same_v<T, Time>) {
    if (std::optional<Json> rendered = render(v)) return std::move(*rendered);
    return v.time_since_epoch().count();
  } else if constexpr (std::is_same_v<T, Duration>) {
    return v.count();
  } else if constexpr (Scalar<T>) {
    return v;
  } else if constexpr (TextCoded<T>) {
    return json_text(TextTraits<T>::to_text(v));
  } else if constexpr (IsOptional<T>::value || IsShared<T>::value) {
    return v ? to_json(*v, render, defaults) : Json();
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (const auto& e : v) list.push_back(to_json<typename T::value_type>(e, render, defaults));
    return list;
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, value] : v) {
      object[json_text(key).template get<std::string>()] = to_json(value, render, defaults);
    }
    return object;
  } else if constexpr (Variant<T>) {
    return std::visit(
        [&](const auto& alternative) {
          Json object = Json::object();
          object[std::decay_t<decltype(alternative)>::kName] =
              to_json(alternative, render, defaults);
          return object;
        },
        v);
  } else {
    static_assert(Described<T>, "the type has no describe()");
    Json object = Json::object();
    const T& fresh = fresh_instance<T>();
    T::describe([&](uint32_t, const char* name, auto member) {
      if (defaults == Defaults::kLeftOut && same_as_default(v.*member, fresh.*member)) return;
      object[name] = to_json(v.*member, render, defaults);
    });
    return object;
  }
}

}  // namespace sluice::wire
