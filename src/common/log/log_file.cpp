// See log_file.hpp.
#include "common/log/log_file.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "common/log/log_line.hpp"

namespace sluice::log {

Status LogFile::open(const std::string& path) {
  if (path == path_ && (file_.is_open() || path.empty())) return {};
  path_ = path;
  return reopen();
}

Status LogFile::reopen() {
  file_ = AppendFile();
  if (path_.empty()) return {};
  auto opened = AppendFile::open(path_);
  if (!opened) return tl::unexpected<Error>(opened.error());
  file_ = std::move(*opened);
  return {};
}

void LogFile::write(std::string_view lines) {
  if (!file_.is_open()) return;
  const std::string stamp = stamp_now();
  std::string text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    fmt::format_to(std::back_inserter(text), "{}{}\n", stamp, log_line(line));
  }
  file_.write(text);
}

}  // namespace sluice::log
