#include "stepd/io/output_files.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "stepd/io/patience.hpp"

namespace sluice::stepd {
namespace {

// For the other end of a FIFO. Far less than what a job that does not end costs its node.
constexpr auto kOpenTime = std::chrono::seconds(5);

// Every folder above `path`, but neither `work_dir` nor one above that: a folder that its user has
// removed is not to come back. What cannot be made shows when the file is opened.
void make_folders_of(const std::string& path, const std::string& work_dir) {
  const std::string kept = work_dir + "/";
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (!kept.starts_with(path.substr(0, slash + 1))) ::mkdir(path.substr(0, slash).c_str(), 0777);
  }
}

constexpr mode_t kMode = 0666;

// The kernel lets a process see all of itself in /proc, whoever it acts as: there it would open
// what root may.
bool is_about_this_process(int fd) {
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0 || system.f_type != PROC_SUPER_MAGIC) return false;
  char path[PATH_MAX];
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path, sizeof path);
  if (length < 0) return true;
  return std::ranges::any_of(
      split({path, static_cast<size_t>(length)}, '/'), [](const std::string& part) {
        const bool number =
            !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
        // any of its threads has such a folder
        return number && ::access(fmt::format("/proc/self/task/{}", part).c_str(), F_OK) == 0;
      });
}

int refused() {
  errno = EACCES;
  return -1;
}

// What a link of /proc stands for, such as a descriptor of this process, is opened if it is a
// device: /dev/stdout, which is /dev/null here. A kernel that cannot tell such links opens all.
int open_by_name(const char* path, int flags) {
  open_how how{.flags = static_cast<uint64_t>(flags),
               .mode = (flags & O_CREAT) != 0 ? kMode : 0U,
               .resolve = RESOLVE_NO_MAGICLINKS};
  const auto fd = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
  if (fd >= 0 || (errno != ELOOP && errno != ENOSYS && errno != EPERM)) return fd;
  if (errno == ELOOP) {
    const int found = ::open(path, O_PATH | O_CLOEXEC);
    if (found < 0) return found;
    struct stat what {};
    const bool device = ::fstat(found, &what) == 0 && S_ISCHR(what.st_mode);
    ::close(found);
    if (!device) return refused();
  }
  return ::open(path, flags, kMode);
}

int open_as_user(const char* path, int flags) {
  const int fd = open_by_name(path, flags);
  if (fd < 0 || !is_about_this_process(fd)) return fd;
  ::close(fd);
  return refused();
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const auto& [path, fd] : outputs_) ::close(fd);
  for (const auto& [path, fd] : inputs_) ::close(fd);
  if (null_ >= 0) ::close(null_);
}

Result<int> OutputFiles::open(const std::string& path, int flags, bool make_folders) {
  const ActAsUser as_user(user_);
  const mode_t before = ::umask(umask_);
  const Patience patience(kOpenTime);
  const auto try_open = [&] {
    int fd = -1;
    do {
      fd = open_as_user(path.c_str(), flags | O_CLOEXEC | O_NOCTTY);
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
  return failure(ErrorCode::kPathMissing,
                 error == EINTR ? "nobody opens its other end" : errno_text(error));
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
