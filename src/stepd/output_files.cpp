#include "stepd/output_files.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "stepd/patience.hpp"

namespace sluice::stepd {
namespace {

// For the other end of a FIFO. Far less than what a job that does not end costs its node.
constexpr auto kOpenTime = std::chrono::seconds(5);

// Every folder above `path`, but neither `work_dir` nor one above that: a folder that its user has removed is not to come
// back. What cannot be made shows when the file is opened.
void make_folders_of(const std::string& path, const std::string& work_dir) {
  const std::string kept = work_dir + "/";
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (!kept.starts_with(path.substr(0, slash + 1))) ::mkdir(path.substr(0, slash).c_str(), 0777);
  }
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const auto& [path, fd] : outputs_)
    ::close(fd);
  for (const auto& [path, fd] : inputs_)
    ::close(fd);
  if (null_ >= 0) ::close(null_);
}

Result<int> OutputFiles::open(const std::string& path, int flags, bool make_folders) {
  const ActAsUser as_user(user_);
  const mode_t before = ::umask(umask_);
  const Patience patience(kOpenTime);
  const auto try_open = [&] {
    int fd = -1;
    do {
      fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0666);
    } while (fd < 0 && errno == EINTR && !patience.over());
    return fd;
  };
  int fd = try_open();
  if (fd < 0 && errno == ENOENT && make_folders) {
    make_folders_of(path, work_dir_);
    fd = try_open();
  }
  const int error = errno;
  ::umask(before);
  if (fd >= 0) return fd;
  return failure(ErrorCode::kPathMissing, error == EINTR ? "nobody opens its other end" : errno_text(error));
}

Result<int> OutputFiles::output(const std::string& path) {
  if (const auto known = outputs_.find(path); known != outputs_.end()) return known->second;
  auto fd = open(path, O_WRONLY | O_CREAT | (append_ ? O_APPEND : O_TRUNC), true);
  if (fd) outputs_.emplace(path, *fd);
  return fd;
}

Result<int> OutputFiles::input(const std::string& path) {
  // each task reads from the start: not shared
  auto fd = open(path, O_RDONLY, false);
  if (fd) inputs_.emplace(path + '\0' + std::to_string(*fd), *fd);
  return fd;
}

Result<int> OutputFiles::null_device() {
  if (null_ < 0) null_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_ < 0) return failure(std::string("cannot open /dev/null: ") + errno_text(errno));
  return null_;
}

}  // namespace sluice::stepd
