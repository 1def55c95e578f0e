// What reads bytes of others: one target for each decoder and parser. libFuzzer drives them
// (tests/fuzz/main.cpp, preset `fuzz`), and what it kept in tests/corpus/fuzz/NAME is read again by
// tests/unit/fuzz.
#pragma once

#include <string_view>
#include <vector>

namespace sluice::fuzz {

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);  // ends the process where something is wrong
};

[[nodiscard]] std::vector<Target> all_targets();

// By what they belong to.
[[nodiscard]] std::vector<Target> text_targets();
[[nodiscard]] std::vector<Target> config_targets();
[[nodiscard]] std::vector<Target> wire_targets();
[[nodiscard]] std::vector<Target> network_targets();
[[nodiscard]] std::vector<Target> file_targets();

}  // namespace sluice::fuzz
