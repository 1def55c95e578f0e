// Reservations in tests of the core: made, changed and taken away by a short call.
#pragma once

#include <string>

#include "ctld/state/rules/reservations.hpp"

#include "support/core_fixture.hpp"

namespace sluice::state {

class ReservationTest : public CoreTest {
 protected:
  // Ann's, for an hour from now.
  protocol::ReservationValues values(const std::string& nodes, ReservationFlags flags = 0) {
    protocol::ReservationValues out;
    out.start = now_;
    out.duration = std::chrono::hours(1);
    out.users = protocol::NameList{"ann"};
    out.nodes = nodes;
    out.add_flags = flags;
    return out;
  }
  Result<Reply> change(protocol::ReservationAction action, const std::string& name,
                       const protocol::ReservationValues& of, Identity who = kRoot) {
    return run(ChangeReservation{
        who,
        {action, name, of},
        {{"ann", {kAnn.uid}}, {"bob", {kBob.uid}}, {"both", {kAnn.uid, kBob.uid}}}});
  }
  ErrorCode make(const std::string& name, const protocol::ReservationValues& of) {
    const auto reply = change(protocol::ReservationAction::kCreate, name, of);
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  ErrorCode update(const std::string& name, const protocol::ReservationValues& of) {
    const auto reply = change(protocol::ReservationAction::kUpdate, name, of);
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  ErrorCode remove(const std::string& name, Identity who = kRoot) {
    const auto reply = change(protocol::ReservationAction::kDelete, name, {}, who);
    return reply ? ErrorCode::kOk : reply.error().code;
  }
  void pass(Duration time) {
    now_ += time;
    ASSERT_TRUE(run(Tick{}));
  }
  JobSpec spec_in(const std::string& reservation, Identity who = kAnn) {
    JobSpec spec = batch_spec();
    spec.uid = who.uid;
    spec.reservation = reservation;
    return spec;
  }
  const Reservation* found(const std::string& name) { return find_reservation(state_, name); }
  std::string nodes(const std::string& name) {
    return node_list(state_, nodes_of(state_, *found(name)));
  }
  // Whether the engine would take such a start.
  bool starts(JobId id, const std::string& node, const std::string& reservation) {
    BeginningJobs beginning(state_, now_);
    return beginning.may_begin(state_.jobs.at(id), reservation, allocation_on(node),
                               now_ + std::chrono::minutes(10));
  }
  // The job, which may run for ten hours, starts on one core there.
  void begin(JobId id, const std::string& node, const std::string& reservation) {
    JobStarted event{.record = id,
                     .partition = "debug",
                     .time_limit = 600,
                     .time = now_,
                     .end = now_ + std::chrono::hours(10)};
    auto allocation = std::make_shared<Allocation>(allocation_on(node));
    allocation->nodes[0].cores = Bitmap::first(1);
    allocation->nodes[0].cpus = allocation->cpus = 1;
    allocation->node_list = node;
    event.starts.push_back({kNoTask, id, allocation});
    event.reservation = reservation;
    sluice::state::apply(state_, event);
  }
  Allocation allocation_on(const std::string& node) {
    Allocation out;
    out.nodes.emplace_back();
    out.nodes.back().node = find_node(state_, node)->id;
    return out;
  }
};

}  // namespace sluice::state
