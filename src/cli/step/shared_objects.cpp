#include "cli/step/shared_objects.hpp"

#include <algorithm>

#include "cli/shared/program_output.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

bool is_below(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::vector<std::string> objects_of_ldd(std::string_view text,
                                        const std::vector<std::string>& excluded) {
  std::vector<std::string> objects;
  for (const std::string& line : split(text, '\n')) {
    const size_t arrow = line.find("=> /");
    if (arrow == std::string::npos) continue;
    std::string path = line.substr(arrow + 3);
    path.erase(std::min(path.rfind(" ("), path.size()));
    const bool stays = std::ranges::any_of(
        excluded, [&](const std::string& folder) { return is_below(path, folder); });
    if (!stays) objects.push_back(std::move(path));
  }
  return objects;
}

std::vector<std::string> shared_objects(const std::string& program,
                                        const std::vector<std::string>& excluded) {
  return objects_of_ldd(program_output({"ldd", "--", program}), excluded);
}

}  // namespace sluice::cli
