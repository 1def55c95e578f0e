#include "cli/shared/interactive.hpp"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace sluice::cli {

namespace {

// Byte by byte. False at the end.
bool read_line(std::string& line) {
  line.clear();
  char c = '\0';
  ssize_t got = 0;
  while ((got = ::read(STDIN_FILENO, &c, 1)) == 1 && c != '\n') line += c;
  return got == 1 || !line.empty();
}

}  // namespace

std::vector<std::string> split_command_line(const std::string& line) {
  std::vector<std::string> out;
  std::string word;
  char quote = '\0';
  bool any = false;
  for (const char c : line) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
      else word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (any || !word.empty()) out.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
    }
  }
  if (any || !word.empty()) out.push_back(word);
  return out;
}

void run_interactive(const char* prompt,
                     const std::function<bool(const std::vector<std::string>&)>& run) {
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  std::string line;
  std::vector<std::string> last;
  while (true) {
    std::fputs(prompt, stdout);
    std::fflush(stdout);
    if (!read_line(line)) {
      std::fputs("\n", stdout);
      return;
    }
    // where nobody typed it, the line is shown as a terminal would
    if (!terminal) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    std::vector<std::string> words = split_command_line(line);
    if (words == std::vector<std::string>{"!!"}) words = last;
    else if (!words.empty()) last = words;
    const bool more = run(words);
    std::fflush(stdout);
    if (!more) return;
  }
}

}  // namespace sluice::cli
