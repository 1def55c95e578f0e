// What -v shows of a command's options, a line each, as squeue and sinfo of Slurm do.
#pragma once

#include <string>
#include <string_view>

namespace sluice::cli {

class OptionLines {
 public:
  explicit OptionLines(size_t name_width = 12) : name_width_(name_width) {}
  void rule() { out_ += "-----------------------------\n"; }
  void flag(std::string_view name, bool value) { line(name, value ? "true" : "false"); }
  void number(std::string_view name, uint64_t value) { line(name, std::to_string(value)); }
  // `none` stands for an empty text.
  void text(std::string_view name, std::string_view value, std::string_view none = "(null)") {
    line(name, value.empty() ? none : value);
  }
  void line(std::string_view name, std::string_view value) {
    out_.append(name);
    if (name.size() < name_width_) out_.append(name_width_ - name.size(), ' ');
    out_.append("= ").append(value).append("\n");
  }
  void raw(std::string_view text) { out_ += text; }
  [[nodiscard]] const std::string& out() const { return out_; }

 private:
  const size_t name_width_;
  std::string out_;
};

}  // namespace sluice::cli
