#include "common/rpc/slow_work.hpp"

#include <utility>

namespace sluice::net {

SlowWork::SlowWork(Limits limits) : limits_(limits) {}

SlowWork::~SlowWork() { stop(); }

bool SlowWork::post(uint32_t uid, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || waiting_.size() >= limits_.waiting) return false;
  User& user = users_[uid];
  if (user.waiting >= limits_.waiting_of_user) return false;
  ++user.waiting;
  waiting_.push_back({uid, std::move(work)});
  while (threads_.size() < limits_.threads) threads_.emplace_back([this] { run(); });
  changed_.notify_one();
  return true;
}

std::deque<SlowWork::Item>::iterator SlowWork::next() {
  auto best = waiting_.end();
  std::pair least{limits_.running_of_user, uint64_t{0}};
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const User& user = users_[at->uid];
    const std::pair rank{user.running, user.served};
    if (rank < least) best = at, least = rank;
  }
  return best;
}

void SlowWork::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto at = waiting_.end();
    changed_.wait(lock, [&] { return stopped_ || (at = next()) != waiting_.end(); });
    if (stopped_) return;
    Item item = std::move(*at);
    waiting_.erase(at);
    User& user = users_[item.uid];
    --user.waiting;
    ++user.running;
    user.served = ++served_;
    lock.unlock();
    item.work();
    item.work = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
    User& after = users_[item.uid];
    if (--after.running == 0 && after.waiting == 0) users_.erase(item.uid);
    changed_.notify_one();  // another one of this user may run now
  }
}

void SlowWork::stop() {
  std::deque<Item> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sluice::net
