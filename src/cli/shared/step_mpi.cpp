// What srun does for the MPI library of its tasks: passes messages between their nodes, and ends the
// step when one of them asks for it.
#include <fmt/format.h>

#include "cli/shared/option_parser.hpp"
#include "cli/shared/step_session.hpp"
#include "common/tables/errors.hpp"

namespace sluice::cli {

using protocol::FrameType;
using protocol::MpiMessage;

void StepSession::mpi_message(size_t node, const Frame& frame) {
  if (!mpi_) {
    mpi_assemblers_.resize(layout_.nodes.size());
    mpi_.emplace(layout_.nodes.size(),
                 MpiHub::Handlers{[this](size_t to, const MpiMessage& message) {
                                    send_mpi_parts(message, [&](std::string_view body) {
                                      link_.send_node(to, FrameType::kMpiPassed, body);
                                    });
                                  },
                                  [this](const MpiMessage& request) { mpi_abort(request); }});
    for (size_t i = 0; i < layout_.nodes.size(); ++i) {
      const StepLink::NodeState state = link_.state(i);
      if (state == StepLink::NodeState::kDone || state == StepLink::NodeState::kLost) mpi_->node_gone(i);
    }
  }
  auto message = mpi_assemblers_[node].take(frame.body);
  if (!message) {
    print_error(options_.command, fmt::format("mpi: node {}: {}", layout_.nodes[node].name, message.error().text));
    failure_ = error_exit();
    return abort({});
  }
  if (message->has_value()) mpi_->received(node, std::move(**message));
}

void StepSession::mpi_abort(const MpiMessage& request) {
  if (exits_.all_exited() || aborting_) return;
  if (request.status != 0) mpi_status_ = request.status & 0xff;
  abort({});
}

}  // namespace sluice::cli
