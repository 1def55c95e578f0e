#include "stepd/mpi/library_words.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"

namespace sluice::stepd {
namespace {

constexpr size_t kPiece = 4096;

}  // namespace

Result<std::shared_ptr<LibraryWords>> LibraryWords::start(boost::asio::io_context& io, Take take) {
  int ends[2];
  // the library must never wait for the event loop, which may be waiting for the library
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return failure(std::string("no pipe: ") + errno_text(errno));
  std::shared_ptr<LibraryWords> words(new LibraryWords(io, std::move(take)));
  words->from_.assign(ends[0]);
  const bool taken = ::dup2(ends[1], STDERR_FILENO) >= 0;
  const int why = errno;
  ::close(ends[1]);
  if (!taken) return failure(std::string("no standard error: ") + errno_text(why));
  words->wait();
  return words;
}

void LibraryWords::stop() {
  if (!from_.is_open()) return;
  if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
    ::dup2(null, STDERR_FILENO);
    ::close(null);
  }
  read();
  lines_.finish([this](std::string_view text) { give(text); });
  from_.close();
}

void LibraryWords::wait() {
  from_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [self = weak_from_this()](const boost::system::error_code& error) {
                     const auto words = self.lock();
                     if (error || !words || !words->from_.is_open()) return;
                     words->read();
                     words->wait();
                   });
}

void LibraryWords::read() {
  std::array<char, kPiece> room{};
  ssize_t got = 0;
  while ((got = ::read(from_.native_handle(), room.data(), room.size())) > 0) {
    lines_.feed({room.data(), static_cast<size_t>(got)},
                [this](std::string_view text) { give(text); });
  }
}

void LibraryWords::give(std::string_view text) const {
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) take_(line);
  }
}

}  // namespace sluice::stepd
