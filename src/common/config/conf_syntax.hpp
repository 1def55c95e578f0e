// The text of configuration files, before any key has a meaning: comments, continuation lines,
// quotes, Include, and `Key=value` pairs. Pure: what Include names is read by the caller.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::tables {

// One logical line: continuation lines joined, comment taken off, not blank.
struct ConfLine {
  std::string file;
  uint32_t number = 0;  // of its first physical line, from 1
  std::string text;
};

struct ConfPair {
  std::string key;
  std::string value;
};

// A whole file's text and the name it goes by in messages.
struct ConfSource {
  std::string file;
  std::string text;
};

// Reads what an Include line names (a path relative to `from`'s folder, %c already filled in, maybe
// with wildcards): one source a file, in order.
using ConfInclude = std::function<Result<std::vector<ConfSource>>(const std::string& path,
                                                                  const std::string& from)>;

inline constexpr size_t kMaxConfLine = 1U << 20;  // bytes of one logical line
inline constexpr int kMaxIncludeDepth = 16;

// The logical lines of a file and of all it includes, in reading order. `%c` in an Include stands
// for the ClusterName of a line before it. `lacking`, where it is given, receives what is wrong
// with an Include, and the rest is read.
[[nodiscard]] Result<std::vector<ConfLine>> conf_lines(const ConfSource& source,
                                                       const ConfInclude& include,
                                                       std::vector<std::string>* lacking = nullptr);

// Text that conf_lines() reads as these lines again, without any Include. A comment says where a
// file begins.
[[nodiscard]] std::string conf_text(const std::vector<ConfLine>& lines);

// The pairs of a line, in order.
[[nodiscard]] Result<std::vector<ConfPair>> conf_pairs(const ConfLine& line);
// The same into `pairs`, without what is no pair: the status tells of that.
[[nodiscard]] Status read_conf_pairs(const ConfLine& line, std::vector<ConfPair>& pairs);

// An error that begins with the line's place, if it stands in a file: `FILE:LINE: TEXT`.
[[nodiscard]] tl::unexpected<Error> conf_failure(const ConfLine& line, std::string_view text);

// What is wrong with a line or a file: the first error hides no other.
class ConfErrors {
 public:
  void add(const Status& status);
  [[nodiscard]] Status status() const;  // good when nothing was added, else all texts, a line each

 private:
  std::string text_;
};
// The lines of such a status.
void append_errors(std::vector<std::string>& errors, const Status& status);

}  // namespace sluice::tables
