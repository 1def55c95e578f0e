#include "stepd/io/line_assembler.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::stepd {

void LineAssembler::feed(std::string_view bytes, const Emit& emit) {
  if (bytes.empty()) return;
  if (!lines_) return emit(bytes);
  const size_t end = bytes.rfind('\n');
  if (end != std::string_view::npos) {
    if (held_.empty()) {
      emit(bytes.substr(0, end + 1));
    } else {
      held_ += bytes.substr(0, end + 1);
      emit(held_);
      held_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  held_ += bytes;
  if (held_.size() >= kMaxHeld) finish(emit);
}

void LineAssembler::finish(const Emit& emit) {
  if (!held_.empty()) emit(held_);
  held_.clear();
}

std::string labelled(std::string_view text, uint32_t task, uint32_t num_tasks) {
  const size_t width = std::to_string(std::max(num_tasks, 1U) - 1).size();
  const std::string label = fmt::format("{:>{}}: ", task, width);
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out.append(label).append(line).append("\n");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return out;
}

}  // namespace sluice::stepd
