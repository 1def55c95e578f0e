// Who may use how much of a server at a time. A request is read only when its sender is known and
// has fewer than some others on their way, and the bytes of requests that wait for their answers
// are counted, as are those of answers that are not read: whatever one user sends, or leaves where
// it is, there is room for the next one. Root and SlurmUser are not
// counted. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "common/base/result.hpp"

namespace sluice::net {

struct AdmissionLimits {
  // requests that are on their way at a time; others wait
  size_t reads_of_user = 8;
  size_t calls_of_user = 8192;              // open ones, streams too
  size_t bytes_of_user = size_t{64} << 20;  // of requests that are not answered yet
  size_t bytes_of_all = size_t{256} << 20;
  size_t answers_of_user = size_t{512} << 20;  // bytes that wait for him to read them
};

class Admission {
 public:
  // A call that waits for its turn to read.
  class Reader {
   public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    virtual ~Reader() = default;
    // False: it is over already.
    virtual bool start_reading() = 0;
  };

  explicit Admission(AdmissionLimits limits = {}) : limits_(limits) {}

  // kRetry: the user has too many calls open. Else closed() follows once.
  [[nodiscard]] Status open(uint32_t uid);
  void closed(uint32_t uid, size_t held_bytes, size_t held_answers = 0);

  // The call reads now or later; has_read() follows each start_reading() that said true.
  void ask_to_read(uint32_t uid, const std::shared_ptr<Reader>& call);
  void has_read(uint32_t uid);

  // kRetry: too much waits to be answered. The caller gives the bytes back with closed().
  [[nodiscard]] Status hold(uint32_t uid, size_t bytes);
  // kRetry: the user leaves too much unread. Else the bytes are given back by read_answer() and
  // closed().
  [[nodiscard]] Status hold_answer(uint32_t uid, size_t bytes);
  void read_answer(uint32_t uid, size_t bytes);
  // Memory that is taken already.
  void add(uint32_t uid, size_t bytes);

 private:
  struct User {
    size_t calls = 0;
    size_t reads = 0;
    size_t bytes = 0;
    size_t answers = 0;  // bytes
    std::deque<std::shared_ptr<Reader>> waiting;
  };
  // Gives a turn to calls that wait, as long as there is one free.
  void pass_turn(uint32_t uid, std::unique_lock<std::mutex>& lock);
  void forget_idle(uint32_t uid);

  const AdmissionLimits limits_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, User> users_;  // guarded by mutex_, as this:
  size_t bytes_ = 0;
};

}  // namespace sluice::net
