// Text helpers: see text.hpp.
#include "common/base/text.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

namespace sluice {
namespace {

// So many bytes can still be counted, and so much for each of a million CPUs.
constexpr uint64_t kMostMebibytes = (uint64_t{1} << 43) - 1;
constexpr std::string_view kBlanks = " \t\n\r\f\v";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Divides by 1024 as long as nothing but a half gets lost, as Slurm does.
std::string scale(uint64_t value, std::string_view units) {
  size_t unit = 0;
  while (value >= 1024 && value % 1024 == 0 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  const bool half = value > 1024 && value % 1024 == 512 && unit + 1 < units.size();
  std::string out = half ? fmt::format("{}.50", value / 1024) : std::to_string(value);
  if (half) ++unit;
  if (units[unit] != ' ') out += units[unit];
  return out;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  if (text.empty()) return pieces;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    pieces.emplace_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return pieces;
    at = end + 1;
  }
}

std::vector<std::string> split_list(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (size_t from = 0; from < text.size();) {
    const size_t behind = std::min(text.find(separator, from), text.size());
    const std::string_view piece = trim(text.substr(from, behind - from));
    if (!piece.empty()) pieces.emplace_back(piece);
    from = behind + 1;
  }
  return pieces;
}

std::vector<std::string> split_names(std::string_view text, char separator) {
  std::vector<std::string> names = split_list(text, separator);
  if (names.size() < 2) return names;
  std::unordered_set<std::string> known;
  std::erase_if(names, [&](const std::string& name) { return !known.insert(name).second; });
  return names;
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces, separator));
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), upper);
  return out;
}

bool iequals(std::string_view a, std::string_view b) {
  return a.size() == b.size() && starts_with_i(a, b);
}

bool iless(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return lower(x) < lower(y); });
}

bool starts_with_i(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<bool> to_bool(std::string_view text) {
  for (const std::string_view word : {"yes", "true", "1", "on", "y", "t"}) {
    if (iequals(text, word)) return true;
  }
  for (const std::string_view word : {"no", "false", "0", "off", "n", "f"}) {
    if (iequals(text, word)) return false;
  }
  return std::nullopt;
}

std::optional<uint64_t> parse_memory(std::string_view text, char default_unit) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(at, static_cast<size_t>(end - at));
  const char letter = upper(unit.empty() ? default_unit : unit.front());
  if (unit.size() > 2 || (unit.size() == 2 && lower(unit[1]) != 'b')) return std::nullopt;
  uint64_t factor = 1;
  switch (letter) {
    case 'K': value = value / 1024 + (value % 1024 != 0 ? 1 : 0); break;
    case 'M': break;
    case 'G': factor = 1024; break;
    case 'T': factor = uint64_t{1024} * 1024; break;
    default: return std::nullopt;
  }
  if (value > kMostMebibytes / factor) return std::nullopt;
  return value * factor;
}

std::string format_memory(uint64_t mebibytes, bool convert) {
  if (mebibytes == 0) return "0";
  return convert ? scale(mebibytes, "MGTPE") : fmt::format("{}M", mebibytes);
}

std::optional<uint32_t> parse_count(std::string_view text) {
  uint64_t factor = 1;
  if (!text.empty()) {
    const char suffix = upper(text.back());
    if (suffix == 'K') factor = 1024;
    if (suffix == 'M') factor = uint64_t{1024} * 1024;
    if (factor > 1) text.remove_suffix(1);
  }
  const auto number = to_number<uint32_t>(text);
  if (!number || *number * factor >= std::numeric_limits<uint32_t>::max() - 1) return std::nullopt;
  return static_cast<uint32_t>(*number * factor);
}

std::string format_count(uint64_t count) { return scale(count, " KMGT"); }

std::string fold_counts(std::span<const uint32_t> counts) {
  std::string out;
  for (size_t i = 0; i < counts.size();) {
    size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(counts[i]);
    if (end - i > 1) out += fmt::format("(x{})", end - i);
    i = end;
  }
  return out;
}

std::optional<std::vector<uint32_t>> expand_counts(std::string_view text) {
  constexpr uint32_t kMost = 1U << 20;
  std::vector<uint32_t> counts;
  for (const std::string& piece : split(text, ',')) {
    std::string_view rest = piece;
    uint32_t times = 1;
    if (const size_t open = rest.find("(x"); open != std::string_view::npos) {
      if (!rest.ends_with(')')) return std::nullopt;
      const auto repeat = to_number<uint32_t>(rest.substr(open + 2, rest.size() - open - 3));
      if (!repeat || *repeat == 0) return std::nullopt;
      times = *repeat;
      rest = rest.substr(0, open);
    }
    const auto count = to_number<uint32_t>(rest);
    if (!count || times > kMost - counts.size()) return std::nullopt;
    counts.insert(counts.end(), times, *count);
  }
  return counts;
}

std::string shell_quote(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

std::string_view unquote(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.front() == text.back();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::optional<size_t> match_prefix(std::string_view given, std::span<const std::string_view> words,
                                   bool* ambiguous) {
  if (ambiguous != nullptr) *ambiguous = false;
  std::optional<size_t> found;
  bool several = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (iequals(words[i], given)) return i;
    if (given.empty() || !starts_with_i(words[i], given)) continue;
    several = several || found.has_value();
    found = i;
  }
  if (several && ambiguous != nullptr) *ambiguous = true;
  return several ? std::nullopt : found;
}

}  // namespace sluice
