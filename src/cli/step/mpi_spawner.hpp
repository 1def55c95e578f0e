// MPI_Comm_spawn: what a task asks for is a step of its own in the same job. Another srun starts
// it, which shares our streams; it tells by a pipe when the step's tasks have begun MPI.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/types.h>

#include "cli/step/spawn_command.hpp"
#include "common/protocol/stepd.hpp"

namespace sluice::cli {

class MpiSpawner {
 public:
  struct Handlers {
    // PMI's name of the step; empty: there is none.
    std::function<void(const protocol::MpiMessage& question, const std::string& step)> on_answer;
    std::function<void(int exit_status)> on_end;  // of a step; 0, too, when one did not come about
    std::function<void(std::string_view why)> on_error;
  };
  // The new steps write to `output` and `error`.
  MpiSpawner(boost::asio::io_context& io, SpawnPlace place, int output, int error,
             Handlers handlers);
  MpiSpawner(const MpiSpawner&) = delete;
  MpiSpawner& operator=(const MpiSpawner&) = delete;
  ~MpiSpawner();  // as end()

  void start(const protocol::MpiMessage& question);
  void signal(int number) const;  // to the tasks
  void end() const;               // ends all
  void end_unanswered() const;    // those that nobody waits for any more
  [[nodiscard]] bool all_over() const { return children_.empty(); }
  [[nodiscard]] int exit_status() const { return exit_status_; }  // the highest

 private:
  struct Child {
    explicit Child(boost::asio::io_context& io) : report(io) {}
    protocol::MpiMessage question;
    pid_t pid = -1;
    boost::asio::posix::stream_descriptor report;
    std::array<char, 256> buffer{};
    std::string heard;
    bool answered = false;
    bool abandoned = false;  // the spawner is gone
  };
  [[nodiscard]] Status launch(const protocol::MpiSpawnRequest& request, Child& child) const;
  void listen(const std::shared_ptr<Child>& child);
  void heard(const std::shared_ptr<Child>& child);
  void over(const std::shared_ptr<Child>& child);

  boost::asio::io_context& io_;
  SpawnPlace place_;
  int output_, error_;
  Handlers handlers_;
  std::vector<std::shared_ptr<Child>> children_;
  int exit_status_ = 0;
};

}  // namespace sluice::cli
