#include "common/config_files/config_cache.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "common/base/errno_text.hpp"
#include "common/os/replace_file.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0755;  // commands of all users read it
constexpr mode_t kFileMode = 0644;

tl::unexpected<Error> cannot(std::string_view what, const std::string& path,
                             const std::string& why) {
  return failure(ErrorCode::kPathMissing, fmt::format("cannot {} {}: {}", what, path, why));
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot("make the folder", folder, error.message());
  if (::chmod(folder.c_str(), kFolderMode) != 0)
    return cannot("change the mode of", folder, errno_text(errno));
  return {};
}

Status write_file(const fs::path& path, const std::string& text) {
  return replace_file(path.string(), text, {.mode = kFileMode});
}

// What an earlier configuration had and this one has not.
void remove_others(const std::string& folder, const std::vector<ConfigFile>& files) {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_config_file_name(name) && find_config_file(files, name) == nullptr)
      old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path, ignored);
}

}  // namespace

Status store_config_files(const std::string& folder, const std::vector<ConfigFile>& files) {
  if (Status ok = check_config_files(files); !ok) return ok;
  if (Status ok = make_folder(folder); !ok) return ok;
  for (const ConfigFile& file : files) {
    if (file.name == kMainConfigFile) continue;
    if (Status ok = write_file(fs::path(folder) / file.name, file.text); !ok) return ok;
  }
  remove_others(folder, files);
  return write_file(fs::path(folder) / kMainConfigFile, *find_config_file(files, kMainConfigFile));
}

Status set_link(const std::string& link, const std::string& target) {
  std::error_code error;
  const fs::file_status there = fs::symlink_status(link, error);
  if (fs::exists(there) && !fs::is_symlink(there))
    return cannot("make the link", link, "something else has that name");
  if (fs::is_symlink(there) && fs::read_symlink(link, error) == target) return {};
  fs::create_directories(fs::path(link).parent_path(), error);
  const std::string fresh = link + std::string(kUnfinishedFile);
  fs::remove(fresh, error);
  fs::create_symlink(target, fresh, error);
  if (error) return cannot("make the link", link, error.message());
  if (std::rename(fresh.c_str(), link.c_str()) != 0)
    return cannot("make the link", link, errno_text(errno));
  return {};
}

}  // namespace sluice
