// Sorted ranges: every change rewrites only the ranges it touches; what has many is sorted once.
#include "common/base/index_set.hpp"

#include <algorithm>
#include <charconv>

#include "common/base/index_ops.hpp"

namespace sluice {
namespace {

constexpr size_t kMaxItems = size_t{4} << 20;        // of any text
constexpr size_t kMaxTargetItems = size_t{1} << 16;  // of the tasks of one target

bool begins_before(const IndexSet::Range& a, const IndexSet::Range& b) { return a.first < b.first; }

bool take_number(std::string_view& text, uint32_t& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  return true;
}

// One of `7`, `1-3`, `0-15:4`, appended to `ranges` as long as these are no more than `most`.
bool add_item(std::string_view item, uint32_t max_index, size_t most,
              std::vector<IndexSet::Range>& ranges) {
  uint32_t first = 0;
  if (!take_number(item, first) || first > max_index) return false;
  uint32_t last = first;
  uint32_t step = 1;
  if (item.starts_with('-')) {
    item.remove_prefix(1);
    if (!take_number(item, last) || last < first || last > max_index) return false;
    if (item.starts_with(':')) {
      item.remove_prefix(1);
      if (!take_number(item, step) || step == 0) return false;
    }
  }
  if (!item.empty()) return false;
  const size_t count = step == 1 ? 1 : size_t{(last - first) / step} + 1;
  if (count > most - std::min(most, ranges.size())) return false;
  if (step == 1) {
    ranges.push_back({first, last});
    return true;
  }
  for (uint64_t index = first; index <= last; index += step) {
    ranges.push_back({static_cast<uint32_t>(index), static_cast<uint32_t>(index)});
  }
  return true;
}

// Of ranges in any order, overlapping or not: each is put behind all that are there.
IndexSet melt(std::vector<IndexSet::Range> ranges) {
  if (!std::ranges::is_sorted(ranges, begins_before)) std::ranges::sort(ranges, begins_before);
  IndexSet set;
  for (const IndexSet::Range& range : ranges) set.insert(range.first, range.last);
  return set;
}

std::optional<IndexSet> parse_bounded(std::string_view text, uint32_t max_index,
                                      size_t most_items) {
  std::vector<IndexSet::Range> ranges;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (!item.empty() && !add_item(item, max_index, most_items, ranges)) return std::nullopt;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return melt(std::move(ranges));
}

// The constant distance of at least six single indexes, or 0.
uint32_t even_step(const IndexSet& set) {
  const auto& ranges = set.ranges();
  constexpr size_t kEnough = 6;
  if (ranges.size() < kEnough) return 0;
  const uint32_t step = ranges[1].first - ranges[0].first;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first != ranges[i].last) return 0;
    if (i > 0 && ranges[i].first - ranges[i - 1].first != step) return 0;
  }
  return step;
}

}  // namespace

void IndexSet::insert(uint32_t first, uint32_t last) {
  if (first > last) return;
  // the ranges that overlap or touch first … last melt into one
  const auto begin = std::lower_bound(
      ranges_.begin(), ranges_.end(), first,
      [](const Range& range, uint32_t index) { return uint64_t{range.last} + 1 < index; });
  auto end = begin;
  while (end != ranges_.end() && end->first <= uint64_t{last} + 1) ++end;
  if (begin == end) {
    ranges_.insert(begin, {first, last});
    return;
  }
  begin->first = std::min(begin->first, first);
  begin->last = std::max(std::prev(end)->last, last);
  ranges_.erase(std::next(begin), end);
}

void IndexSet::insert(const IndexSet& other) {
  constexpr size_t kFew = 4;  // each of them one by one moves what is behind it
  if (other.ranges_.size() <= kFew) {
    for (const Range& range : other.ranges_) insert(range.first, range.last);
    return;
  }
  std::vector<Range> all(ranges_.size() + other.ranges_.size());
  std::ranges::merge(ranges_, other.ranges_, all.begin(), begins_before);
  ranges_.clear();
  for (const Range& range : all) insert(range.first, range.last);
}

void IndexSet::erase(uint32_t first, uint32_t last) {
  if (first > last) return;
  auto at = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                             [](const Range& range, uint32_t index) { return range.last < index; });
  if (at != ranges_.end() && at->first < first && at->last > last) {  // a hole in the middle
    const Range tail{last + 1, at->last};
    at->last = first - 1;
    ranges_.insert(std::next(at), tail);
    return;
  }
  if (at != ranges_.end() && at->first < first) (at++)->last = first - 1;
  auto end = at;
  while (end != ranges_.end() && end->last <= last) ++end;
  if (end != ranges_.end() && end->first <= last) end->first = last + 1;
  ranges_.erase(at, end);
}

bool IndexSet::contains(uint32_t index) const {
  const auto at =
      std::lower_bound(ranges_.begin(), ranges_.end(), index,
                       [](const Range& range, uint32_t wanted) { return range.last < wanted; });
  return at != ranges_.end() && at->first <= index;
}

std::optional<uint32_t> IndexSet::largest_up_to(uint32_t index) const {
  const auto behind = std::ranges::upper_bound(ranges_, index, {}, &Range::first);
  if (behind == ranges_.begin()) return std::nullopt;
  return std::min(std::prev(behind)->last, index);
}

