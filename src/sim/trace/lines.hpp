// The lines of a trace, and errors that name them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace sluice::sim {

inline constexpr int64_t kMostSeconds = 4'000'000'000;  // that a trace may tell of anything

struct Place {
  const std::string& file;
  uint64_t line = 0;
  [[nodiscard]] tl::unexpected<Error> error(std::string_view what) const {
    return failure(file + ":" + std::to_string(line) + ": " + std::string(what));
  }
};

class Lines {
 public:
  Lines(std::string_view text, const std::string& file) : left_(text), file_(file) {}
  bool next() {
    if (left_.empty()) return false;
    const size_t end = left_.find('\n');
    text_ = left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    if (text_.ends_with('\r')) text_.remove_suffix(1);
    ++number_;
    return true;
  }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] Place place() const { return {file_, number_}; }

 private:
  std::string_view left_, text_;
  const std::string& file_;
  uint64_t number_ = 0;
};

}  // namespace sluice::sim
