// Host lists: a recursive product of brackets one way, a single pass over neighbours the other.
#include "common/base/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr size_t kMaxDigits = 18;    // more could not be counted in 64 bits
constexpr size_t kMaxBrackets = 32;  // of one entry: its names are made by a recursion that deep

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A name taken apart at its trailing number.
struct Name {
  std::string_view prefix;
  uint64_t number = 0;
  size_t digits = 0;  // 0: no trailing number
};

Name take_apart(std::string_view name) {
  size_t start = name.size();
  while (start > 0 && is_digit(name[start - 1]) && name.size() - start < kMaxDigits) --start;
  Name parts{name.substr(0, start), 0, name.size() - start};
  std::from_chars(name.data() + start, name.data() + name.size(), parts.number);
  return parts;
}

size_t digits_of(uint64_t number) {
  size_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

// `lo` … `hi`, written with at least `width` digits.
struct Range {
  uint64_t lo = 0;
  uint64_t hi = 0;
  size_t width = 0;
};

std::optional<Range> parse_range(std::string_view text) {
  const size_t dash = text.find('-');
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : text.substr(dash + 1);
  Range range{0, 0, first.size()};
  const auto number = [](std::string_view digits, uint64_t& value) {
    if (digits.empty() || digits.size() > kMaxDigits) return false;
    const char* end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && at == end && is_digit(digits.front());
  };
  if (!number(first, range.lo) || !number(last, range.hi)) return std::nullopt;
  if (range.hi < range.lo || range.hi - range.lo >= kMaxHostsInRange) return std::nullopt;
  return range;
}

// An entry is prefix, bracket, prefix, bracket, …: its names are the product of the brackets.
struct Part {
  std::string_view prefix;
  std::vector<Range> ranges;  // empty: no bracket follows
};

std::optional<std::vector<Part>> parse_entry(std::string_view entry) {
  std::vector<Part> parts;
  while (!entry.empty()) {
    if (parts.size() == kMaxBrackets) return std::nullopt;
    const size_t open = entry.find('[');
    Part part{entry.substr(0, open), {}};
    if (open == std::string_view::npos) {
      if (!parts.empty()) return std::nullopt;  // text after the last bracket
      parts.push_back(std::move(part));
      break;
    }
    const size_t close = entry.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view inside = entry.substr(open + 1, close - open - 1);
    for (bool more = true; more;) {
      const size_t comma = inside.find(',');
      const auto range = parse_range(inside.substr(0, comma));
      if (!range) return std::nullopt;
      part.ranges.push_back(*range);
      more = comma != std::string_view::npos;
      if (more) inside.remove_prefix(comma + 1);
    }
    parts.push_back(std::move(part));
    entry.remove_prefix(close + 1);
  }
  return parts;
}

// The number of names, or more than kMaxHosts when there are too many.
size_t count_names(const std::vector<Part>& parts) {
  size_t product = 1;
  for (const Part& part : parts) {
    size_t sum = part.ranges.empty() ? 1 : 0;
    for (const Range& range : part.ranges) {
      sum = std::min(sum + static_cast<size_t>(range.hi - range.lo) + 1, kMaxHosts + 1);
    }
    product = std::min(product * sum, kMaxHosts + 1);
  }
  return product;
}

constexpr size_t kMaxHostBytes = 255;  // of a name: no host has a longer one
constexpr size_t kMaxTextShown = 256;  // of a list in an error

tl::unexpected<Error> invalid(std::string_view text) {
  const bool cut = text.size() > kMaxTextShown;
  return failure(
      ErrorCode::kInvalidNodeName,
      fmt::format("Invalid hostlist: {}{}", text.substr(0, kMaxTextShown), cut ? "..." : ""));
}

// What all the names of an entry have in common in length: its digits may be more.
bool is_too_long(const std::vector<Part>& parts) {
  size_t bytes = 0;
  for (const Part& part : parts) {
    size_t widest = 0;
    for (const Range& range : part.ranges)
      widest = std::max({widest, range.width, digits_of(range.hi)});
    bytes += part.prefix.size() + widest;
  }
  return bytes > kMaxHostBytes;
}

void put_number(uint64_t number, size_t width, std::string& out) {
  char digits[kMaxDigits + 2];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  const auto count = static_cast<size_t>(end - digits);
  if (count < width) out.append(width - count, '0');
  out.append(digits, count);
}

// `name` is what stands before these parts.
void add_names(std::span<const Part> parts, std::string& name, std::vector<std::string>& out) {
  if (parts.empty()) {
    out.push_back(name);
    return;
  }
  const Part& part = parts.front();
  const size_t before = name.size();
  name += part.prefix;
  const size_t stem = name.size();
  if (part.ranges.empty()) add_names(parts.subspan(1), name, out);
  for (const Range& range : part.ranges) {
    for (uint64_t number = range.lo; number <= range.hi; ++number) {
      put_number(number, range.width, name);
      add_names(parts.subspan(1), name, out);
      name.resize(stem);
    }
  }
  name.resize(before);
}

// A run of names with one prefix.
struct Run {
  std::string_view prefix;
  bool numbered = false;
  Range range;
};

// The text of number `hi + 1` at the run's width is the name's own, so the name goes on the run.
bool follows(const Run& run, const Name& name) {
  return run.numbered && name.digits > 0 && run.prefix == name.prefix &&
         name.number == run.range.hi + 1 &&
         name.digits == std::max(run.range.width, digits_of(name.number));
}

std::vector<Run> runs_of(const std::vector<std::string>& names) {
  std::vector<Run> runs;
  for (const std::string& text : names) {
    const Name name = take_apart(text);
    if (!runs.empty() && follows(runs.back(), name)) {
      runs.back().range.hi = name.number;
    } else {
      runs.push_back({name.prefix, name.digits > 0, {name.number, name.number, name.digits}});
    }
  }
  return runs;
}

std::string write_runs(const std::vector<Run>& runs) {
  std::string out;
  for (size_t i = 0; i < runs.size();) {
    size_t end = i + 1;
    while (runs[i].numbered && end < runs.size() && runs[end].numbered &&
           runs[end].prefix == runs[i].prefix) {
      ++end;
    }
    if (!out.empty()) out += ',';
    out += runs[i].prefix;
    const bool bracket = end - i > 1 || runs[i].range.lo != runs[i].range.hi;
    if (bracket) out += '[';
    for (size_t k = i; k < end && runs[k].numbered; ++k) {
      const Range& range = runs[k].range;
      if (k > i) out += ',';
      fmt::format_to(std::back_inserter(out), "{:0{}}", range.lo, range.width);
      if (range.hi != range.lo) {
        fmt::format_to(std::back_inserter(out), "-{:0{}}", range.hi, range.width);
      }
    }
    if (bracket) out += ']';
    i = end;
  }
  return out;
}

}  // namespace

