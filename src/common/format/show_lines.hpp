// The layout of scontrol's records: "Key=Value" words in lines, the later lines indented by three
// blanks, or with --oneliner all in one line with a blank between.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

class ShowLines {
 public:
  explicit ShowLines(bool one_line) : one_line_(one_line) {}

  // The next words go on a new line.
  ShowLines& line() {
    text_ += one_line_ ? " " : "\n   ";
    fresh_ = true;
    return *this;
  }
  // A word of its own.
  ShowLines& word(std::string_view key, std::string_view value) {
    if (!fresh_) text_ += ' ';
    fresh_ = false;
    text_.append(key).append("=").append(value);
    return *this;
  }
  ShowLines& word(std::string_view key, uint64_t value) { return word(key, std::to_string(value)); }
  ShowLines& raw(std::string_view text) {
    fresh_ = false;
    text_ += text;
    return *this;
  }
  [[nodiscard]] std::string take() {
    text_ += '\n';
    return std::move(text_);
  }

 private:
  bool one_line_;
  bool fresh_ = true;
  std::string text_;
};

}  // namespace sluice
