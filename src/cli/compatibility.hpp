// What of Slurm's commands is there, as rows: docs/compatibility.md is printed from them. An option
// may be called supported only with the name of a test that fails when it is ignored.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice::cli {

// kUntested: it acts, and no test would notice if it did not.
enum class Support { kSupported, kUntested, kNoEffect, kMissing };

struct CompatibilityRow {
  std::string_view command;
  std::string_view what;  // "--states, -t", or a verb
  Support support;
  std::string_view test;  // of kSupported
  // of kNoEffect and kMissing: what it belongs to, or why there is nothing to do
  std::string_view subject;
};

[[nodiscard]] std::span<const CompatibilityRow> compatibility_rows();
// Those of them that compatibility_accounting.cpp has.
[[nodiscard]] std::span<const CompatibilityRow> accounting_compatibility_rows();

// Where Sluice does on purpose, or still, otherwise than Slurm 22.05.
struct CompatibilityDifference {
  std::string_view about;  // a command or a subject
  std::string_view ours;   // what is so here
  // what Slurm does instead; empty: something else that no script should hang on
  std::string_view theirs;
};

[[nodiscard]] std::span<const CompatibilityDifference> compatibility_differences();

// The whole of docs/compatibility.md.
[[nodiscard]] std::string compatibility_text();

}  // namespace sluice::cli
