// What squeue and sinfo say alike of their options that choose fields.
#pragma once

#include <cstdio>
#include <string>

namespace sluice::cli {

// --helpformat: each field's name, and the letter of those that have one.
template <class Fields>
void print_fields(const Fields& fields) {
  for (const auto& field : fields) {
    std::printf("%-20s", std::string(field.name).c_str());
    if (field.letter != '\0') std::printf(" %%%c", field.letter);
    std::puts("");
  }
}

// --long is a choice of fields itself: says so when others were chosen beside it.
template <class Options>
[[nodiscard]] bool long_beside_format(const char* command, const Options& options) {
  if (!options.long_form || (!options.letters && !options.names)) return false;
  std::fprintf(stderr,
               "%s: fatal: Options -%s and -l(--long) are mutually exclusive. Please remove one "
               "and retry.\n",
               command, options.letters ? "o(--format)" : "O(--Format)");
  return true;
}

}  // namespace sluice::cli
