#include "noded/node/last_job.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"

namespace sluice::noded {

LastJob::LastJob(std::string spool_dir) : path_(std::move(spool_dir) + "/last_job") {
  protocol::JobNumber kept;
  const std::string text = read_file(path_).value_or("");
  if (std::sscanf(text.c_str(), "%u %u\n", &kept.round, &kept.job) == 2) number_ = kept;
}

LastJob::~LastJob() {
  if (fd_ >= 0) ::close(fd_);
}

Status LastJob::note(const protocol::JobNumber& number) {
  if (number <= number_ || is_outside_jobs(number.job)) return {};
  // the folder was removed, and maybe made anew
  struct stat file {};
  if (fd_ >= 0 && ::fstat(fd_, &file) == 0 && file.st_nlink == 0) {
    ::close(fd_);
    fd_ = -1;
  }
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  // always as long: a write that is cut short leaves no other number
  const std::string text = fmt::format("{:010} {:010}\n", number.round, number.job);
  const ssize_t written = fd_ < 0 ? -1 : ::pwrite(fd_, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) {
    const int error = written < 0 ? errno : ENOSPC;
    const bool full = error == ENOSPC || error == EDQUOT;
    return failure(full ? ErrorCode::kStorageFull : ErrorCode::kError,
                   fmt::format("cannot write {}: {}", path_, errno_text(error)));
  }
  number_ = number;
  return {};
}

void LastJob::forget() {
  std::remove(path_.c_str());
  number_ = {};
}

}  // namespace sluice::noded
