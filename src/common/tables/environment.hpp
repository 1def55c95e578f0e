// A process environment as a value: variables by name, in the order they came.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

class Environment {
 public:
  Environment() = default;
  // From KEY=VALUE texts, each ended by NUL. What has no name is left out; the last of two wins.
  [[nodiscard]] static Environment from_block(std::string_view block);

  void set(std::string_view name, std::string_view value);
  // No-op if the variable is there.
  void set_default(std::string_view name, std::string_view value);
  // No-op if it is not there.
  void unset(std::string_view name);
  // The value; empty when not set.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;

  // KEY=VALUE texts, for execve().
  [[nodiscard]] std::vector<std::string> entries() const;
  // As from_block() reads it.
  [[nodiscard]] std::string to_block() const;

 private:
  std::vector<std::string> entries_;  // an empty text: was unset
  std::unordered_map<std::string, size_t> places_;
};

}  // namespace sluice
