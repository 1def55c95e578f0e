// Frames, durability, crash and replay.
#include "fake_controller.hpp"

#include "common/wire/codec.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/core/invariants.hpp"

namespace sluice::sim {

using namespace sluice::state;

void FakeController::note(const std::string& where, const std::vector<std::string>& found) {
  for (const std::string& problem : found) {
    if (problems.size() < 20) problems.push_back(where + ": " + problem);
  }
}

void FakeController::append(const Events& decided, Effects effects, Pending pending) {
  std::string bytes = wire::encode(EventFrame{decided});
  for (const Event& event : decided) {
    note("event " + std::to_string(events), check_transition(state_, event));
    sluice::state::apply(state_, event);
    ++events;
    ++event_counts[name_of(event)];
    if (const auto* purge = std::get_if<JobsPurged>(&event)) {
      pending.purged.insert(pending.purged.end(), purge->jobs.begin(), purge->jobs.end());
    }
  }
  pending.effects = std::move(effects);
  for (const Event& event : decided) {  // a frame is atomic: between its events not all has to hold
    note("event " + std::to_string(events), check_after(state_, event));
    if (on_event) on_event(state_, event);
  }
  for (Effect& effect : react(state_, decided)) pending.effects.push_back(std::move(effect));
  undurable_.push_back(std::move(bytes));
  pending_.push_back(std::move(pending));
}

bool FakeController::handle(const Command& command, Time now, const OnReply& on_reply) {
  if (!up_) return false;
  Result<Decision> decision = decide(state_, command, now);
  if (!decision) {
    if (on_reply) on_reply(tl::unexpected(decision.error()));
    return true;
  }
  Pending pending;
  pending.reply = std::move(decision->reply);
  pending.on_reply = on_reply;
  append(decision->events, std::move(decision->effects), std::move(pending));
  return true;
}

void FakeController::flush() {
  for (std::string& frame : undurable_) durable_.push_back(std::move(frame));
  undurable_.clear();
  std::vector<Pending> released = std::move(pending_);
  pending_.clear();
  for (Pending& one : released) {
    for (const JobId id : one.purged) acknowledged.erase(id);
    if (const auto* reply = std::get_if<JobSubmittedReply>(&one.reply)) {
      acknowledged.insert(reply->job);
    }
    for (const Effect& effect : one.effects) on_effect_(effect);
    if (one.on_reply) one.on_reply(one.reply);
  }
}

void FakeController::crash() {
  up_ = false;
  undurable_.clear();
  pending_.clear();
}

ClusterState FakeController::replayed() const {
  ClusterState state;
  if (!checkpoint_.empty()) state = from_image(*wire::decode<StateImage>(checkpoint_));
  for (const std::string& bytes : durable_) {
    const auto frame = wire::decode<EventFrame>(bytes);
    for (const Event& event : frame->events) sluice::state::apply(state, event);
  }
  return state;
}

void FakeController::restart(Time now, std::shared_ptr<const ClusterConfig> config,
                             bool keep_partitions) {
  up_ = true;
  state_ = replayed();
  note("after a crash", check_state(state_));
  for (const JobId id : acknowledged) {
    if (!find_job(state_, id)) {
      note("after a crash", {"acknowledged job " + std::to_string(id) + " is lost"});
    }
  }
  handle(StartEpoch{"sim", ++epoch_}, now);
  handle(ReplaceConfig{std::move(config), keep_partitions}, now);
  flush();
  for (const Effect& effect : resume(state_)) on_effect_(effect);
}

void FakeController::verify_and_checkpoint() {
  flush();
  note("state", check_state(state_));
  note("replay", differences(state_, replayed()));
  checkpoint_ = wire::encode(make_image(state_));
  durable_.clear();
  note("checkpoint", differences(state_, replayed()));
}

}  // namespace sluice::sim
