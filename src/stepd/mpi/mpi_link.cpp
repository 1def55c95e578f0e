#include "stepd/mpi/mpi_link.hpp"

#include <utility>

#include <fmt/format.h>

namespace sluice::stepd {

using protocol::FrameType;
using protocol::MpiMessage;

Status MpiLink::start(boost::asio::io_context& io, const PlanInput& input, StepPlan& plan) {
  if (input.launch.step == nullptr || input.launch.step->interactive) return {};
  auto server = make_mpi_server(
      input,
      {io, [this](const MpiMessage& message) { share(message); },
       [this](std::string_view text) { tell_user(text); },
       [this](uint32_t task, int32_t status, const std::string& why) { abort(task, status, why); },
       [this](std::string_view line) { handlers_.log(line); }});
  if (!server) return tl::unexpected<Error>(server.error());
  return serve(std::move(*server), plan);
}

Status MpiLink::serve(std::unique_ptr<MpiServer> server, StepPlan& plan) {
  server_ = std::move(server);
  return server_ ? server_->prepare(plan) : Status();
}

void MpiLink::share(const MpiMessage& message) {
  send_mpi_parts(message, [this](std::string_view body) {
    audience_.send_owner(FrameType::kMpi, kNoTask, body);
  });
}

void MpiLink::tell_user(std::string_view text) {
  audience_.send(FrameType::kMessage, kNoTask, fmt::format("slurmstepd: error: {}\n", text));
}

void MpiLink::abort(uint32_t task, int32_t status, const std::string& why) {
  if (handlers_.ending()) return;  // no wonder that a task is lost now
  if (!why.empty()) tell_user(why);
  if (!audience_.has_owner()) return handlers_.end_now();
  MpiMessage message;
  message.kind = protocol::MpiMessageKind::kAbort;
  message.task = task;
  message.status = status;
  share(message);
}

void MpiLink::received(std::string_view body) {
  if (!server_) return;
  const auto message = assembler_.take(body);
  if (!message) return server_->alone();  // whatever follows cannot be trusted
  if (message->has_value()) server_->received(**message);
}

void MpiLink::alone() {
  if (server_) server_->alone();
}

void MpiLink::stop() {
  if (server_) server_->stop();
}

}  // namespace sluice::stepd
