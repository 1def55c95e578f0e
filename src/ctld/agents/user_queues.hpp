// Programs of users, at most one at a time for each of them: however long one user's take, others'
// go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace sluice::ctld {

class UserQueues {
 public:
  static constexpr size_t kMostWaiting = 100;  // of one user
  using Work = std::function<void()>;

  explicit UserQueues(size_t threads) : threads_(threads) {}
  UserQueues(const UserQueues&) = delete;
  UserQueues& operator=(const UserQueues&) = delete;
  ~UserQueues() { join(); }

  // False: it is not taken, too many of this user wait already.
  [[nodiscard]] bool add(uint32_t uid, Work work) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_free] = waiting_.try_emplace(uid);
    if (is_free) start(uid, std::move(work));
    else if (at->second.size() >= kMostWaiting) return false;
    else at->second.push_back(std::move(work));
    return true;
  }
  // Returns when all that was added is done.
  void join() { threads_.join(); }

 private:
  void start(uint32_t uid, Work work) {
    boost::asio::post(threads_, [this, uid, work = std::move(work)] {
      work();
      go_on(uid);
    });
  }
  void go_on(uint32_t uid) {
    const std::lock_guard lock(mutex_);
    const auto at = waiting_.find(uid);
    if (at->second.empty()) {
      waiting_.erase(at);
      return;
    }
    start(uid, std::move(at->second.front()));  // behind what other users have
    at->second.pop_front();
  }

  std::mutex mutex_;
  // guarded by mutex_; of each user of whom one runs, or is about to
  std::map<uint32_t, std::deque<Work>> waiting_;
  boost::asio::thread_pool threads_;
};

}  // namespace sluice::ctld
