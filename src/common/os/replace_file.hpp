// Files that are there whole or not at all, whenever the writer is killed.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/base/result.hpp"

namespace sluice {

// What an unfinished file's name ends with: who lists a folder of such files passes these over.
inline constexpr std::string_view kUnfinishedFile = ".new";

struct FileWriting {
  mode_t mode = 0600;  // whatever the umask
  // the file and its name are on the disk on return: it outlives a crash of the host, too
  bool flush = false;
};

// Writes the bytes beside `path` and moves them there; one writer of a path at a time, in a
// folder where nobody else makes files. Error: kPathMissing, with the path and the reason; the file
// that was there is there still.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view bytes,
                                  const FileWriting& how = {});
// The names in the file's folder are on the disk on return, where the folder can be read.
void flush_folder_of(const std::string& path);
// All of them, over short writes and signals. False with errno.
[[nodiscard]] bool write_all(int fd, std::string_view bytes);

}  // namespace sluice
