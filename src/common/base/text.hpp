// Small text helpers: trimming, splitting, strict numbers, Slurm's memory sizes and counts,
// quoting.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice {

[[nodiscard]] std::string_view trim(std::string_view text);

// The pieces between separators, empty ones too; an empty text has no piece.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
// The pieces, trimmed, without the empty ones.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text, char separator = ',');
// The same, each once: where it is first.
[[nodiscard]] std::vector<std::string> split_names(std::string_view text, char separator = ',');
[[nodiscard]] std::string join(std::span<const std::string> pieces, std::string_view separator);

// ASCII only, whatever the locale.
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_upper(std::string_view text);
[[nodiscard]] bool iequals(std::string_view a, std::string_view b);
[[nodiscard]] bool iless(std::string_view a, std::string_view b);
[[nodiscard]] bool starts_with_i(std::string_view text, std::string_view prefix);

// The whole text as a decimal number: no blanks, no plus sign, nothing left over, in range.
template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    [[nodiscard]] std::optional<T> to_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}

// `yes`, `true`, `1`, `on` and their opposites, in any case.
[[nodiscard]] std::optional<bool> to_bool(std::string_view text);

// A memory size in MiB: `4G`, `512`, `1500K` (rounded up), `2T`, with an optional B behind the
// unit; `default_unit` is what a bare number counts in. Nothing for anything else, fractions too.
[[nodiscard]] std::optional<uint64_t> parse_memory(std::string_view text, char default_unit = 'M');

// MiB as Slurm shows them: `100M`, `2G`, `1.50G` (halves only), `1500M`; 0 is `0`. With `convert`
// off, always `…M`.
[[nodiscard]] std::string format_memory(uint64_t mebibytes, bool convert = true);

// A count with an optional suffix K (1024), k too, or M (1024 K), as --nodes and --cpus take it.
[[nodiscard]] std::optional<uint32_t> parse_count(std::string_view text);
// A count shortened as format_memory() does, without a unit up to 1023: `8`, `2K`, `1500`, `1.50K`.
[[nodiscard]] std::string format_count(uint64_t count);

// `2(x3),1` for {2,2,2,1}, as in SLURM_TASKS_PER_NODE, and back (at most 1,048,576 numbers).
[[nodiscard]] std::string fold_counts(std::span<const uint32_t> counts);
[[nodiscard]] std::optional<std::vector<uint32_t>> expand_counts(std::string_view text);

// In single quotes, so that a POSIX shell reads it back as one word; plain words stay bare.
[[nodiscard]] std::string shell_quote(std::string_view text);
// Without one pair of surrounding double or single quotes, if both are there.
[[nodiscard]] std::string_view unquote(std::string_view text);

// The index of the word that `given` means: one equal to it, or the only one that it begins, in any
// case. Nothing when it begins none, or several (then `ambiguous`, if given, turns true).
[[nodiscard]] std::optional<size_t> match_prefix(std::string_view given,
                                                 std::span<const std::string_view> words,
                                                 bool* ambiguous = nullptr);

}  // namespace sluice
