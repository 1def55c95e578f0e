// What a library of this process writes to the standard error, line by line: libpmix with
// PMIxDebug.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/base/result.hpp"
#include "stepd/io/line_assembler.hpp"

namespace sluice::stepd {

class LibraryWords : public std::enable_shared_from_this<LibraryWords> {
 public:
  // without the line's end; on the event loop
  using Take = std::function<void(std::string_view line)>;

  // Takes the standard error away from the process. What comes faster than it is read is lost:
  // nobody waits for it. Errors: no pipe.
  [[nodiscard]] static Result<std::shared_ptr<LibraryWords>> start(boost::asio::io_context& io,
                                                                   Take take);
  LibraryWords(const LibraryWords&) = delete;
  LibraryWords& operator=(const LibraryWords&) = delete;
  ~LibraryWords() { stop(); }
  // Takes what is left; then the standard error leads to /dev/null. No-op if it is stopped.
  void stop();

 private:
  LibraryWords(boost::asio::io_context& io, Take take) : from_(io), take_(std::move(take)) {}
  void wait();
  void read();  // all that is there
  void give(std::string_view text) const;

  boost::asio::posix::stream_descriptor from_;
  LineAssembler lines_{true};
  Take take_;
};

}  // namespace sluice::stepd
