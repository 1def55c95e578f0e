#include "ctld/engine/new_work.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace sluice::engine {
namespace {

template <class... Commands>
struct List {
  template <class Command>
  static constexpr bool kHas = (std::is_same_v<Command, Commands> || ...);
};

using Refused =
    List<state::SubmitJob, state::UpdateJob, state::ChangeJob, state::TopJob, state::NotifyJob,
         state::CreateStep, state::CreateHetStep, state::UpdateNode, state::UpdatePartition,
         state::CreateNodes, state::DeleteNodes, state::RebootNodes, state::UpdateStep,
         state::SetTrigger, state::ClearTriggers, state::ReplaceCrontab, state::ChangeReservation,
         state::ResetUsage, state::StartJobs>;

// Cancelling frees what a full disk holds up, and a controller must be able to start.
using Taken =
    List<state::SignalJob, state::CancelJobs, state::SignalJobs, state::EndAllocation,
         state::ClientGone, state::EndSteps, state::JobsCleaned, state::PrologDone,
         state::PrologsDone, state::RegisterNode, state::StartEpoch, state::NodesTimedOut,
         state::NodesNotResponding, state::NodesResponding, state::LaunchFailed, state::UsersGroups,
         state::FollowAccounting, state::AccountingNoticed, state::Tick>;

template <class Command>
bool begins(const Command&) {
  static_assert(Refused::kHas<Command> != Taken::kHas<Command>, "a command is in one of the lists");
  return Refused::kHas<Command>;
}

// What starts with the controller is taken, as it cannot start without.
bool begins(const state::ReplaceConfig& command) { return command.ordered; }

}  // namespace

bool is_new_work(const state::Command& command) {
  return std::visit([](const auto& any) { return begins(any); }, command);
}

bool gives_job_ids(const state::Events& events) {
  return std::ranges::any_of(events, [](const state::Event& event) {
    if (const auto* started = std::get_if<state::JobStarted>(&event)) {
      return std::ranges::any_of(started->starts,
                                 [&](const auto& start) { return start.job != started->record; });
    }
    return std::holds_alternative<state::JobSubmitted>(event) ||
           std::holds_alternative<state::ArrayTasksSplit>(event);
  });
}

}  // namespace sluice::engine