bool IndexSet::intersects(const IndexSet& other) const {
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    if (a->last < b->first) ++a;
    else if (b->last < a->first) ++b;
    else return true;
  }
  return false;
}

IndexSet operator&(const IndexSet& a, const IndexSet& b) {
  IndexSet both;
  auto x = a.ranges_.begin();
  auto y = b.ranges_.begin();
  while (x != a.ranges_.end() && y != b.ranges_.end()) {
    const IndexSet::Range common{std::max(x->first, y->first), std::min(x->last, y->last)};
    if (common.first <= common.last) both.ranges_.push_back(common);
    if (x->last < y->last) ++x;
    else ++y;
  }
  return both;
}

uint64_t IndexSet::size() const {
  uint64_t sum = 0;
  for (const Range& range : ranges_) sum += uint64_t{range.last} - range.first + 1;
  return sum;
}

std::optional<uint32_t> IndexSet::pop_first() {
  if (ranges_.empty()) return std::nullopt;
  Range& range = ranges_.front();
  const uint32_t index = range.first;
  if (range.first == range.last) ranges_.erase(ranges_.begin());
  else ++range.first;
  return index;
}

std::string IndexSet::to_text() const {
  std::string out;
  for (const Range& range : ranges_) {
    if (!out.empty()) out += ',';
    out += std::to_string(range.first);
    if (range.last != range.first) out.append("-").append(std::to_string(range.last));
  }
  return out;
}

std::optional<IndexSet> IndexSet::parse(std::string_view text, uint32_t max_index) {
  // every index some times over, and room for those who list a few more often
  constexpr size_t kTimes = 4, kFew = 4096;
  return parse_bounded(text, max_index, std::min(kTimes * max_index + kFew, kMaxItems));
}

std::optional<IndexSet> IndexSet::parse_tasks(std::string_view text) {
  const bool bracketed = text.starts_with('[') && text.ends_with(']');
  return parse_bounded(bracketed ? text.substr(1, text.size() - 2) : text, UINT32_MAX - 1,
                       kMaxTargetItems);
}

bool TextTraits<IndexSet>::from_text(std::string_view text, IndexSet& set) {
  // no set is written with steps: they are many for few bytes
  if (text.find(':') != std::string_view::npos) return false;
  auto parsed = IndexSet::parse(text);
  if (parsed) set = std::move(*parsed);
  return parsed.has_value();
}

IndexSet index_set_of(const std::vector<uint32_t>& indexes) {
  std::vector<IndexSet::Range> ranges;
  ranges.reserve(indexes.size());
  for (const uint32_t index : indexes) ranges.push_back({index, index});
  return melt(std::move(ranges));
}

IndexSet without(const IndexSet& set, const IndexSet& other) {
  IndexSet left;
  auto out = other.ranges().begin();
  const auto end = other.ranges().end();
  for (IndexSet::Range range : set.ranges()) {
    while (out != end && out->last < range.first) ++out;
    bool some = true;
    for (auto hole = out; some && hole != end && hole->first <= range.last; ++hole) {
      if (hole->first > range.first) left.insert(range.first, hole->first - 1);
      some = hole->last < range.last;
      if (some) range.first = hole->last + 1;
      out = hole;
    }
    if (some) left.insert(range.first, range.last);
  }
  return left;
}

namespace {

// The items between commas without their brackets, and without what begins with a %.
std::string bare_items(std::string_view text) {
  std::string out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    std::string_view item = text.substr(from, end - from);
    item = item.substr(0, item.find('%'));
    if (item.starts_with('[')) item.remove_prefix(1);
    if (item.ends_with(']')) item.remove_suffix(1);
    out.append(item) += ',';
    from = end + 1;
  }
  out.pop_back();
  return out;
}

}  // namespace

Result<ArraySpec> parse_array_spec(std::string_view text, uint32_t max_array_size) {
  const auto invalid = [] { return failure(ErrorCode::kInvalidArray); };
  ArraySpec spec;
  if (const size_t percent = text.find('%'); percent != std::string_view::npos) {
    // the first one counts; one that is no number is ignored, as in Slurm
    std::string_view limit = text.substr(percent + 1);
    take_number(limit, spec.max_running);
  }
  if (max_array_size == 0) return invalid();
  auto indexes = IndexSet::parse(bare_items(text), max_array_size - 1);
  if (!indexes || indexes->empty()) return invalid();
  spec.indexes = std::move(*indexes);
  return spec;
}

std::string array_task_text(const IndexSet& tasks, uint32_t max_running, size_t limit_chars) {
  std::string text = tasks.to_text();
  constexpr size_t kWorthIt = 15;  // Slurm leaves short lists as they are
  if (const uint32_t step = even_step(tasks); step > 0 && text.size() >= kWorthIt) {
    text = std::to_string(tasks.front()) + "-" + std::to_string(tasks.back()) + ":" +
           std::to_string(step);
  }
  // the limit counts a terminating NUL
  if (limit_chars > 4 && text.size() >= limit_chars) {
    text.resize(limit_chars - 4);
    text += "...";
  }
  if (max_running > 0) text.append("%").append(std::to_string(max_running));
  return text;
}

}  // namespace sluice
