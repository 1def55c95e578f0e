// A process environment as a value: variables by name, in the order they came. Copies share their
// texts: a step has one for each task, and they differ in a handful of variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/shared_text.hpp"

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

  // How many are set.
  [[nodiscard]] size_t size() const { return by_name_.size(); }

  // KEY=VALUE texts, for execve().
  [[nodiscard]] std::vector<std::string> entries() const;
  // The same as it asks for them, a null at the end; good until a variable is changed.
  [[nodiscard]] std::vector<char*> exec_pointers() const;
  // As from_block() reads it.
  [[nodiscard]] std::string to_block() const;

 private:
  // Where the name stands in by_name_, or would.
  [[nodiscard]] std::vector<uint32_t>::const_iterator place(std::string_view name) const;
  [[nodiscard]] const SharedText* find(std::string_view name) const;
  void sort_by_name();

  std::vector<SharedText> entries_;  // KEY=VALUE; an empty text: was unset
  std::vector<uint32_t> by_name_;    // of those that are set, sorted by their names
};

}  // namespace sluice
