// The kinds of values, one small rule each.
#include "common/config/keys/conf_value.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::tables {
namespace {

using Parsed = std::optional<ConfValue>;

bool is_infinite(std::string_view text) {
  return iequals(text, "UNLIMITED") || iequals(text, "INFINITE");
}

// "cgroup" where "task/cgroup" is allowed: Slurm takes the name of a plugin without its kind.
bool is_name_of(std::string_view allowed, std::string_view text) {
  return iequals(allowed, text) || (allowed.find('/') != allowed.npos &&
                                    iequals(allowed.substr(allowed.find('/') + 1), text));
}

// "1000", "+5", "0x3e8" and "01750", as C writes numbers.
std::optional<uint64_t> plain_number(std::string_view text) {
  int base = 10;
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
  }
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

// The same, and "10K" of a number that is no size.
std::optional<uint64_t> counted(std::string_view text) {
  uint64_t factor = 1;
  if (text.ends_with('K') || text.ends_with('k')) factor = 1024;
  if (text.ends_with('M') || text.ends_with('m')) factor = 1024 * 1024;
  if (factor != 1) text.remove_suffix(1);
  const std::optional<uint64_t> number = plain_number(text);
  if (!number || *number > UINT32_MAX) return factor == 1 ? number : std::nullopt;
  return *number * factor;
}

// What INFINITE is where no member keeps "no limit": the largest number of so many bits. Nothing
// where a key has bounds of its own.
std::optional<uint64_t> largest_number(const ConfRule& rule) {
  if (rule.max == kMax16 || rule.max == kMax32 || rule.max == kMax64) return rule.max + 2;
  return std::nullopt;
}

Parsed number_value(const ConfRule& rule, std::string_view text, Duration unit) {
  ConfValue value;
  if (const auto largest = largest_number(rule); largest && !rule.unlimited && is_infinite(text)) {
    value.number = *largest;
    value.span = unit * static_cast<int64_t>(std::min<uint64_t>(*largest, UINT32_MAX));
    return value;
  }
  if (is_infinite(text) || (rule.none && (text == "-1" || iequals(text, "NONE")))) {
    if (!rule.unlimited) return std::nullopt;
    value.number = UINT64_MAX;
    value.span = kNoLimit;
    return value;
  }
  const std::optional<uint64_t> number = counted(text);
  if (!number || *number < rule.min || *number > rule.max) return std::nullopt;
  value.number = *number;
  value.span = unit * static_cast<int64_t>(std::min<uint64_t>(*number, UINT32_MAX));
  return value;
}

Parsed memory_value(const ConfRule& rule, std::string_view text) {
  ConfValue value;
  if (is_infinite(text)) return value;
  // a number of megabytes may be counted in K, as any other number
  const bool thousands = text.ends_with('K') || text.ends_with('k');
  const std::optional<uint64_t> mebibytes = thousands ? counted(text) : parse_memory(text);
  if (!mebibytes || *mebibytes < rule.min || *mebibytes > rule.max) return std::nullopt;
  value.number = *mebibytes;
  return value;
}

Parsed percent_value(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::optional<double> number = to_number<double>(text);
  if (!number || !(*number >= 0 && *number <= 1e6)) return std::nullopt;
  ConfValue value;
  value.real = *number;
  return value;
}

Parsed bool_value(std::string_view text) {
  std::optional<bool> on = to_bool(text);
  if (!on && iequals(text, "up")) on = true;
  if (!on && iequals(text, "down")) on = false;
  if (!on) return std::nullopt;
  ConfValue value;
  value.number = *on ? 1 : 0;
  return value;
}

Parsed time_value(const ConfRule& rule, std::string_view text) {
  ConfValue value;
  if (is_infinite(text) || text == "-1") {
    if (!rule.unlimited) return std::nullopt;
    value.number = UINT64_MAX;
    value.span = kNoLimit;
    return value;
  }
  const std::optional<Minutes> minutes = parse_minutes(text);
  const std::optional<Duration> span = parse_span(text);
  if (!minutes || !span || *minutes < rule.min) return std::nullopt;
  value.number = *minutes;
  value.span = *span;
  return value;
}

// The index of `text` in the comma list `names`, in any case.
std::optional<size_t> index_of(std::string_view names, std::string_view text) {
  size_t index = 0;
  for (size_t start = 0; start <= names.size(); ++index) {
    const size_t comma = std::min(names.find(',', start), names.size());
    if (is_name_of(names.substr(start, comma - start), text)) return index;
    start = comma + 1;
  }
  return std::nullopt;
}

Parsed enum_value(const ConfRule& rule, std::string_view text) {
  const std::vector<std::string> names = split_list(rule.allowed);
  std::optional<size_t> index = index_of(rule.allowed, text);
  if (!index && rule.by_number) index = to_number<size_t>(text);
  if (!index || *index >= names.size()) return std::nullopt;
  ConfValue value;
  value.number = *index;
  value.text = names[*index];
  return value;
}

Parsed names_value(const ConfRule& rule, std::string_view text) {
  const std::vector<std::string> names = split_list(rule.allowed);
  std::vector<size_t> chosen;
  for (const std::string& word : split_list(text)) {
    const std::optional<size_t> index = index_of(rule.allowed, word);
    if (!index) return std::nullopt;
    if (std::find(chosen.begin(), chosen.end(), *index) == chosen.end()) chosen.push_back(*index);
  }
  if (rule.kind == ConfKind::kFlags) std::sort(chosen.begin(), chosen.end());
  ConfValue value;
  for (const size_t index : chosen) value.items.push_back(names[index]);
  value.text = join(value.items, ",");
  return value;
}

Parsed options_value(const ConfRule& rule, std::string_view text,
                     std::vector<std::string>* unknown) {
  ConfValue value;
  value.text = text;
  value.items = split_list(text);
  for (std::string& item : value.items) {  // job_submit/lua, of which the kind is needless
    const size_t slash = item.find('/');
    if (slash < item.find_first_of("=:") &&
        index_of(rule.allowed, std::string_view(item).substr(slash + 1)))
      item.erase(0, slash + 1);
  }
  if (!bad_count(rule, text).empty()) return std::nullopt;
  if (!unknown || rule.allowed.empty()) return value;
  for (const std::string& item : value.items) {
    const std::string name = item.substr(0, item.find_first_of("=:"));
    if (!index_of(rule.allowed, name)) unknown->push_back(name);
  }
  return value;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '+';
  });
}

