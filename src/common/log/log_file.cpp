// See log_file.hpp.
#include "common/log/log_file.hpp"

#include <cerrno>
#include <algorithm>

#include <fmt/format.h>

#include "common/base/errno_text.hpp"

namespace sluice::log {

Status LogFile::open(const std::string& path) {
  if (path == path_ && (file_ != nullptr || path.empty())) return {};
  path_ = path;
  return reopen();
}

Status LogFile::reopen() {
  file_.reset(path_.empty() ? nullptr : std::fopen(path_.c_str(), "ae"));
  if (file_ != nullptr || path_.empty()) return {};
  return failure(ErrorCode::kPathMissing, fmt::format("{}: {}", path_, errno_text(errno)));
}

void LogFile::write(std::string_view lines) {
  if (file_ == nullptr) return;
  const std::string stamp = stamp_now();
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    fmt::print(file_.get(), "{}{}\n", stamp, line);
  }
  std::fflush(file_.get());  // what cannot be written is lost: a full disk ends nothing
}

}  // namespace sluice::log
