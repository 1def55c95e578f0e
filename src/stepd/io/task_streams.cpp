#include "stepd/io/task_streams.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>

namespace sluice::stepd {
namespace {

constexpr size_t kMostInputBytes = 8U << 20;  // that wait for a step's tasks on this node

}  // namespace

using protocol::FrameType;

TaskStreams::TaskStreams(boost::asio::io_context& io, const StepFacts& facts, Audience& audience,
                         Handlers handlers)
    : io_(io),
      facts_(facts),
      audience_(audience),
      handlers_(std::move(handlers)),
      sinks_(io, {[this] {
                    if (flows_) let_flow();
                  },
                  [this](int error) { handlers_.on_lost(error); }}) {}

void TaskStreams::adopt(const TaskPlan& plan, bool whole_lines) {
  Streams& task = streams_.emplace_back();
  task.rank = plan.rank;
  task.pty = plan.pty;
  task.out_file = plan.out_file;
  task.err_file = plan.err_file;
  for (const int file : {task.out_file, task.err_file}) {
    if (file >= 0) sinks_.add(file);
  }
  const bool lines = whole_lines && !plan.pty;
  if (plan.read_out >= 0)
    task.out = make_stream(plan.rank, plan.read_out, plan.out_file, lines, FrameType::kStdout);
  if (plan.read_err >= 0)
    task.err = make_stream(plan.rank, plan.read_err, plan.err_file, lines, FrameType::kStderr);
  const int input = plan.pty ? ::fcntl(plan.read_out, F_DUPFD_CLOEXEC, 3) : plan.write_in;
  if (input < 0) return;
  task.in = std::make_shared<InputStream>(io_, input, [this] { resume_input(); });
  if (facts_.launch.step->io.port == 0 && !plan.pty) task.in->finish(false);
}

std::shared_ptr<OutputStream> TaskStreams::make_stream(uint32_t rank, int fd, int file, bool lines,
                                                       FrameType type) {
  return std::make_shared<OutputStream>(
      io_, fd, lines,
      OutputStream::Handlers{
          [this, rank, file, type](std::string_view bytes) { on_output(rank, file, type, bytes); },
          [this, rank, file, type] {
            // a listener learns that this stream is over
            if (file < 0) audience_.send(type, rank, {});
            handlers_.on_end();
          }});
}

void TaskStreams::let_flow() {
  flows_ = true;
  if (audience_.congested()) return;
  for (Streams& task : streams_) {
    if (task.out && !sinks_.congested(task.out_file)) task.out->resume();
    if (task.err && !sinks_.congested(task.err_file)) task.err->resume();
  }
}

void TaskStreams::on_output(uint32_t rank, int file, FrameType type, std::string_view bytes) {
  if (file >= 0) {
    sinks_.write(file, labelled(bytes, rank, facts_.num_tasks()));
    if (sinks_.congested(file)) pause_output_to(file);
    return;
  }
  audience_.send(type, rank, bytes);
  if (audience_.congested()) pause_all();
}

void TaskStreams::pause_all() {
  for (Streams& task : streams_) {
    if (task.out) task.out->pause();
    if (task.err) task.err->pause();
  }
}

void TaskStreams::pause_output_to(int file) {
  for (Streams& task : streams_) {
    if (task.out && task.out_file == file) task.out->pause();
    if (task.err && task.err_file == file) task.err->pause();
  }
}

void TaskStreams::give_input(const Frame& frame) {
  const auto reads = [&frame](const Streams& task) {
    return task.in && task.in->takes_more() && (frame.task == kNoTask || frame.task == task.rank);
  };
  const auto readers = static_cast<size_t>(std::ranges::count_if(streams_, reads));
  if (readers == 0) return;
  const InputBlock block = input_.keep(frame.body, readers);
  for (Streams& task : streams_) {
    if (!reads(task)) continue;
    if (block->empty()) {
      task.in->finish(task.pty);
    } else {
      task.in->write(block);
    }
  }
  if (input_.held_bytes() > kMostInputBytes) audience_.pause_input();
}

// One task that does not read has all of them wait.
void TaskStreams::resume_input() {
  if (input_.held_bytes() <= kMostInputBytes) audience_.resume_input();
}

void TaskStreams::close_input(uint32_t rank) {
  const auto task = std::ranges::find(streams_, rank, &Streams::rank);
  if (task == streams_.end() || !task->in) return;
  task->in->close();
  resume_input();  // it may have been what had no room
}

void TaskStreams::close_all_input() {
  for (Streams& task : streams_) {
    if (task.in) task.in->close();
  }
}

void TaskStreams::resize(const protocol::WindowSize& size) {
  winsize window{};
  window.ws_row = static_cast<unsigned short>(size.rows);
  window.ws_col = static_cast<unsigned short>(size.columns);
  for (Streams& task : streams_) {
    if (!task.pty || !task.out || task.out->ended()) continue;
    ::ioctl(task.out->descriptor().native_handle(), TIOCSWINSZ, &window);
  }
}

bool TaskStreams::busy() const {
  return sinks_.waiting() || std::ranges::any_of(streams_, [](const Streams& task) {
           return (task.out && !task.out->ended()) || (task.err && !task.err->ended());
         });
}

bool TaskStreams::waits_for_readers() const { return audience_.congested() || sinks_.waiting(); }

void TaskStreams::stop() {
  for (Streams& task : streams_) {
    if (task.out) task.out->stop();
    if (task.err) task.err->stop();
  }
}

}  // namespace sluice::stepd
