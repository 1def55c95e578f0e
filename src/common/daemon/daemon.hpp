// What every daemon does with its process: background, PID file, signals, release of the terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::daemon {

// Leaves the terminal: the caller's process ends with 0 when the daemon calls ready() on the
// result, or with 1 when it ends before (its last words went to the standard error meanwhile). To
// be called before any thread starts.
class Background {
 public:
  // In front (-D): nothing is forked, ready() does nothing.
  [[nodiscard]] static Background stay();
  // Forks twice and returns in the daemon.
  [[nodiscard]] static Background enter();
  Background(Background&& other) noexcept;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  Background& operator=(Background&&) = delete;
  ~Background();
  // Releases standard input, output and error, and lets the starting process end with success; in
  // front a service manager is told.
  void ready();

 private:
  explicit Background(int pipe) : pipe_(pipe) {}
  int pipe_;  // to the waiting parent; -1: none
};

// What sd_notify(3) does, for units with Type=notify: "READY=1\n". No-op where nobody asked for it
// (NOTIFY_SOCKET).
void tell_service_manager(std::string_view state);

// Started by root, a daemon of another user becomes that user, with its groups. `files`, which it
// opens after that, are made where they are not there, and become the user's before.
[[nodiscard]] Status become_user(uint32_t uid, const std::vector<std::string>& files);

// A PID file that exists as long as this object. A daemon that was told to end, or killed, may take
// a moment to be gone: its successor waits for it up to `wait`. Errors: kDuplicateName when a live
// process holds it after that, kPathMissing when it cannot be written.
class PidFile {
 public:
  [[nodiscard]] static Result<PidFile> create(
      const std::string& path, std::chrono::milliseconds wait = std::chrono::seconds(5));
  PidFile(PidFile&& other) noexcept;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  PidFile& operator=(PidFile&&) = delete;
  ~PidFile();
  void remove();  // before the process ends without this object's end

 private:
  PidFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;  // keeps the lock
};

// Takes the signals that daemons handle. Construct before other threads start (they inherit the
// blocked mask); run() then serves them on the calling thread.
class Signals {
 public:
  Signals();
  // Calls `handle` for HUP, USR1, USR2, INT, TERM and QUIT, until it returns false.
  void run(const std::function<bool(int)>& handle);
  // Makes run() return from another thread, as if SIGTERM had come.
  static void stop();
  // For children: the mask that was in force before.
  static void restore_in_child();
};

// While it lives INT, TERM and QUIT end the process at once, with 0, after `last`: for a daemon
// that waits, before it serves, for what may not come. After Signals; `last` runs on a thread of
// its own.
class EndWhileStarting {
 public:
  explicit EndWhileStarting(std::function<void(int)> last);
  EndWhileStarting(const EndWhileStarting&) = delete;
  EndWhileStarting& operator=(const EndWhileStarting&) = delete;
  ~EndWhileStarting();

 private:
  std::atomic<bool> started_ = false;
  std::thread thread_;
};

}  // namespace sluice::daemon
