#include "common/rpc/tickless_engine.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "common/base/check.hpp"
#include "common/base/time.hpp"
#include "common/os/clock.hpp"

namespace sluice::net {
namespace {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using Work = absl::AnyInvocable<void()>;

// What waits, in the order of its time; of one time, in the order in which it came.
class Agenda {
 public:
  uint64_t add(SteadyTime when, Work work) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    const uint64_t number = ++last_;
    const auto at = waiting_.emplace(Key{when, number}, std::move(work)).first;
    if (at == waiting_.begin()) changed_.notify_one();
    return number;
  }
  // False: it runs or has run.
  bool remove(SteadyTime when, uint64_t number) {
    Work dropped;  // outside the mutex: it may hold anything
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find({when, number});
    if (found == waiting_.end()) return false;
    dropped = std::move(found->second);
    waiting_.erase(found);
    return true;
  }
  [[nodiscard]] bool is_own_thread() {
    const std::lock_guard lock(mutex_);
    return thread_.get_id() == std::this_thread::get_id();
  }

 private:
  using Key = std::pair<SteadyTime, uint64_t>;

  [[noreturn]] void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else if (const SteadyTime when = waiting_.begin()->first.first; when > steady_now()) {
        changed_.wait_until(lock, when);
      } else {
        Work work = std::move(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
        lock.unlock();
        work();
        work = nullptr;
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Work> waiting_;
  uint64_t last_ = 0;
  std::thread thread_;
};

// One for the process and never freed: gRPC makes engines and drops them, on whatever thread.
Agenda& agenda() {
  static auto* const one = new Agenda;
  return *one;
}

class TicklessEngine final : public EventEngine {
 public:
  void Run(Closure* closure) override {
    agenda().add(SteadyTime{}, [closure] { closure->Run(); });
  }
  void Run(Work work) override { agenda().add(SteadyTime{}, std::move(work)); }
  TaskHandle RunAfter(Duration pause, Closure* closure) override {
    return RunAfter(pause, [closure] { closure->Run(); });
  }
  TaskHandle RunAfter(Duration pause, Work work) override {
    const SteadyTime when = steady_now() + std::chrono::ceil<sluice::Duration>(pause);
    const uint64_t number = agenda().add(when, std::move(work));
    return {
        {static_cast<intptr_t>(when.time_since_epoch().count()), static_cast<intptr_t>(number)}};
  }
  bool Cancel(TaskHandle handle) override {
    return agenda().remove(SteadyTime(sluice::Duration(handle.keys[0])),
                           static_cast<uint64_t>(handle.keys[1]));
  }
  bool IsWorkerThread() override { return agenda().is_own_thread(); }

  // What gRPC 1.51 does by other means.
  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback /*on_accept*/,
      absl::AnyInvocable<void(absl::Status)> /*on_shutdown*/, const EndpointConfig& /*config*/,
      std::unique_ptr<MemoryAllocatorFactory> /*memory*/) override {
    return absl::UnimplementedError("no listeners");
  }
  ConnectionHandle Connect(OnConnectCallback /*on_connect*/, const ResolvedAddress& /*address*/,
                           const EndpointConfig& /*config*/, MemoryAllocator /*memory*/,
                           Duration /*timeout*/) override {
    SLUICE_CHECK(!"the event engine makes no connections");
    return {};
  }
  bool CancelConnect(ConnectionHandle /*handle*/) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(
      const DNSResolver::ResolverOptions& /*options*/) override {
    SLUICE_CHECK(!"the event engine looks up no names");
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<EventEngine> make_tickless_engine() { return std::make_unique<TicklessEngine>(); }

void use_tickless_engine() {
  grpc_event_engine::experimental::SetEventEngineFactory([] { return make_tickless_engine(); });
}

}  // namespace sluice::net