std::vector<std::string> split_hosts(std::string_view text) {
  std::vector<std::string> entries;
  std::string entry;
  int depth = 0;
  const auto flush = [&] {
    if (!entry.empty()) entries.push_back(std::exchange(entry, {}));
  };
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']' && depth > 0) --depth;
    const bool separator = c == ',' || c == ' ' || c == '\t' || c == '\n';
    if (separator && depth == 0) flush();
    else entry += c;
  }
  flush();
  return entries;
}

Result<std::vector<std::string>> expand_hosts(std::string_view text) {
  const auto count = count_hosts(text);
  if (!count) return tl::unexpected(count.error());
  std::vector<std::string> names;
  names.reserve(*count);
  std::string name;
  for (const std::string& entry : split_hosts(text)) add_names(*parse_entry(entry), name, names);
  return names;
}

Result<size_t> count_hosts(std::string_view text) {
  size_t total = 0;
  for (const std::string& entry : split_hosts(text)) {
    const auto parts = parse_entry(entry);
    if (!parts || is_too_long(*parts)) return invalid(text);
    total += count_names(*parts);
    if (total > kMaxHosts) return invalid(text);
  }
  return total;
}

std::string fold_hosts(const std::vector<std::string>& names) { return write_runs(runs_of(names)); }

std::string fold_hosts_sorted(const std::vector<std::string>& names) {
  // Runs are made before sorting, so that 9-10 counts as one digit wide, as in Slurm; then they are
  // taken apart again to let duplicates stand beside each other.
  std::vector<Run> single;
  for (const Run& run : runs_of(names)) {
    for (uint64_t number = run.range.lo; number <= run.range.hi; ++number) {
      single.push_back({run.prefix, run.numbered, {number, number, run.range.width}});
    }
  }
  std::stable_sort(single.begin(), single.end(), [](const Run& a, const Run& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return std::pair(a.range.width, a.range.lo) < std::pair(b.range.width, b.range.lo);
  });
  std::vector<Run> runs;
  for (const Run& one : single) {
    const Name name{one.prefix, one.range.lo, std::max(one.range.width, digits_of(one.range.lo))};
    if (!runs.empty() && one.numbered && follows(runs.back(), name)) {
      runs.back().range.hi = one.range.lo;
    } else {
      runs.push_back(one);
    }
  }
  return write_runs(runs);
}

bool host_less(std::string_view a, std::string_view b) {
  const Name left = take_apart(a);
  const Name right = take_apart(b);
  if (left.prefix != right.prefix) return left.prefix < right.prefix;
  return std::pair(left.digits, left.number) < std::pair(right.digits, right.number);
}

void sort_hosts(std::vector<std::string>& names) {
  std::stable_sort(names.begin(), names.end(), host_less);
}

}  // namespace sluice