// "6817" or "6817-6820": number is the first, span counts the ports.
Parsed ports_value(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = to_number<uint32_t>(text.substr(0, dash));
  const auto last = dash == text.npos ? first : to_number<uint32_t>(text.substr(dash + 1));
  if (!first || !last || *first == 0 || *last < *first || *last > 65535) return std::nullopt;
  ConfValue value;
  value.text = text;
  value.number = *first;
  value.span = Duration(*last - *first + 1);
  return value;
}

Parsed text_value(const ConfRule& rule, std::string_view text) {
  if (rule.kind == ConfKind::kAbsolutePath && !text.starts_with('/')) return std::nullopt;
  if (rule.kind == ConfKind::kName && !is_name(text)) return std::nullopt;
  if (rule.kind == ConfKind::kHosts && !expand_hosts(text)) return std::nullopt;
  ConfValue value;
  value.text = text;
  if (rule.kind == ConfKind::kWords) value.items = split_list(text);
  return value;
}

std::string number_words(const ConfRule& rule, std::string_view what) {
  std::string words = fmt::format("{} from {} to {}", what, rule.min, rule.max);
  if (rule.unlimited) words += ", or UNLIMITED";
  return words;
}

std::string listed(std::string_view allowed) { return join(split_list(allowed), ", "); }

}  // namespace

std::optional<ConfValue> parse_conf_value(const ConfRule& rule, std::string_view text,
                                          std::vector<std::string>* unknown_options) {
  Parsed value;
  switch (rule.kind) {
    case ConfKind::kNumber: value = number_value(rule, text, Duration(0)); break;
    case ConfKind::kSeconds: value = number_value(rule, text, std::chrono::seconds(1)); break;
    case ConfKind::kMinutes: value = number_value(rule, text, std::chrono::minutes(1)); break;
    case ConfKind::kMilliseconds:
      value = number_value(rule, text, std::chrono::milliseconds(1));
      break;
    case ConfKind::kMicroseconds: value = number_value(rule, text, Duration(1)); break;
    case ConfKind::kMemory: value = memory_value(rule, text); break;
    case ConfKind::kPercent: value = percent_value(text); break;
    case ConfKind::kBool:
    case ConfKind::kFlag: value = bool_value(text); break;
    case ConfKind::kTimeLimit:
    case ConfKind::kTimeSpan: value = time_value(rule, text); break;
    case ConfKind::kEnum: value = enum_value(rule, text); break;
    case ConfKind::kFlags:
    case ConfKind::kList: value = names_value(rule, text); break;
    case ConfKind::kOptions: value = options_value(rule, text, unknown_options); break;
    case ConfKind::kPorts: value = ports_value(text); break;
    default: value = text_value(rule, text);
  }
  if (value && value->text.empty()) value->text = text;
  return value;
}

std::string bad_count(const ConfRule& rule, std::string_view text) {
  if (rule.counts.empty()) return {};
  for (const std::string& item : split_list(text)) {
    const size_t end = item.find('=');
    const std::string_view name = std::string_view(item).substr(0, end);
    if (!index_of(rule.counts, name)) continue;
    if (end != std::string::npos && !to_number<uint32_t>(std::string_view(item).substr(end + 1)))
      return item;
  }
  return {};
}

std::string allowed_values(const ConfRule& rule) {
  if (!rule.allowed_text.empty()) return std::string(rule.allowed_text);
  switch (rule.kind) {
    case ConfKind::kNumber: return number_words(rule, "a number");
    case ConfKind::kSeconds: return number_words(rule, "a number of seconds");
    case ConfKind::kMinutes: return number_words(rule, "a number of minutes");
    case ConfKind::kMilliseconds: return number_words(rule, "a number of milliseconds");
    case ConfKind::kMicroseconds: return number_words(rule, "a number of microseconds");
    case ConfKind::kMemory:
      return "megabytes (4K are 4096 of them), a size with M, G or T, or UNLIMITED";
    case ConfKind::kPercent: return "a number of percent";
    case ConfKind::kBool: return "YES or NO";
    case ConfKind::kFlag: return "0 or 1";
    case ConfKind::kTimeLimit:
    case ConfKind::kTimeSpan: {
      std::string words =
          "minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, "
          "days-hours:minutes:seconds";
      if (rule.unlimited) words += " or UNLIMITED";
      return words;
    }
    case ConfKind::kEnum:
      return "one of " + listed(rule.allowed) + (rule.by_number ? ", or its number" : "");
    case ConfKind::kFlags:
    case ConfKind::kList: return "a comma-separated list of " + listed(rule.allowed);
    case ConfKind::kHosts: return "a host list such as n[1-8,10]";
    case ConfKind::kPorts: return "a port from 1 to 65535 or a range such as 6817-6820";
    case ConfKind::kAbsolutePath: return "a path that begins with /";
    case ConfKind::kName: return "letters, digits and _ - . +";
    default: return "any text";
  }
}

}  // namespace sluice::tables
