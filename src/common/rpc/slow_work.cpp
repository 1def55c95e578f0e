#include "common/rpc/slow_work.hpp"

#include <tuple>
#include <utility>

namespace sluice::net {

SlowWork::SlowWork(Limits limits) : limits_(limits) {}

SlowWork::~SlowWork() { stop(); }

bool SlowWork::post(uint32_t uid, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || waiting_ >= limits_.waiting) return false;
    const auto [at, fresh] = users_.try_emplace(uid);
    User& user = at->second;
    if (user.waiting.size() >= limits_.waiting_of_user) return false;
    if (fresh) user.came = ++came_;
    user.waiting.push_back(std::move(work));
    ++waiting_;
    while (threads_.size() < limits_.threads) threads_.emplace_back([this] { run(); });
  }
  changed_.notify_one();
  return true;
}

SlowWork::Users::iterator SlowWork::next() {
  auto best = users_.end();
  std::tuple least{limits_.running_of_user, uint64_t{0}, uint64_t{0}};
  for (auto at = users_.begin(); at != users_.end(); ++at) {
    const User& user = at->second;
    const std::tuple rank{user.running, user.served, user.came};
    if (!user.waiting.empty() && rank < least) best = at, least = rank;
  }
  return best;
}

void SlowWork::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto at = users_.end();
    changed_.wait(lock, [&] { return stopped_ || (at = next()) != users_.end(); });
    if (stopped_) return;
    const uint32_t uid = at->first;
    User& user = at->second;
    std::function<void()> work = std::move(user.waiting.front());
    user.waiting.pop_front();
    --waiting_;
    ++user.running;
    user.served = ++served_;
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
    const auto after = users_.find(uid);
    if (--after->second.running == 0 && after->second.waiting.empty()) users_.erase(after);
    if (waiting_ > 0) changed_.notify_one();  // another one of this user may run now
  }
}

void SlowWork::stop() {
  std::vector<std::deque<std::function<void()>>> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (auto& [uid, user] : users_) dropped.push_back(std::exchange(user.waiting, {}));
    waiting_ = 0;
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sluice::net
