// The step daemon's side of its tasks' MPI library.
#include <fmt/format.h>

#include "common/wire/codec.hpp"
#include "stepd/step_daemon.hpp"

namespace sluice::stepd {

using protocol::FrameType;
using protocol::MpiMessage;
using protocol::MpiMessageKind;

Status StepDaemon::start_mpi(const PlanInput& input, StepPlan& plan) {
  if (is_batch() || launch_.step->interactive) return {};
  auto server = make_mpi_server(
      input, {io_, [this](const MpiMessage& message) { share_mpi(message); },
              [this](std::string_view text) { tell_of_mpi(text); },
              [this](uint32_t task, int32_t status, const std::string& why) {
                mpi_abort(task, status, why);
              },
              [this](std::string_view line) { agent_.send(FrameType::kAgentLog, line); }});
  if (!server) return tl::unexpected<Error>(server.error());
  mpi_ = std::move(*server);
  return mpi_ ? mpi_->prepare(plan) : Status();
}

void StepDaemon::share_mpi(const MpiMessage& message) {
  send_mpi_parts(message,
                 [this](std::string_view body) { listeners_.send_owner(FrameType::kMpi, body); });
}

void StepDaemon::tell_of_mpi(std::string_view text) {
  const std::string line = fmt::format("slurmstepd: error: {}\n", text);
  listeners_.send(FrameType::kMessage, kNoTask, line);
}

// srun sees to it on all nodes, as long as there is one.
void StepDaemon::mpi_abort(uint32_t task, int32_t status, const std::string& why) {
  if (terminating_) return;  // no wonder that a task is lost now
  if (!why.empty()) tell_of_mpi(why);
  if (!listeners_.has_owner()) return terminate(true, {});
  MpiMessage message;
  message.kind = MpiMessageKind::kAbort;
  message.task = task;
  message.status = status;
  share_mpi(message);
}

void StepDaemon::on_mpi_frame(const Frame& frame) {
  if (!mpi_) return;
  const auto message = mpi_assembler_.take(frame.body);
  if (!message) return mpi_->alone();  // whatever follows cannot be trusted
  if (message->has_value()) mpi_->received(**message);
}

}  // namespace sluice::stepd
