// The words of a command line or an environment as exec(3) and posix_spawn(3) want them.
#pragma once

#include <string>
#include <vector>

namespace sluice {

// Pointers into `words`, then a null one. Good while `words` is neither changed nor gone; the
// callee writes nothing.
[[nodiscard]] inline std::vector<char*> exec_pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace sluice
