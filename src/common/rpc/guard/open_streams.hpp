// What the peer of one connection has under way, and how often it cancels and asks for a word of
// HTTP/2 itself. gRPC 1.51 reads whatever comes: its bound of calls counts only once the peer has
// acknowledged it, a call that is cancelled at once counts in no bound (CVE-2023-44487), and each
// of them takes kilobytes until its turn comes. Internal to rpc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/time.hpp"

namespace sluice::net {

// So many at once, and so many more each second.
class Allowance {
 public:
  constexpr Allowance(double most, double each_second)
      : most_(most), each_second_(each_second), left_(most) {}
  // False: none is left.
  [[nodiscard]] bool take(SteadyTime now);
  void give_one() { left_ = left_ + 1 < most_ ? left_ + 1 : most_; }
  void fill() { left_ = most_; }
  [[nodiscard]] size_t taken() const { return static_cast<size_t>(most_ - left_); }

 private:
  double most_, each_second_, left_;
  SteadyTime counted_{};
};

enum class Trust : uint8_t { kNobody, kUser, kPrivileged };  // whose valid token has come

class OpenStreams {
 public:
  // Twice what a server says it takes (ServerOptions::max_streams_per_connection): an answer is
  // counted a little after its peer may have it.
  static constexpr size_t kMost = 2000;
  static constexpr size_t kMostOfClient = 1000;  // what a server says
  // Of calls that end before they are answered. A client may give up all that it has at once; each
  // call that is answered allows another.
  static constexpr double kMostCancelled = 1200, kCancelledEachSecond = 100;
  // Of PING and SETTINGS, each of which is answered. Whatever else the server sends allows as many
  // again: clients measure the way of what they receive.
  static constexpr double kMostAsked = 100, kAskedEachSecond = 10;

  // Headers came. False: of the streams that they begin more than `most` are open. Where that is
  // less than a server says, those that were cancelled of late count, too: gRPC has them still.
  [[nodiscard]] bool begin(uint32_t stream, size_t most);
  // False: too many were cancelled.
  [[nodiscard]] bool cancel(uint32_t stream, SteadyTime now);
  // False: too often.
  [[nodiscard]] bool ask(SteadyTime now) { return asked_.take(now); }
  void answer(uint32_t stream);
  void heard() { asked_.fill(); }

 private:
  [[nodiscard]] bool end(uint32_t stream);

  std::vector<uint32_t> open_;  // ascending
  uint32_t newest_ = 0;
  Allowance cancelled_{kMostCancelled, kCancelledEachSecond};
  Allowance asked_{kMostAsked, kAskedEachSecond};
};

// How many calls a connection may have open while the process has so many in all: where they are
// many it is few, of those whose peers have proved nothing first. Root and SlurmUser are trusted.
[[nodiscard]] size_t most_open(Trust trust, size_t calls);

}  // namespace sluice::net
