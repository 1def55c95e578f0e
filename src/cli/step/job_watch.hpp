// Follows one job from srun or salloc: a thread reads the controller's updates and hands them to
// the event loop. A controller that goes away is asked again until it is back.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "cli/shared/client.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {

// Whether asking again what became of a job would be answered alike.
[[nodiscard]] constexpr bool ends_watch(ErrorCode code) {
  return code == ErrorCode::kInvalidJobId || code == ErrorCode::kAccessDenied;
}

class JobWatch {
 public:
  using OnUpdate = std::function<void(const protocol::JobWatchUpdate&)>;
  using OnEnd = std::function<void(const Error&)>;  // the job is over or unknown (kInvalidJobId)

  JobWatch(Client& client, boost::asio::io_context& io) : client_(client), io_(io) {}
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;
  ~JobWatch() { stop(); }

  // Handlers run on the event loop; they may be exchanged there at any time.
  void handle(OnUpdate on_update, OnEnd on_end);
  void start(protocol::WatchJobRequest request);
  // No handler runs afterwards. No-op when it was not started.
  void stop();

 private:
  using Reader = net::StreamReader<protocol::JobWatchUpdate>;
  void run(const protocol::WatchJobRequest& request);
  void read_all(Reader& reader, Error& error);
  // Waits before the next try; false when stopped.
  bool pause();

  Client& client_;
  boost::asio::io_context& io_;
  OnUpdate on_update_;
  OnEnd on_end_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // loop's thread only
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Reader* reading_ = nullptr;
  bool stopped_ = false;
};

}  // namespace sluice::cli
