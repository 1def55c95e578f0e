// Drives a step daemon as its agent and as srun do, with blocking sockets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/protocol/stepd_start.hpp"
#include "common/step/frame.hpp"

namespace sluice::testing {

// A blocking socket of frames.
class FramePeer {
 public:
  explicit FramePeer(int fd = -1) : fd_(fd) {}
  FramePeer(FramePeer&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), reader_(other.reader_) {}
  FramePeer& operator=(FramePeer&& other) noexcept;
  ~FramePeer() { close(); }
  void send(protocol::FrameType type, std::string_view body, uint32_t task = kNoTask);
  // The next frame; nothing at the end or after 20 s.
  std::optional<Frame> next();
  // The first frame of that type; others are dropped.
  std::optional<Frame> wait_for(protocol::FrameType type);
  void close();
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  FrameReader reader_;
};

// A folder of its own with a spool, and steps of this user on node n1.
class StepdDriver {
 public:
  StepdDriver();
  ~StepdDriver();
  StepdDriver(const StepdDriver&) = delete;

  protocol::StepdStart start;  // change before run()
  protocol::StepLaunch launch;
  JobSpec job;
  StepSpec step;
  bool is_batch = true;
  std::string folder;  // also the work folder

  // A step of `tasks` tasks on this one node, running `arguments`, watched over a port of ours.
  void make_step(uint32_t tasks, const std::vector<std::string>& arguments);
  // Starts the daemon; the agent's end of its connection.
  FramePeer& run();
  // Starts it when its agent has sent the orders and is gone.
  void run_orphaned();
  // The daemon's connection to our port, its hello answered.
  FramePeer& srun();
  // Waits for the report, then for the daemon's end.
  protocol::StepEnded ended();
  int wait_exit();
  // Reads srun's frames to kNodeDone: what each stream said.
  struct Output {
    std::map<uint32_t, std::string> out;
    std::map<uint32_t, std::string> err;
    std::map<uint32_t, int> exits;
    std::string messages;
    std::string launch_failure;
  };
  Output collect();
  [[nodiscard]] std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& text, int mode = 0644) const;

 private:
  int connect_agent();  // the daemon's end
  void start_daemon(int end);
  pid_t pid_ = -1;
  int listening_ = -1;
  FramePeer agent_;
  FramePeer srun_;
};

}  // namespace sluice::testing
