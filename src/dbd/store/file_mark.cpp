#include "dbd/store/file_mark.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/log/log.hpp"
#include "common/os/read_file.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kMostMarkBytes = 100;

// On the disk before the database changes.
void sync_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::string FileMark::seen() const {
  struct stat file {};
  if (::stat(file_.c_str(), &file) != 0) return {};
  return fmt::format("{} {}.{:09}\n", file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

Status FileMark::check() const {
  struct stat log {};
  if (::stat((file_ + "-wal").c_str(), &log) != 0 || log.st_size == 0) return {};
  const auto mark = read_file(path_, kMostMarkBytes);
  if (!mark || *mark == seen()) return {};
  return failure(
      ErrorCode::kDamaged,
      fmt::format(
          "{0} is not the file that slurmdbd left when it was killed, and {0}-wal is that "
          "one's log. If a copy was put back, remove {0}-wal and {0}-shm; if {0} was changed "
          "by another program alone, remove {0}-mark. Then start slurmdbd again",
          file_));
}

void FileMark::begin_change() {
  if (marked_.empty() && ::access(path_.c_str(), F_OK) != 0) return;
  marked_.clear();
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT)
    log::error("cannot remove {}: {}", path_, errno_text(errno));
  sync_folder_of(path_);
}

void FileMark::end_change() {
  std::string text = seen();
  if (text.empty()) return;
  if (Status wrote = write(text); !wrote) log::error("{}", wrote.error().text);
  else marked_ = std::move(text);
}

void FileMark::renew() {
  if (marked_.empty() || marked_ == seen()) return;
  begin_change();
  end_change();
}

Status FileMark::write(const std::string& text) const {
  const std::string draft = path_ + "-new";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  const bool wrote = fd >= 0 &&
                     ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                     ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (wrote && ::rename(draft.c_str(), path_.c_str()) == 0) return sync_folder_of(path_), Status();
  const int why = wrote ? errno : error;
  ::unlink(draft.c_str());
  return failure(fmt::format("cannot write {}: {}", path_, errno_text(why)));
}

}  // namespace sluice::dbd
