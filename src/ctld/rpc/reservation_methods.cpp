// Reservations: the names in their lists are looked up here, the core gets numbers.
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <mutex>

#include "common/base/text.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/reservations.hpp"

namespace sluice::ctld {
namespace {

using net::CallContext;
using net::Responder;
using protocol::ChangeReservationReply;
using protocol::ChangeReservationRequest;
using protocol::QueryReservationsReply;

// Nothing: there is no such user.
std::optional<uint32_t> uid_of(const std::string& name) {
  if (const auto number = to_number<uint32_t>(name)) return number;
  passwd entry{};
  passwd* found = nullptr;
  char buffer[16384];
  if (getpwnam_r(name.c_str(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) return std::nullopt;
  return found->pw_uid;
}

// Those whose first group it is, too. Nothing: there is no such group.
std::optional<std::vector<uint32_t>> members_of(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(1 << 20);
  if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return std::nullopt;
  std::vector<uint32_t> uids;
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (const auto uid = uid_of(*member)) uids.push_back(*uid);
  }
  static std::mutex walk;  // the walk through all users is the process's
  const std::lock_guard lock(walk);
  setpwent();  // NOLINT(concurrency-mt-unsafe): under the lock
  while (const passwd* user = getpwent()) {  // NOLINT(concurrency-mt-unsafe)
    if (user->pw_gid == found->gr_gid) uids.push_back(user->pw_uid);
  }
  endpwent();  // NOLINT(concurrency-mt-unsafe)
  return uids;
}

// Names of a list without the "-" before each.
std::vector<std::string> bare_names(const std::string& list) {
  std::vector<std::string> names = split_list(list);
  for (std::string& name : names) {
    if (name.starts_with('-')) name.erase(0, 1);
  }
  return names;
}

state::ChangeReservation make_command(const ServiceParts& parts, const CallContext& context, ChangeReservationRequest request) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  state::ChangeReservation command{identity_of(context), std::move(request), {}};
  const protocol::ReservationValues& values = command.request.values;
  const Reservation* known = state::find_reservation(*state, command.request.name);
  std::string users = values.users ? values.users->names : "";
  std::string groups = values.groups ? values.groups->names : "";
  if (known != nullptr) {
    users += "," + known->users;
    groups += "," + known->groups;
  }
  for (const std::string& name : bare_names(users)) {
    if (const auto uid = uid_of(name)) command.users[name] = {*uid};
  }
  for (const std::string& name : bare_names(groups)) {
    if (auto members = members_of(name)) command.users[name] = std::move(*members);
  }
  return command;
}

QueryReservationsReply query_reservations(const ServiceParts& parts, const CallContext& context) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const bool admin = asked_by_admin(*state, context);
  const bool hides = !admin && has_option(state->config->private_data, "reservations");
  QueryReservationsReply reply;
  reply.now = parts.clock();
  for (const Reservation& one : *state->reservations) {
    if (hides && !state::may_use(one, context.identity.uid, {})) continue;
    protocol::ReservationRecord& record = reply.reservations.emplace_back();
    record.reservation = one;
    const state::Period period = state::period_of(one, reply.now);
    record.reservation.start = period.start;
    record.reservation.end = period.end;
    record.reservation.nodes = state::nodes_of(*state, one);
    record.node_list = state::node_list(*state, record.reservation.nodes);
    record.active = state::is_active(one, reply.now);
    record.reservation.nodes.for_each([&](size_t id) {
      const NodeConfig& config = *state->nodes.at(static_cast<NodeId>(id)).config;
      record.cores += config.cores();
      record.cpus += config.cpus;
    });
  }
  return reply;
}

}  // namespace

void add_reservation_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<ChangeReservationRequest, ChangeReservationReply>(
      [&parts](const auto& context, auto request, auto responder) {
        const auto made = [](const state::Reply& reply, const state::ClusterState&) -> Result<ChangeReservationReply> {
          const auto* named = std::get_if<state::ReservationReply>(&reply);
          return named != nullptr ? ChangeReservationReply{named->name} : ChangeReservationReply{};
        };
        parts.engine.post({make_command(parts, context, std::move(request)), {}, answer(std::move(responder), made)});
      }, net::kSlow);
  server.handle<protocol::QueryReservationsRequest, QueryReservationsReply>(
      [&parts](const auto& context, auto, auto responder) { responder.reply(query_reservations(parts, context)); });
}

}  // namespace sluice::ctld
