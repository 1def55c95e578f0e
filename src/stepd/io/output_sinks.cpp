#include "stepd/io/output_sinks.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::stepd {
namespace {

constexpr size_t kCongestedBytes = 256U << 10;

// Its reader decides how fast it is.
bool is_slow(int fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return false;
  return S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || ::isatty(fd) == 1;
}

// Takes from the front of `bytes` what the descriptor takes. 0 or the errno that keeps the rest,
// EAGAIN for a full one.
int put(int fd, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace

struct OutputSinks::Slow {
  Slow(boost::asio::io_context& io, int fd) : descriptor(io, fd) {}
  boost::asio::posix::stream_descriptor descriptor;  // a copy of the caller's
  std::string queue;
  bool asked = false;  // told when it takes more
  bool lost = false;   // nothing more is written
};

OutputSinks::~OutputSinks() = default;

void OutputSinks::add(int fd) {
  if (has(fd)) return;
  SlowPtr& slow = sinks_[fd];
  const int copy = is_slow(fd) ? ::fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
  if (copy < 0) return;
  slow = std::make_shared<Slow>(io_, copy);
  boost::system::error_code ignored;
  slow->descriptor.native_non_blocking(true, ignored);
}

void OutputSinks::write(int fd, std::string_view bytes) {
  const SlowPtr& slow = sinks_.at(fd);
  if (slow == nullptr) {
    if (const int error = put(fd, bytes); error != 0) handlers_.on_lost(error);
    return;
  }
  if (slow->lost) return;
  if (slow->queue.empty()) {
    const int error = put(slow->descriptor.native_handle(), bytes);
    if (error != 0 && error != EAGAIN) return broken(*slow, error);
  }
  slow->queue += bytes;
  flush(slow);
}

bool OutputSinks::congested(int fd) const {
  const auto place = sinks_.find(fd);
  return place != sinks_.end() && place->second != nullptr &&
         place->second->queue.size() > kCongestedBytes;
}

bool OutputSinks::waiting() const {
  return std::ranges::any_of(sinks_, [](const auto& entry) {
    return entry.second != nullptr && !entry.second->queue.empty();
  });
}

void OutputSinks::drop() {
  for (const auto& [fd, slow] : sinks_) {
    if (slow == nullptr) continue;
    slow->lost = true;
    slow->queue.clear();
    boost::system::error_code ignored;
    slow->descriptor.close(ignored);
  }
}

void OutputSinks::flush(const SlowPtr& slow) {
  if (slow->asked || slow->queue.empty()) return;
  slow->asked = true;
  slow->descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                              [this, slow](const boost::system::error_code& error) {
                                slow->asked = false;
                                if (slow->lost) return;
                                std::string_view rest = slow->queue;
                                const int why = error ? error.value()
                                                      : put(slow->descriptor.native_handle(), rest);
                                if (why != 0 && why != EAGAIN) return broken(*slow, why);
                                slow->queue.erase(0, slow->queue.size() - rest.size());
                                if (!slow->queue.empty()) return flush(slow);
                                handlers_.on_room();
                              });
}

// Nobody reads it any more, say. The tasks go on.
void OutputSinks::broken(Slow& slow, int error) {
  slow.lost = true;
  slow.queue.clear();
  handlers_.on_lost(error);
  handlers_.on_room();
}

}  // namespace sluice::stepd
