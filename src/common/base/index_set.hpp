// A set of uint32 kept as sorted ranges: the tasks of a job array, of which a hundred thousand in a
// row cost 8 bytes. Also the parser of `--array`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/describe.hpp"
#include "common/base/result.hpp"

namespace sluice {

class IndexSet {
 public:
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;  // inclusive
    friend bool operator==(const Range&, const Range&) = default;
  };

  IndexSet() = default;
  IndexSet(uint32_t first, uint32_t last) { insert(first, last); }

  // Adds or takes away first … last (no-op if first > last), or one index.
  void insert(uint32_t first, uint32_t last);
  void insert(uint32_t index) { insert(index, index); }
  void insert(const IndexSet& other);
  void erase(uint32_t first, uint32_t last);
  void erase(uint32_t index) { erase(index, index); }
  void clear() { ranges_.clear(); }

  [[nodiscard]] bool contains(uint32_t index) const;
  [[nodiscard]] bool intersects(const IndexSet& other) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  // The largest member that is not larger; nullopt: there is none.
  [[nodiscard]] std::optional<uint32_t> largest_up_to(uint32_t index) const;
  [[nodiscard]] uint64_t size() const;
  [[nodiscard]] uint32_t front() const { return ranges_.front().first; }  // not of an empty set
  [[nodiscard]] uint32_t back() const { return ranges_.back().last; }     // not of an empty set
  // Takes the lowest index out; nothing when the set is empty.
  std::optional<uint32_t> pop_first();
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

  template <class F>
  void for_each(F&& visit) const {
    for (const Range& range : ranges_) {
      for (uint64_t index = range.first; index <= range.last; ++index) {
        visit(static_cast<uint32_t>(index));
      }
    }
  }

  // `1-3,7`. parse() takes that and steps (`0-15:4`), in any order and overlapping; nothing when
  // the text is malformed or has an index above `max_index`. An empty text is an empty set.
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static std::optional<IndexSet> parse(std::string_view text,
                                                     uint32_t max_index = UINT32_MAX - 1);
  // What stands behind the underscore of a job's id: the same, in brackets or not.
  [[nodiscard]] static std::optional<IndexSet> parse_tasks(std::string_view text);

  friend IndexSet operator&(const IndexSet& a, const IndexSet& b);
  friend bool operator==(const IndexSet&, const IndexSet&) = default;

 private:
  std::vector<Range> ranges_;  // sorted, with gaps between
};

template <>
struct TextTraits<IndexSet> {
  static std::string to_text(const IndexSet& set) { return set.to_text(); }
  static bool from_text(std::string_view text, IndexSet& set);
};

// The value of `--array`: which tasks, and how many of them may run at once (0: any number).
struct ArraySpec {
  IndexSet indexes;
  uint32_t max_running = 0;
};

// `0-15:4,20%2`, in brackets or not; a limit may stand behind any item, and the first one counts.
// kInvalidArray when malformed, without an index, or with one that is not below `max_array_size`.
[[nodiscard]] Result<ArraySpec> parse_array_spec(std::string_view text, uint32_t max_array_size);

// The tasks as squeue shows them between its brackets: ranges, or `0-98:7` when six or more
// are evenly spaced and their list is long, then `%limit` unless it is 0. The part before the % is
// cut to `limit_chars` with `...` at its end as SLURM_BITSTR_LEN says (default 64, 0: never).
[[nodiscard]] std::string array_task_text(const IndexSet& tasks, uint32_t max_running,
                                          size_t limit_chars = 64);

}  // namespace sluice
