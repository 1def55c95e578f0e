#include "cli/step/job_watch.hpp"
#include "common/protocol/ctld.hpp"

#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::cli {

void JobWatch::handle(OnUpdate on_update, OnEnd on_end) {
  on_update_ = std::move(on_update);
  on_end_ = std::move(on_end);
}

void JobWatch::start(protocol::WatchJobRequest request) {
  // Signals are for the event loop's thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, request] { run(request); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void JobWatch::stop() {
  *alive_ = false;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (reading_ != nullptr) reading_->cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool JobWatch::pause() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(500), [this] { return stopped_; });
  return !stopped_;
}

void JobWatch::read_all(Reader& reader, Error& error) {
  while (true) {
    protocol::JobWatchUpdate update;
    const net::ReadState state = reader.read(update);
    if (state == net::ReadState::kNotYet) continue;
    if (state == net::ReadState::kFailed) error = reader.error();
    if (state != net::ReadState::kChunk) return;
    boost::asio::post(io_, [this, alive = alive_, update = std::move(update)] {
      if (*alive && on_update_) on_update_(update);
    });
  }
}

void JobWatch::run(const protocol::WatchJobRequest& request) {
  Error error;
  while (true) {
    error = {ErrorCode::kOk, {}};
    Result<Reader> reader = client_.open_stream<protocol::JobWatchUpdate>(request);
    if (!reader) {
      error = reader.error();
    } else {
      bool go_on = true;
      {
        const std::lock_guard lock(mutex_);
        go_on = !stopped_;
        reading_ = &*reader;
      }
      if (go_on) read_all(*reader, error);
      const std::lock_guard lock(mutex_);
      reading_ = nullptr;
    }
    if (error.code == ErrorCode::kOk || ends_watch(error.code) || !pause()) break;
  }
  boost::asio::post(io_, [this, alive = alive_, error] {
    if (*alive && on_end_) on_end_(error);
  });
}

}  // namespace sluice::cli
