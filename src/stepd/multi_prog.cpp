#include "stepd/multi_prog.hpp"

#include <optional>

#include "common/base/index_set.hpp"
#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

// The next word at the front of `line`, quotes taken away; nothing at the end. What is quoted or
// behind a backslash means itself: its percent signs come out doubled, for replaced().
std::optional<std::string> take_word(std::string_view& line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  if (line.empty()) return std::nullopt;
  std::string word;
  bool quoted = false;
  while (!line.empty() && (quoted || (line.front() != ' ' && line.front() != '\t'))) {
    const char c = line.front();
    line.remove_prefix(1);
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == '\\' && !quoted && !line.empty()) {
      word.append(line.front() == '%' ? 2 : 1, line.front());
      line.remove_prefix(1);
    } else {
      word.append(quoted && c == '%' ? 2 : 1, c);
    }
  }
  return word;
}

// Where `task` is among the ranks; nothing when it is not.
std::optional<uint32_t> offset_among(std::string_view ranks, uint32_t task) {
  if (ranks == "*") return task;
  uint32_t before = 0;
  for (const std::string& part : split_list(ranks)) {
    const auto set = IndexSet::parse(part);
    if (!set || set->empty()) return std::nullopt;
    if (set->contains(task)) return before + (task - set->front());
    before += static_cast<uint32_t>(set->size());
  }
  return std::nullopt;
}

std::string replaced(std::string_view word, uint32_t task, uint32_t offset) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : '\0';
    if (next == 't' || next == 'o') {
      out += std::to_string(next == 't' ? task : offset);
      ++i;
    } else {
      if (next == '%') ++i;  // "%%" is a percent sign
      out += word[i];
    }
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> program_of_task(std::string_view text, uint32_t task,
                                                 const std::vector<std::string>& extra) {
  std::string joined;
  for (const std::string& line : split(text, '\n')) {
    if (line.ends_with('\\')) {
      joined.append(line, 0, line.size() - 1);
      continue;
    }
    std::string_view rest = joined += line;
    const bool comment = rest.starts_with('#');
    const auto ranks = comment ? std::nullopt : take_word(rest);
    const auto offset = ranks ? offset_among(*ranks, task) : std::nullopt;
    if (offset) {
      std::vector<std::string> words;
      while (auto word = take_word(rest)) words.push_back(replaced(*word, task, *offset));
      if (words.empty()) break;
      words.insert(words.end(), extra.begin(), extra.end());
      return words;
    }
    joined.clear();
  }
  return failure("No executable program specified for this task");
}

}  // namespace sluice::stepd
