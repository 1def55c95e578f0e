// A log of one matter beside the process's own: lines with the same stamps, in a file that can be
// opened anew.
#pragma once

#include <string>
#include <string_view>

#include "common/os/append_file.hpp"
#include "common/base/result.hpp"

namespace sluice::log {

// "[2026-11-21T02:49:28.123] " as LogTimeFormat says.
[[nodiscard]] std::string stamp_now();

// Of one thread at a time.
class LogFile {
 public:
  // Appends to the file of this name from now on; an empty name closes. No-op if it is open
  // already.
  Status open(const std::string& path);
  // After the file was moved away.
  Status reopen();
  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  // Each line with a stamp; all of them are in the file when this returns.
  void write(std::string_view lines);

 private:
  std::string path_;
  AppendFile file_;
};

}  // namespace sluice::log
