// What srun does for the MPI library of its tasks: passes messages between their nodes, ends the
// step when one of them asks for it, and starts those that they spawn.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/options/option_parser.hpp"
#include "cli/step/step_session.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {

using protocol::FrameType;
using protocol::MpiMessage;

void StepSession::make_mpi_hub() {
  mpi_assemblers_.resize(layout_.nodes.size());
  mpi_.emplace(layout_.nodes.size(),
               MpiHub::Handlers{[this](size_t to, const MpiMessage& message) {
                                  send_mpi_parts(message, [&](std::string_view body) {
                                    link_.send_node(to, FrameType::kMpiPassed, body);
                                  });
                                },
                                [this](const MpiMessage& request) { mpi_abort(request); },
                                [this](const MpiMessage& question) { mpi_spawn(question); },
                                [this] { mpi_ready(); }});
  for (size_t i = 0; i < layout_.nodes.size(); ++i) {
    const StepLink::NodeState state = link_.state(i);
    if (state == StepLink::NodeState::kDone || state == StepLink::NodeState::kLost)
      mpi_->node_gone(i);
  }
}

void StepSession::mpi_message(size_t node, const Frame& frame) {
  if (!mpi_) make_mpi_hub();
  auto message = mpi_assemblers_[node].take(frame.body);
  if (!message) {
    print_error(options_.command,
                fmt::format("mpi: node {}: {}", layout_.nodes[node].name, message.error().text));
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

void StepSession::make_spawner() {
  SpawnPlace place{parts_.front().id.job, name_, options_.work_dir, options_.kill_on_bad_exit};
  spawner_ = std::make_unique<MpiSpawner>(
      io_, std::move(place), options_.output, options_.error,
      MpiSpawner::Handlers{
          [this](const MpiMessage& question, const std::string& step) {
            mpi_->spawned(question, step);
          },
          [this](int status) {
            if (status != 0 && options_.kill_on_bad_exit && !exits_.all_exited() && !aborting_) {
              abort(fmt::format("Terminating StepId={}", name_), EndBy::kTerm);
            }
            finish_if_over();
          },
          [this](std::string_view why) {
            print_error(options_.command, fmt::format("mpi: MPI_Comm_spawn: {}", why));
          }});
}

void StepSession::mpi_spawn(const MpiMessage& question) {
  const bool possible = !is_outside_jobs(parts_.front().id.job) && !aborting_ && !said_aborted_;
  if (!possible) return mpi_->spawned(question, {});
  if (!spawner_) make_spawner();
  spawner_->start(question);
}

void StepSession::mpi_ready() {
  if (options_.spawn_report < 0 || std::exchange(spawn_reported_, true)) return;
  const std::string line = name_ + "\n";
  // a few bytes into an empty pipe; who does not read them is gone, and SIGTERM on its way
  static_cast<void>(::write(options_.spawn_report, line.data(), line.size()) != 0);
}

}  // namespace sluice::cli
