#include "stepd/io/user_messages.hpp"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "stepd/io/line_assembler.hpp"
#include "stepd/io/patience.hpp"

namespace sluice::stepd {
namespace {

constexpr auto kMessageTime = std::chrono::seconds(1);  // for a FIFO that nobody reads from

// What it does not take is lost.
void write_to(int fd, std::string_view text, const Patience& patience) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR && !patience.over()) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

using protocol::FrameType;

void UserMessages::tell(std::string_view message, FrameType type) {
  if (facts_.start.node_index != 0) return;
  if (!message.starts_with("CANCELLED") && !message.starts_with("FAILED"))
    return write(fmt::format("slurmstepd: error: {}\n", message), type);
  const bool again = std::exchange(told_of_end_, true);
  if (again && message.find(" DUE TO ") == std::string_view::npos) return write({}, type);
  write(fmt::format("slurmstepd: error: *** {} ON {} {} ***\n", facts_.name(),
                    facts_.start.node_name, message),
        type);
}

void UserMessages::write(const std::string& text, FrameType type) {
  const bool of_task = !facts_.is_batch() && first_rank_;
  if (sinks_.has(file_)) {
    sinks_.write(file_, of_task ? labelled(text, *first_rank_, facts_.num_tasks()) : text);
  } else if (file_ >= 0) {
    const Patience patience(kMessageTime);
    write_to(file_, text, patience);
  }
  if (type == FrameType::kStderr && (file_ >= 0 || !of_task || text.empty())) return;
  audience_.send(type, of_task ? *first_rank_ : kNoTask, text);
}

void UserMessages::tell_of_lost_output(int error) {
  if (std::exchange(told_of_loss_, true)) return;
  write(fmt::format(
      "slurmstepd: error: Cannot write the tasks' output on {}: {}. Some of it is lost.\n",
      facts_.start.node_name, errno_text(error)));
}

}  // namespace sluice::stepd
