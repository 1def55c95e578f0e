// What may take long for reasons that are not ours: name services, files, databases, whole plans.
// It leaves gRPC's threads, of which there are as many as processors, for a few threads of its own;
// what one user asks for never has all of them, and users take turns: whose work runs least, and
// ran longest ago, is next. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace sluice::net {

class SlowWork {
 public:
  struct Limits {
    size_t threads = 4;
    size_t running_of_user = 3;
    size_t waiting_of_user = 4096;
    size_t waiting = 20'000;
  };
  SlowWork() : SlowWork(Limits{}) {}
  explicit SlowWork(Limits limits);
  SlowWork(const SlowWork&) = delete;
  SlowWork& operator=(const SlowWork&) = delete;
  ~SlowWork();  // stop()

  // False: too much waits already, or it was stopped. In the order in which it came, for each user.
  [[nodiscard]] bool post(uint32_t uid, std::function<void()> work);

  // Waits for what runs, and drops what waits. Idempotent.
  void stop();

 private:
  struct User {
    size_t running = 0;
    std::deque<std::function<void()>> waiting;
    uint64_t served = 0;  // when the last of it was begun; 0: none of what is here
    uint64_t came = 0;    // when the first of what is here did
  };
  using Users = std::unordered_map<uint32_t, User>;
  void run();
  [[nodiscard]] Users::iterator next();  // whose turn it is; with the mutex

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Users users_;  // these are guarded by mutex_; nobody is here who neither waits nor runs
  size_t waiting_ = 0;
  uint64_t served_ = 0;
  uint64_t came_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;  // begun with the first work
};

}  // namespace sluice::net
