// Lock and ballast of a store's folder.
#include "ctld/journal/state_folder.hpp"

#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::journal {

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  // scripts and environments are private
  std::error_code code;
  if (!std::filesystem::exists(folder, code)) {
    std::filesystem::create_directories(folder, code);
    if (!code) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, code);
    if (code) {
      return failure(fmt::format("cannot make the folder {}: {}", folder.string(), code.message()));
    }
  }
  Result<FileLock> lock = FileLock::take((folder / "lock").string());
  if (lock) return FolderLock(std::move(*lock));
  if (lock.error().code != ErrorCode::kDuplicateName) return tl::unexpected(lock.error());
  return failure(fmt::format("the journal in {} is in use by {}; two controllers cannot share it",
                             folder.string(), lock.error().text));
}

bool Ballast::allocate() const {
  const int descriptor = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  const int code = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes_));
  ::close(descriptor);
  return code == 0;
}

bool Ballast::take() {
  if (held_ || bytes_ == 0) return true;
  std::error_code code;
  const uint64_t has =
      std::filesystem::exists(file_, code) ? std::filesystem::file_size(file_, code) : 0;
  if (code || has < bytes_) {
    const std::filesystem::space_info space = std::filesystem::space(file_.parent_path(), code);
    if (code || space.available < 2 * bytes_) return false;
  }
  held_ = allocate();
  if (!held_) release();
  return held_;
}

void Ballast::release() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  held_ = false;
}

}  // namespace sluice::journal
