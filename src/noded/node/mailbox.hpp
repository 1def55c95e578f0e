// The way of other threads to the agent's thread. It may outlive the agent: then nothing happens.
#pragma once

#include <mutex>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace sluice::noded {

class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context& io) : io_(&io) {}
  // `work` runs on the agent's thread, or is dropped once close() was called. Any thread.
  template <class Work>
  void post(Work&& work) {
    const std::lock_guard lock(mutex_);
    if (io_ != nullptr) boost::asio::post(*io_, std::forward<Work>(work));
  }
  void close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;  // guarded by mutex_; null: closed
};

}  // namespace sluice::noded
