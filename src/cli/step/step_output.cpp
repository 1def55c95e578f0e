#include "cli/step/step_output.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {

namespace {

// Whether somebody misses what could not be written: not when he closed it, or his terminal is
// gone.
bool matters(int fd, int error) {
  if (error == EIO) return ::isatty(fd) == 0;
  return error != EPIPE && error != EBADF && error != ECONNRESET;
}

}  // namespace

OutputTarget::OutputTarget(int fd, Labels labels, uint32_t tasks) : fd_(fd), labels_(labels) {
  for (uint32_t highest = tasks > 0 ? tasks - 1 : 0; highest >= 10; highest /= 10) ++width_;
}

void OutputTarget::put(std::string_view bytes) {
  while (!bytes.empty() && !broken_) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<size_t>(done));
    } else if (errno == EAGAIN) {  // a terminal that someone made non-blocking
      pollfd wait{fd_, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      broken_ = true;  // the tasks go on
      if (matters(fd_, errno)) lost_ = errno;
    }
  }
}

void OutputTarget::put_line(uint32_t task, std::string_view line) {
  put(fmt::format("{:>{}}: {}\n", task, width_, line));
}

void OutputTarget::write(uint32_t task, std::string_view bytes) {
  if (labels_ == Labels::kNone) return put(bytes);
  std::string& held = partial_[task];
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      if (labels_ == Labels::kOfPieces) return put_line(task, bytes);
      held += bytes;
      return;
    }
    held += bytes.substr(0, end);
    put_line(task, held);
    held.clear();
    bytes.remove_prefix(end + 1);
  }
}

void OutputTarget::finish() {
  for (auto& [task, held] : partial_) {
    if (!held.empty()) put_line(task, held);
  }
  partial_.clear();
}

void OutputTarget::write_text(std::string_view text) {
  put(text.ends_with('\n') ? std::string(text) : std::string(text) + "\n");
}

bool is_stream_name(std::string_view pattern) {
  return pattern.empty() || pattern == "all" || pattern == "none" ||
         to_number<uint32_t>(pattern).has_value();
}

Result<int> open_output(std::string_view pattern, const PatternFields& fields, bool append,
                        int fallback, std::string_view kind) {
  if (is_stream_name(pattern) || pattern_is_per_node(pattern)) return fallback;
  const std::string path = expand_file_pattern(pattern, fields);
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
  const int fd = ::open(path.c_str(), flags, 0666);
  if (fd < 0) return failure(fmt::format("Could not open {} file: {}", kind, errno_text(errno)));
  return fd;
}

Result<int> open_input(std::string_view pattern, const PatternFields& fields) {
  if (pattern == "none") return -1;
  if (is_stream_name(pattern)) return STDIN_FILENO;
  if (pattern_is_per_node(pattern)) return -1;  // the step daemons open theirs
  const std::string path = expand_file_pattern(pattern, fields);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(fmt::format("Could not open stdin file: {}", errno_text(errno)));
  return fd;
}

}  // namespace sluice::cli
