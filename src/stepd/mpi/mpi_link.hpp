// The step daemon's side of its tasks' MPI library: the server, if they need one, and srun, by
// which it speaks with those of other nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/step/mpi_parts.hpp"
#include "stepd/io/audience.hpp"
#include "stepd/mpi/mpi_server.hpp"
#include "stepd/step_plan.hpp"

namespace sluice::stepd {

class MpiLink {
 public:
  struct Handlers {
    std::function<bool()> ending;   // the step has been told to end
    std::function<void()> end_now;  // there is no srun to see to it
    std::function<void(std::string_view)> log;
  };
  MpiLink(Audience& audience, Handlers handlers)
      : audience_(audience), handlers_(std::move(handlers)) {}
  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;

  // Before the tasks are forked. The input outlives this. The error's text is for the user.
  [[nodiscard]] Status start(boost::asio::io_context& io, const PlanInput& input, StepPlan& plan);
  // What start() does, with a server that is there.
  [[nodiscard]] Status serve(std::unique_ptr<MpiServer> server, StepPlan& plan);
  // Body of a kMpiPassed.
  void received(std::string_view body);
  // srun is gone.
  void alone();
  // After all tasks.
  void stop();
  // A task ends the step: srun sees to it on all nodes, as long as there is one.
  void abort(uint32_t task, int32_t status, const std::string& why);

 private:
  void share(const protocol::MpiMessage& message);
  void tell_user(std::string_view text);

  Audience& audience_;
  Handlers handlers_;
  std::unique_ptr<MpiServer> server_;  // null: the tasks need none
  MpiAssembler assembler_;
};

}  // namespace sluice::stepd
