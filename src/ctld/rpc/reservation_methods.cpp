// Reservations: the names in their lists are looked up here, the core gets numbers.
#include <grp.h>
#include <pwd.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/base/text.hpp"
#include "common/model/system_cores.hpp"
#include "ctld/query/users.hpp"
#include "ctld/rpc/services.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/rules/reservations.hpp"

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
  std::vector<char> room;
  const int error = with_room(
      room, [&] { return getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found); });
  return error == 0 && found != nullptr ? std::optional(found->pw_uid) : std::nullopt;
}

using People = decltype(state::ChangeReservation::users);

// Adds the members of each group that there is, and those whose first group it is. One walk through
// all users is for all of them.
void add_members(const std::set<std::string>& names, People& people) {
  std::map<gid_t, std::vector<std::string>> groups;  // their names
  std::vector<char> room;
  for (const std::string& name : names) {
    group entry{};
    group* found = nullptr;
    const int error = with_room(
        room, [&] { return getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found); });
    if (error != 0 || found == nullptr) continue;
    std::vector<uint32_t>& uids = people[name] = {};
    for (char** member = found->gr_mem; *member != nullptr; ++member) {
      if (const auto uid = uid_of(*member)) uids.push_back(*uid);
    }
    groups[found->gr_gid].push_back(name);
  }
  if (groups.empty()) return;
  static std::mutex walk;  // the walk through all users is the process's
  const std::lock_guard lock(walk);
  setpwent();                                // NOLINT(concurrency-mt-unsafe): under the lock
  while (const passwd* user = getpwent()) {  // NOLINT(concurrency-mt-unsafe)
    const auto first = groups.find(user->pw_gid);
    if (first == groups.end()) continue;
    for (const std::string& name : first->second) people[name].push_back(user->pw_uid);
  }
  endpwent();  // NOLINT(concurrency-mt-unsafe)
}

// Names of a list without the "-" before each.
std::set<std::string> bare_names(const std::string& list) {
  std::set<std::string> names;
  for (const std::string& name : split_list(list))
    names.insert(name.starts_with('-') ? name.substr(1) : name);
  return names;
}

// The name services are asked for those only who may make reservations: each name costs them
// something.
Result<state::ChangeReservation> make_command(const ServiceParts& parts, const CallContext& context,
                                              ChangeReservationRequest request) {
  constexpr size_t kMostNames = 1000;
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  state::ChangeReservation command{identity_of(context), std::move(request), {}};
  if (command.request.action == protocol::ReservationAction::kDelete) return command;
  if (!asked_by_operator(*state, context)) return failure(ErrorCode::kInvalidUser);
  const protocol::ReservationValues& values = command.request.values;
  std::set<std::string> users = bare_names(values.users ? values.users->names : "");
  std::set<std::string> groups = bare_names(values.groups ? values.groups->names : "");
  if (users.size() > kMostNames || groups.size() > kMostNames)
    return failure(std::string(state::kTooLong));
  if (const Reservation* known = state::find_reservation(*state, command.request.name)) {
    users.merge(bare_names(known->users));
    groups.merge(bare_names(known->groups));
  }
  for (const std::string& name : users) {
    if (const auto uid = uid_of(name)) command.users[name] = {*uid};
  }
  add_members(groups, command.users);
  return command;
}

QueryReservationsReply query_reservations(const ServiceParts& parts, const CallContext& context) {
  const state::ClusterSnapshot state = parts.publisher.newest()->state;
  const bool admin = asked_by_operator(*state, context);
  const bool hides = !admin && has_option(state->config->private_data, "reservations");
  QueryReservationsReply reply;
  reply.now = parts.clock();
  for (const Reservation& one : *state->reservations) {
    if (hides && !state::may_use_at_all(*state, one, context.identity.uid)) continue;
    protocol::ReservationRecord& record = reply.reservations.emplace_back();
    record.reservation = one;
    const state::Period period = state::period_of(one, reply.now);
    record.reservation.start = period.start;
    record.reservation.end = period.end;
    record.reservation.nodes = state::nodes_of(*state, one);
    std::erase_if(record.reservation.gres, [&](const ReservedGres& part) {
      return !record.reservation.nodes.test(part.node);  // it is no more
    });
    record.node_list = state::node_list(*state, record.reservation.nodes);
    record.active = state::is_active(one, reply.now);
    const state::NodeHold hold = state::hold_of(*state, one);
    hold.whole.for_each([&](size_t id) {
      const NodeConfig& config = *state->nodes.at(static_cast<NodeId>(id)).config;
      record.cores += config.cores();
      record.cpus += config.cpus;
    });
    for (const auto& [id, cores] : hold.cores) {
      const Node& node = state->nodes.at(id);
      const auto count = static_cast<uint32_t>(cores.count());
      record.cores += count;
      record.cpus += count * cpus_of_core(*node.config);
      record.core_ids.push_back({node.name, cores});
    }
  }
  return reply;
}

}  // namespace

void add_reservation_methods(net::RpcServer& server, ServiceParts& parts) {
  server.handle<ChangeReservationRequest, ChangeReservationReply>(
      [&parts](const auto& context, auto request, auto responder) {
        const auto made = [](const state::Reply& reply,
                             const state::ClusterState&) -> Result<ChangeReservationReply> {
          const auto* named = std::get_if<state::ReservationReply>(&reply);
          return named != nullptr ? ChangeReservationReply{named->name} : ChangeReservationReply{};
        };
        auto command = make_command(parts, context, std::move(request));
        if (!command) return responder.fail(command.error());
        parts.engine.post({std::move(*command), {}, answer(std::move(responder), made)});
      },
      net::kSlow);
  server.handle<protocol::QueryReservationsRequest, QueryReservationsReply>(
      [&parts](const auto& context, auto, auto responder) {
        responder.reply(query_reservations(parts, context));
      });
}

}  // namespace sluice::ctld
