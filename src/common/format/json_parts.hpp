// The small shapes that repeat in --json of data_parser v0.0.44.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/time.hpp"

namespace sluice {

using Json = nlohmann::ordered_json;

// An object that is made key by key, each named once: Json itself looks through all keys for each
// new one.
class JsonFields {
 public:
  explicit JsonFields(size_t keys) { fields_.reserve(keys); }
  [[nodiscard]] Json& operator[](const char* key) {
    return fields_.emplace_back(key, nullptr).second;
  }  // holds until the next
  [[nodiscard]] Json take() && { return std::move(fields_); }

 private:
  Json::object_t fields_;
};

// {"set":…, "infinite":…, "number":…}
[[nodiscard]] inline Json json_number(uint64_t number, bool set = true, bool infinite = false) {
  JsonFields out(3);
  out["set"] = set;
  out["infinite"] = infinite;
  out["number"] = set && !infinite ? number : 0;
  return std::move(out).take();
}
[[nodiscard]] inline Json json_unset() { return json_number(0, false); }
[[nodiscard]] inline Json json_infinite() { return json_number(0, false, true); }
// A count of which UINT32_MAX means no limit.
[[nodiscard]] inline Json json_limit(uint32_t number) {
  return number == UINT32_MAX ? json_infinite() : json_number(number);
}
[[nodiscard]] inline Json json_time(Time at) {
  return json_number(at == kNoTime || at == kNever ? 0 : static_cast<uint64_t>(to_seconds(at)));
}
[[nodiscard]] inline std::string json_text(std::string_view text) { return std::string(text); }

}  // namespace sluice
