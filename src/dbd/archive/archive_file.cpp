#include "dbd/archive/archive_file.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/time_text.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/wire/codec.hpp"

namespace sluice::dbd {
namespace {

constexpr std::string_view kMagic = "sluice accounting archive\n";
constexpr int kMostNames = 10'000;

tl::unexpected<Error> cannot(const std::string& path, int error) {
  return failure(error == ENOSPC || error == EDQUOT ? ErrorCode::kStorageFull : ErrorCode::kError,
                 fmt::format("cannot write {}: {}", path, errno_text(error)));
}

Status write_flushed(int fd, std::string_view bytes, const std::string& path) {
  return write_all(fd, bytes) && ::fsync(fd) == 0 ? Status() : cannot(path, errno);
}

Status sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return cannot(folder, errno);
  const bool done = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!done) return cannot(folder, error);
  return {};
}

// What is in the database afterwards is believed: nobody else may have written it.
Status check_file(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return failure(fmt::format("{}: {}", path, errno_text(errno)));
  if (!S_ISREG(status.st_mode))
    return failure(ErrorCode::kBadRequest, fmt::format("{} is no file", path));
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return failure(ErrorCode::kAccessDenied,
                   fmt::format("{} is neither root's nor SlurmUser's file", path));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return failure(ErrorCode::kAccessDenied,
                   fmt::format("{} may be written by others than its owner", path));
  return {};
}

Result<std::string> read_trusted(const std::string& path) {
  // one that waits for a writer, or is a device, is not waited for
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return failure(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kError,
                   fmt::format("{}: {}", path, errno_text(errno)));
  if (Status trusted = check_file(fd, path); !trusted) {
    ::close(fd);
    return tl::unexpected<Error>(trusted.error());
  }
  auto bytes = read_descriptor(fd);
  const int error = errno;
  ::close(fd);
  if (!bytes) return failure(fmt::format("{}: {}", path, errno_text(error)));
  return std::move(*bytes);
}

}  // namespace

Status may_write_archives(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return cannot(folder, errno);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return cannot(folder, errno);
  if ((status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0) return {};
  return failure(ErrorCode::kError,
                 fmt::format("cannot write archives into {}: all users may write there, and it has "
                             "no sticky bit",
                             folder));
}

Result<std::string> write_archive(const std::string& folder, const std::string& kind,
                                  ArchiveFile file, Time from, Time to) {
  file.count = file.rows.size();
  const std::string name =
      fmt::format("{}/{}_{}_archive_{}_{}", folder, file.cluster.empty() ? "site" : file.cluster,
                  kind, format_time(from), format_time(to));
  if (Status safe = may_write_archives(folder); !safe) return tl::unexpected<Error>(safe.error());
  std::string draft = folder + "/.archive-XXXXXX";
  const int fd = ::mkostemp(draft.data(), O_CLOEXEC);  // a new file, of mode 0600
  if (fd < 0) return cannot(draft, errno);
  Status wrote = write_flushed(fd, std::string(kMagic) + wire::encode(file), draft);
  ::close(fd);
  std::string path = name;
  // link() puts nothing in place of an archive that is there
  for (int i = 2; wrote && ::link(draft.c_str(), path.c_str()) != 0; ++i) {
    if (errno != EEXIST || i > kMostNames) wrote = cannot(path, errno);
    else path = fmt::format("{}.{}", name, i);
  }
  ::unlink(draft.c_str());
  if (wrote) wrote = sync_folder(folder);
  if (!wrote) return tl::unexpected<Error>(wrote.error());
  return path;
}

Result<ArchiveFile> read_archive(const std::string& path) {
  const auto bytes = read_trusted(path);
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  return parse_archive(*bytes, path);
}

Result<ArchiveFile> parse_archive(std::string_view bytes, const std::string& path) {
  if (!bytes.starts_with(kMagic))
    return failure(ErrorCode::kBadRequest, fmt::format("{} is no archive of sluicedbd", path));
  auto file = wire::decode<ArchiveFile>(bytes.substr(kMagic.size()));
  // none is written without rows
  if (!file || file->count == 0 || file->count != file->rows.size())
    return failure(ErrorCode::kDamaged, fmt::format("{} is damaged", path));
  if (file->format != 1)
    return failure(ErrorCode::kBadRequest,
                   fmt::format("{} is of a later version of this program", path));
  return std::move(*file);
}

}  // namespace sluice::dbd
