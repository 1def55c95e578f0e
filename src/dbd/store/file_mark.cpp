#include "dbd/store/file_mark.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/log/log.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kMostMarkBytes = 100;

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
  flush_folder_of(path_);  // before the database changes
}

void FileMark::end_change() {
  std::string text = seen();
  if (text.empty()) return;
  if (Status wrote = replace_file(path_, text, {.flush = true}); !wrote)
    log::error("{}", wrote.error().text);
  else marked_ = std::move(text);
}

void FileMark::renew() {
  if (marked_.empty() || marked_ == seen()) return;
  begin_change();
  end_change();
}

}  // namespace sluice::dbd
