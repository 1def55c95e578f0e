#include "cli/options/find_in_path.hpp"

#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

bool is_usable(const std::string& path, int mode) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), mode) == 0;
}

}  // namespace

std::optional<std::string> find_in_path(const std::string& name, int mode,
                                        const std::string& here) {
  const char* folders = std::getenv("PATH");
  for (const std::string& folder : split(folders != nullptr ? folders : "/usr/bin:/bin", ':')) {
    std::string file = (folder.empty() ? here : folder) + '/' + name;
    if (is_usable(file, mode)) return file;
  }
  return std::nullopt;
}

std::optional<std::string> find_program(const std::string& name, const std::string& here) {
  if (name.find('/') == std::string::npos) return find_in_path(name, X_OK, here);
  std::string path = name.front() == '/' ? name : here + '/' + name;
  return is_usable(path, X_OK) ? std::optional(std::move(path)) : std::nullopt;
}

}  // namespace sluice::cli
