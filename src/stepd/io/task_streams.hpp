// Input and output of a node's tasks: between their pipes and terminals, and those who listen or
// the files that the daemon itself writes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/protocol/stepd.hpp"
#include "common/step/frame.hpp"
#include "stepd/io/audience.hpp"
#include "stepd/io/input_stream.hpp"
#include "stepd/io/output_sinks.hpp"
#include "stepd/io/output_stream.hpp"
#include "stepd/step_facts.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {

class TaskStreams {
 public:
  struct Handlers {
    std::function<void()> on_end;      // an output of a task is over
    std::function<void(int)> on_lost;  // as of OutputSinks
  };
  TaskStreams(boost::asio::io_context& io, const StepFacts& facts, Audience& audience,
              Handlers handlers);
  TaskStreams(const TaskStreams&) = delete;
  TaskStreams& operator=(const TaskStreams&) = delete;

  // Those of a task, with the daemon's ends of the plan, which become this object's. `whole_lines`:
  // output is passed on line by line, unless it is a terminal's.
  void adopt(const TaskPlan& plan, bool whole_lines);
  // Output is read from now on. Without room for it, once there is some and this is called again.
  void let_flow();
  [[nodiscard]] bool flows() const { return flows_; }

  // A kStdin, for one task or all.
  void give_input(const Frame& frame);
  // That task reads no more: it has ended.
  void close_input(uint32_t rank);
  // There is nobody who gives any.
  void close_all_input();
  void resize(const protocol::WindowSize& size);

  // Some output is not over, or not taken yet.
  [[nodiscard]] bool busy() const;
  // Some waits for who listens, or for a file that its reader empties.
  [[nodiscard]] bool waits_for_readers() const;
  // Gives up reading.
  void stop();
  // What waits for the readers of files is lost.
  void drop() { sinks_.drop(); }
  [[nodiscard]] OutputSinks& sinks() { return sinks_; }

 private:
  struct Streams {
    uint32_t rank = 0;
    bool pty = false;
    int out_file = -1;
    int err_file = -1;
    std::shared_ptr<OutputStream> out;
    std::shared_ptr<OutputStream> err;
    std::shared_ptr<InputStream> in;
  };
  [[nodiscard]] std::shared_ptr<OutputStream> make_stream(uint32_t rank, int fd, int file,
                                                          bool lines, protocol::FrameType type);
  void on_output(uint32_t rank, int file, protocol::FrameType type, std::string_view bytes);
  void resume_input();
  void pause_all();
  void pause_output_to(int file);

  boost::asio::io_context& io_;
  const StepFacts& facts_;
  Audience& audience_;
  Handlers handlers_;
  OutputSinks sinks_;  // for labelled output
  InputStore input_;
  std::vector<Streams> streams_;
  bool flows_ = false;
};

}  // namespace sluice::stepd
