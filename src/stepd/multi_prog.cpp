#include "stepd/multi_prog.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr size_t kMostWords = size_t{64} << 20;  // bytes of memory
constexpr size_t kBesideWord = 40;  // its place in the list, its counts, what is lost to blocks

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

MultiProg::MultiProg(std::string_view text, std::vector<uint32_t> tasks) : left_(std::move(tasks)) {
  std::ranges::sort(left_);
  std::string joined;
  while (!text.empty() && !left_.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\\')) {
      joined.append(line.substr(0, line.size() - 1));
      continue;
    }
    joined += line;
    take_line(joined);
    joined.clear();
  }
}

void MultiProg::take_line(std::string_view line) {
  if (line.starts_with('#')) return;
  const auto ranks = take_word(line);
  if (!ranks) return;
  const auto command = std::make_shared<const std::string>(line);
  if (*ranks == "*") return give(command, 0, 0, UINT32_MAX, nullptr);
  uint32_t before = 0;
  for (const std::string& part : split_list(*ranks)) {
    const auto set = IndexSet::parse(part);
    if (!set || set->empty()) return;
    give(command, before, set->front(), set->back(), &*set);
    before += static_cast<uint32_t>(set->size());
  }
}

void MultiProg::give(const std::shared_ptr<const std::string>& command, uint32_t before,
                     uint32_t first, uint32_t last, const IndexSet* among) {
  const auto from = std::ranges::lower_bound(left_, first);
  const auto to = std::upper_bound(from, left_.end(), last);
  const auto taken = std::stable_partition(from, to, [&](uint32_t task) {
    if (among != nullptr && !among->contains(task)) return true;
    places_[task] = {command, before + (task - first)};
    return false;
  });
  left_.erase(taken, to);
}

Result<std::vector<SharedText>> MultiProg::of_task(uint32_t task,
                                                   const std::vector<SharedText>& extra) {
  std::vector<SharedText> words;
  if (const auto place = places_.find(task); place != places_.end()) {
    std::string_view rest = *place->second.command;
    while (auto word = take_word(rest)) {
      const std::string whole = replaced(*word, task, place->second.offset);
      held_ += kBesideWord + whole.size();
      if (held_ > kMostWords)
        return failure(
            fmt::format("the arguments of --multi-prog take more than {} MiB for the "
                        "tasks of a node",
                        kMostWords >> 20));
      words.emplace_back(whole);
    }
  }
  if (words.empty()) return failure("No executable program specified for this task");
  words.insert(words.end(), extra.begin(), extra.end());
  return words;
}

}  // namespace sluice::stepd
