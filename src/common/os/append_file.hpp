// Files that a daemon writes at paths of its configuration: its log, its PID file. Their folder may
// be another's, who could have put a link there to a file that only the daemon may write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace sluice {

// Opens the file at `path` with `flags` (open(2)), made where it is not there: for its owner to
// write and its group to read, as logs have what users may hide from one another. Refused are a
// link that neither root nor this process's user made; a file with a second name; one that is
// neither root's, nor this user's, nor of its folder's owner, where others than root and this user
// may have put it there; a folder. Errors: kPathMissing, with path and reason.
[[nodiscard]] Result<int> open_daemon_file(const std::string& path, int flags);

// Files that were opened so, or not yet made, become those of `uid`: before a daemon stops being
// root, which opens them after that. Those that are this user's already stay so, wherever they are:
// an earlier start gave them. No-op for empty names and for what is no file (/dev/null). Errors: as
// above.
[[nodiscard]] Status give_daemon_files(const std::vector<std::string>& paths, uint32_t uid,
                                       uint32_t gid);

// A file that grows by whole lines.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();
  // Errors: as of open_daemon_file().
  [[nodiscard]] static Result<AppendFile> open(const std::string& path);
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // What cannot be written is lost: a full disk ends nothing.
  void write(std::string_view lines) const;

 private:
  explicit AppendFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace sluice
