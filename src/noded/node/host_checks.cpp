#include "noded/node/host_checks.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"

namespace sluice::noded {

Status may_run(const std::string& program) {
  struct stat file {};
  int problem = ::stat(program.c_str(), &file) == 0 ? 0 : errno;
  if (problem == 0 && !S_ISREG(file.st_mode)) problem = EACCES;
  if (problem == 0 && ::faccessat(AT_FDCWD, program.c_str(), X_OK, AT_EACCESS) != 0)
    problem = errno;
  if (problem == 0) return {};
  return failure(ErrorCode::kPathMissing,
                 fmt::format("cannot run {}: {}", program, errno_text(problem)));
}

Status may_write_in(const std::string& folder) {
  const std::string path = folder + "/write_test";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  int problem = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (::write(fd, "\n", 1) != 1) problem = errno;
    ::close(fd);
    ::unlink(path.c_str());
  }
  if (problem == 0 || problem == ENOSPC || problem == EDQUOT) return {};
  return failure(ErrorCode::kPathMissing, fmt::format("cannot write into the spool folder {}: {}",
                                                      folder, errno_text(problem)));
}

}  // namespace sluice::noded
