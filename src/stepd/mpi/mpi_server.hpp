// What a step daemon does for the MPI library of its tasks, by --mpi. Between nodes it speaks
// through srun, with protocol::MpiMessage.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/base/result.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {

// The step daemon, as an MPI server sees it.
struct MpiHost {
  boost::asio::io_context& io;
  std::function<void(const protocol::MpiMessage&)> share;  // to srun
  std::function<void(std::string_view)> tell_user;         // on the step's standard error
  // A task ends the step: srun's exit status (0: that of the tasks) and words for the user, if any.
  std::function<void(uint32_t task, int32_t status, const std::string& why)> abort;
  std::function<void(std::string_view)> log;  // a line in the agent's log
};

class MpiServer {
 public:
  virtual ~MpiServer() = default;
  // Gives each task what it needs, environment and descriptors, before they are forked. Ends of
  // descriptors that only the tasks need go to plan.child_ends.
  [[nodiscard]] virtual Status prepare(StepPlan& plan) = 0;
  virtual void received(const protocol::MpiMessage& message) = 0;
  // srun is gone: nothing more comes from other nodes.
  virtual void alone() = 0;
  // After all tasks.
  virtual void stop() = 0;
};

// The server of `input.launch.step->mpi`; null when tasks need none. The input outlives it. The
// error's text is for the user.
[[nodiscard]] Result<std::unique_ptr<MpiServer>> make_mpi_server(const PlanInput& input,
                                                                 MpiHost host);

}  // namespace sluice::stepd
