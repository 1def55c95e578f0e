#include "common/os/matching_paths.hpp"

#include <algorithm>

#include <glob.h>

namespace sluice {

std::vector<std::string> matching_paths(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  std::vector<std::string> paths;
  glob_t found{};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): unsafe only with ~ and user names, which are off
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(paths.begin(), paths.end());  // glob's own order is the locale's
  return paths;
}

}  // namespace sluice
