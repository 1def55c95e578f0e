// The daemon has one thread: what waits for somebody else there (the other end of a FIFO) keeps
// orders and signals waiting.
#pragma once

#include <chrono>
#include <csignal>

namespace sluice::stepd {

// While it lives, a system call that has waited until `limit` is over ends with EINTR. One at a
// time.
class Patience {
 public:
  explicit Patience(std::chrono::seconds limit);
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  ~Patience();
  // An EINTR is no reason to try again.
  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
  struct sigaction before_ {};
};

}  // namespace sluice::stepd
