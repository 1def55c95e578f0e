#include "common/model/config_file.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr size_t kMostNameBytes = 64;
constexpr size_t kMostShownBytes = 80;  // of a name that is refused

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

tl::unexpected<Error> refuse(std::string text) {
  return failure(ErrorCode::kInvalidConfig, std::move(text));
}

}  // namespace

bool is_config_file_name(std::string_view name) {
  return name.size() <= kMostNameBytes && name.ends_with(".conf") && !name.starts_with('.') &&
         std::ranges::all_of(name, is_name_character);
}

Status check_config_files(const std::vector<ConfigFile>& files) {
  if (files.size() > kMostConfigFiles)
    return refuse(fmt::format("{} configuration files, at most {} are allowed", files.size(),
                              kMostConfigFiles));
  std::set<std::string_view> names;
  size_t bytes = 0;
  for (const ConfigFile& file : files) {
    if (!is_config_file_name(file.name)) {
      return refuse(fmt::format("\"{}\" is no name for a configuration file",
                                file.name.substr(0, kMostShownBytes)));
    }
    if (!names.insert(file.name).second) return refuse(fmt::format("{} comes twice", file.name));
    if (file.text.size() > kMostConfigFileBytes) {
      return refuse(fmt::format("{} has {} bytes, at most {} are allowed", file.name,
                                file.text.size(), kMostConfigFileBytes));
    }
    bytes += file.text.size();
  }
  if (bytes > kMostConfigBytes)
    return refuse(fmt::format("the configuration has {} bytes, at most {} are allowed", bytes,
                              kMostConfigBytes));
  if (!names.contains(kMainConfigFile))
    return refuse("there is no slurm.conf among the configuration files");
  return {};
}

const std::string* find_config_file(const std::vector<ConfigFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &ConfigFile::name);
  return found == files.end() ? nullptr : &found->text;
}

}  // namespace sluice
