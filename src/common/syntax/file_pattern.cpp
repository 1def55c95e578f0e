#include "common/syntax/file_pattern.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/names/step_names.hpp"

namespace sluice {
namespace {

constexpr int kMaxPadding = 10;
constexpr uint32_t kNoArrayTask = 0xfffffffe;  // what Slurm shows for %a of no task of an array

std::string padded(uint32_t number, int width) {
  return fmt::format("{:0{}}", number, std::min(width, kMaxPadding));
}

std::string step_text(const StepId& id, int width) {
  return id.step <= kMaxNormalStep ? padded(number_of_step(id.step), width)
                                   : step_number_text(id.step);
}

// The text of one symbol; false when it is none.
bool put_symbol(std::string& out, char symbol, int width, const PatternFields& fields) {
  const bool in_array = fields.array != nullptr && fields.array->task != kNoTask;
  const uint32_t array_task = in_array ? fields.array->task : kNoArrayTask;
  switch (symbol) {
    case '%': out += '%'; return true;
    case 'A':
      out += padded(fields.array == nullptr ? fields.step.job : fields.array->array_job, width);
      return true;
    case 'a': out += padded(array_task, width); return true;
    case 'b': out += padded(array_task % 10, width); return true;
    case 'J':
      out += padded(fields.step.job, width);
      if (fields.step.step != kBatchStep) out += "." + step_text(fields.step, 0);
      return true;
    case 'j': out += padded(fields.step.job, width); return true;
    case 'n': out += padded(fields.node_index, width); return true;
    case 't': out += padded(fields.task, width); return true;
    case 's': out += step_text(fields.step, width); return true;
    case 'N': out += fields.host; return true;
    case 'u': out += fields.user_name; return true;
    case 'x': out += fields.job_name; return true;
    default: return false;
  }
}

// For a batch script the letter behind a backslash stays, whatever it is; srun drops every
// backslash.
std::string without_backslashes(std::string_view pattern, bool batch) {
  std::string out;
  bool escaped = false;
  for (const char c : pattern) {
    const bool stays = c != '\\' || (batch && escaped);
    if (stays) out += c;
    escaped = !stays;
  }
  return out;
}

}  // namespace

std::string expand_file_pattern(std::string_view pattern, const PatternFields& fields) {
  std::string out;
  if (pattern.find('\\') != std::string_view::npos)
    return without_backslashes(pattern, fields.step.step == kBatchStep);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    size_t at = i + 1;
    int width = 0;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') {
      width = std::min(width * 10 + (pattern[at++] - '0'), kMaxPadding);
    }
    if (at < pattern.size() && put_symbol(out, pattern[at], width, fields)) {
      i = at;
    } else {
      out += '%';
    }
  }
  return out;
}

bool pattern_is_per_node(std::string_view pattern) {
  if (pattern.find('\\') != std::string_view::npos) return false;
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    size_t at = i + 1;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') ++at;
    if (at < pattern.size() &&
        std::string_view("tNn").find(pattern[at]) != std::string_view::npos) {
      return true;
    }
    i = std::min(at, pattern.size() - 1);
  }
  return false;
}

std::string_view default_output_pattern(bool array) {
  return array ? "slurm-%A_%a.out" : "slurm-%j.out";
}

std::string absolute_path(std::string_view path, std::string_view folder) {
  if (path.starts_with('/') || folder.empty()) return std::string(path);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", path);
}

}  // namespace sluice
