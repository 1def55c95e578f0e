#include "common/config_files/name_lookups.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <netdb.h>

namespace sluice {
namespace {

constexpr size_t kMostThreads = 32;

bool is_known(const std::string& address) {
  addrinfo* found = nullptr;
  const bool known = ::getaddrinfo(address.c_str(), nullptr, nullptr, &found) == 0;
  if (found != nullptr) ::freeaddrinfo(found);
  return known;
}

}  // namespace

struct NameLookups::Shared {
  std::mutex mutex;
  std::condition_variable answered;
  // these are guarded by mutex
  std::map<std::string, Answer> answers;
  std::vector<std::string> asked;
  size_t next = 0, open = 0;
  bool over = false;

  void look_up() {
    std::unique_lock lock(mutex);
    while (!over && next < asked.size()) {
      const std::string address = asked[next++];
      lock.unlock();
      const bool known = is_known(address);
      lock.lock();
      answers[address] = known ? Answer::kKnown : Answer::kUnknown;
      if (--open == 0) answered.notify_all();
    }
  }
};

NameLookups::NameLookups() : shared_(std::make_shared<Shared>()) {}
NameLookups::~NameLookups() = default;

void NameLookups::add(const std::string& address) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->answers.try_emplace(address, Answer::kNone).second)
    shared_->asked.push_back(address);
}

void NameLookups::run(std::chrono::seconds most) {
  std::unique_lock lock(shared_->mutex);
  shared_->open = shared_->asked.size();
  const size_t threads = std::min(kMostThreads, shared_->open);
  for (size_t i = 0; i < threads; ++i)
    std::thread([shared = shared_] { shared->look_up(); }).detach();
  shared_->answered.wait_for(lock, most, [this] { return shared_->open == 0; });
  shared_->over = true;
}

NameLookups::Answer NameLookups::answer(const std::string& address) const {
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->answers.find(address);
  return found == shared_->answers.end() ? Answer::kNone : found->second;
}

}  // namespace sluice
