// The words of a command line or an environment as exec(3) and posix_spawn(3) want them.
#pragma once

#include <vector>

namespace sluice {

// Pointers into `words` (std::string, SharedText), then a null one. Good while `words` is neither
// changed nor gone; the callee writes nothing.
template <class Text>
[[nodiscard]] std::vector<char*> exec_pointers(const std::vector<Text>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const Text& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace sluice
