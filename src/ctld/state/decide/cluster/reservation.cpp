// scontrol create, update and delete reservation.
#include "ctld/state/rules/reservations.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/format/reservation_keys.hpp"
#include "ctld/fit/features.hpp"
#include "ctld/state/decide/cluster/reserved_nodes.hpp"
#include "ctld/state/decide/verbs.hpp"
#include "ctld/state/rules/licenses.hpp"

namespace sluice::state {
namespace {

using protocol::ListChange;
using protocol::NameList;
using protocol::ReservationAction;
using protocol::ReservationValues;

// A start so long ago is still "now": the command was some time on its way.
constexpr std::chrono::seconds kLate{60};

bool excludes(std::string_view name) { return name.starts_with('-'); }

// Whether two may never be on one node, or core, at the same time.
bool excludes_each_other(const Reservation& r, const Reservation& other, Time now) {
  return other.id != r.id && stands_apart(r) && stands_apart(other) && ever_meet(r, other, now);
}

// The list as it will be; all of its names begin with "-", or none does (else kInvalidAccount).
Result<std::string> changed_list(const std::string& before, const NameList& change) {
  const std::vector<std::string> known = split_list(before), given = split_list(change.names);
  // "-ann" takes ann from those who may: else all others could from then on
  const bool takes = change.change == ListChange::kReplace && !known.empty() && !given.empty() &&
                     !excludes(known.front()) && std::ranges::all_of(given, excludes);
  const bool removes = takes || change.change == ListChange::kRemove;
  std::vector<std::string> names =
      change.change == ListChange::kReplace && !takes ? std::vector<std::string>() : known;
  for (const std::string& one : given) {
    const std::string name = takes ? one.substr(1) : one;
    const auto at = std::ranges::find(names, name);
    if (removes) {
      if (at == names.end()) return failure(ErrorCode::kInvalidUser);
      names.erase(at);
    } else if (at == names.end()) {
      names.push_back(name);
    }
  }
  const auto out = static_cast<size_t>(std::ranges::count_if(names, excludes));
  if (out != 0 && out != names.size()) return failure(ErrorCode::kInvalidAccount);
  return join(names, ",");
}

// All of them are accounts, where accounting knows any.
Status check_accounts(const Accounting& accounting, std::string_view accounts) {
  if (accounting.version == 0) return {};
  for (const std::string& name : split_list(accounts)) {
    if (!accounting.accounts->contains(to_lower(excludes(name) ? name.substr(1) : name)))
      return failure(ErrorCode::kInvalidAccount);
  }
  return {};
}

Status set_people(const ClusterState& state, const ChangeReservation& command, Reservation& r) {
  const ReservationValues& v = command.request.values;
  for (auto [change, text] : {std::pair{&v.users, &r.users}, std::pair{&v.groups, &r.groups},
                              std::pair{&v.accounts, &r.accounts}}) {
    if (!*change) continue;
    auto list = changed_list(*text, **change);
    const bool of_accounts = text == &r.accounts;
    if (!list) {
      const bool unknown = of_accounts && list.error().code == ErrorCode::kInvalidUser;
      return unknown ? failure(ErrorCode::kInvalidAccount) : tl::unexpected(list.error());
    }
    *text = std::move(*list);
    if (!of_accounts) continue;
    if (Status ok = check_accounts(state.accounting, *text); !ok) return ok;
  }
  if (!r.users.empty() && !r.groups.empty()) return failure(ErrorCode::kReservationForBoth);
  if (r.users.empty() && r.groups.empty() && r.accounts.empty())
    return failure(ErrorCode::kReservationForNobody);
  r.uids.clear();
  for (const std::string& name : split_list(r.users.empty() ? r.groups : r.users)) {
    const auto at = command.users.find(excludes(name) ? name.substr(1) : name);
    if (at == command.users.end())
      return failure(r.users.empty() ? ErrorCode::kInvalidGroup : ErrorCode::kInvalidUser);
    r.uids.insert(r.uids.end(), at->second.begin(), at->second.end());
  }
  std::ranges::sort(r.uids);
  r.uids.erase(std::unique(r.uids.begin(), r.uids.end()), r.uids.end());
  return {};
}

// Whether sums of them are times: what a command sends is any number.
bool are_times(const ReservationValues& v) {
  constexpr Duration kLongest = kNever - Time();
  const auto is_time = [](const std::optional<Time>& time) {
    return !time || (*time >= Time() && *time <= kNever);
  };
  return is_time(v.start) && is_time(v.end) &&
         (!v.duration || (*v.duration >= -kLongest && *v.duration <= kLongest));
}

// How long it will last when it lasts `present` now.
Duration changed_length(const ReservationValues& v, Duration present) {
  if (!v.duration) return present;
  if (v.duration_change == ListChange::kAdd) return present + *v.duration;
  return v.duration_change == ListChange::kRemove ? present - *v.duration : *v.duration;
}

// It keeps its length when only its start is moved; of an update's end and duration the duration
// counts.
Status set_times(const ReservationValues& v, bool create, Time now, Reservation& r) {
  if (!are_times(v)) return failure(ErrorCode::kInvalidTime);
  const bool floats = ((r.flags | v.add_flags) & kReservationTimeFloat) != 0;
  Period period = create ? Period{} : period_of(r, now);
  const Duration length =
      create ? v.duration.value_or(Duration(0)) : changed_length(v, period.end - period.start);
  if (v.start) {
    if (!create && period.start <= now && *v.start != period.start)
      return failure(ErrorCode::kReservationStarted);
    if (*v.start < now - kLate) return failure(ErrorCode::kInvalidTime);
    period.start = std::max(*v.start, create ? now : *v.start);
  }
  // whole seconds, as they are shown: the next one may begin when this one is shown to end
  period.start = std::chrono::floor<std::chrono::seconds>(period.start);
  period.end = v.end && (create || !v.duration) ? *v.end : period.start + length;
  if (create && !v.end && !v.duration) return failure(ErrorCode::kInvalidTime);
  if (period.end <= period.start || period.end < now - kLate || period.end > kNever)
    return failure(ErrorCode::kInvalidTime);
  r.start = floats ? kNoTime + (period.start - now) : period.start;
  r.end = floats ? kNoTime + (period.end - now) : period.end;
  return {};
}

Status set_named_nodes(const ClusterState& state, const std::string& text, bool create,
                       Reservation& r) {
  r.flags |= kReservationSpecNodes;
  r.node_count = 0;
  if (!iequals(text, "ALL")) {
    auto nodes = resolve_nodes(state, text);
    if (!nodes || nodes->none()) return failure(ErrorCode::kInvalidNodeName);
    r.flags &= ~(kReservationAllNodes | kReservationPartNodes);
    r.nodes = std::move(*nodes);
    return {};
  }
  if (r.partition.empty()) {
    r.flags |= kReservationAllNodes;
    r.nodes = all_nodes(state);
  } else {
    const Partition* partition = find_partition(state, r.partition);
    if (partition == nullptr) return failure(ErrorCode::kInvalidPartition);  // deleted since
    r.nodes = partition->nodes;
    if (create) r.flags |= kReservationPartNodes;
  }
  return r.nodes.any() ? Status() : failure(ErrorCode::kInvalidNodeName);
}

Status check_named_nodes(const ClusterState& state, const Reservation& r, const Bitmap& before,
                         Time now) {
  const Bitmap nodes = nodes_of(state, r);
  for (const Reservation& other : *state.reservations) {
    if (nodes.intersects(nodes_of(state, other)) && excludes_each_other(r, other, now))
      return failure(ErrorCode::kReservationOverlap);
  }
  Bitmap added = nodes;
  added.and_not(before);
  const bool busy =
      (r.flags & kReservationIgnoreJobs) == 0 && has_jobs(state, added, period_of(r, now).start);
  return busy ? failure(ErrorCode::kNodesBusy) : Status();
}

// Licenses alone are reserved: its jobs may use any nodes.
bool needs_no_nodes(const ReservationValues& v) {
  return v.licenses && !v.licenses->empty() && (v.add_flags & kReservationAnyNodes) != 0 &&
         !v.nodes && !v.partition && v.core_counts.empty() && !v.gres && !v.gres_per_node;
}

// Where it comes from when nothing is said of that.
Status set_default_partition(const ClusterState& state, Reservation& r) {
  if (!r.partition.empty() || (r.flags & kReservationAnyNodes) != 0) return {};
  const Partition* partition = default_partition(state);
  if (partition == nullptr) return failure(ErrorCode::kInvalidPartition);
  r.partition = partition->config->name;
  return {};
}

// As they stay when its time changes.
Status check_parts(const ClusterState& state, const Reservation& r, Time now) {
  NodeHold others;
  for (const Reservation& other : *state.reservations) {
    if (excludes_each_other(r, other, now)) others.add(hold_of(state, other));
  }
  const NodeHold own = hold_of(state, r);
  bool meets = false;
  own.parts().for_each([&](size_t id) {
    NodeAllocation part;
    part.node = static_cast<NodeId>(id);
    if (const auto at = own.cores.find(part.node); at != own.cores.end()) part.cores = at->second;
    if (const auto at = own.gres.find(part.node); at != own.gres.end()) part.gres = at->second;
    meets = meets || others.touches(part);
    const auto kept = others.gres.find(part.node);
    if (kept == others.gres.end()) return;
    for (const GresShare& share : part.gres) {
      if (!is_counted(share)) continue;
      const uint64_t sum = share.count + count_of(kept->second, share.name, share.type.view());
      meets = meets || sum > total_of(state.nodes.at(part.node), share);
    }
  });
  return meets ? failure(ErrorCode::kReservationOverlap) : Status();
}

// Everything that is asked for stands in GresTypes, and can be told apart from the rest. "0": none.
Result<GresWish> gres_wish(const ClusterState& state, const ReservationValues& v,
                           const Reservation& r) {
  if (v.gres && v.gres_per_node) return failure(ErrorCode::kInvalidGres);
  GresWish wish;
  wish.per_node = v.gres_per_node.has_value();
  wish.cores = v.core_counts;
  if (!v.gres && !v.gres_per_node) {  // as many as it has
    for (const ReservedGres& part : r.gres) {
      for (const GresShare& share : part.shares) {
        const auto at = std::ranges::find_if(wish.items, [&](const GresItem& item) {
          return item.name == share.name && item.type == share.type;
        });
        if (at != wish.items.end()) at->count += share.count;
        else wish.items.push_back({share.name, share.type, share.count});
      }
    }
    return wish;
  }
  auto items = gres_items(v.gres ? *v.gres : *v.gres_per_node);
  if (!items || items->empty()) return failure(ErrorCode::kInvalidGres);
  for (const GresItem& item : *items) {
    const auto& types = state.config->gres_types;
    const bool known = std::ranges::find(types, item.name.view()) != types.end();
    if (!known || item.count == 0 || is_shared_gres(item.name))
      return failure(ErrorCode::kInvalidGres);
    const auto same = std::ranges::count_if(*items, [&](const GresItem& other) {
      return other.name == item.name &&
             (other.type == item.type || other.type.empty() || item.type.empty());
    });
    if (same > 1) return failure(ErrorCode::kInvalidGres);
  }
  wish.items = std::move(*items);
  return wish;
}

bool asks_for_gres(const ReservationValues& v) { return v.gres || v.gres_per_node; }

// What of an update may be: cores of nodes are chosen once and for all.
Status check_new_parts(const ReservationValues& v, const Reservation& r) {
  const bool cores = !v.core_counts.empty();
  if (cores || !r.cores.empty())
    return failure(ErrorCode::kBadRequest, "Core-based reservation can not be updated");
  // whole nodes are not given back in part
  return r.gres.empty() ? failure(ErrorCode::kNotSupported) : Status();
}

// Cores and generic resources of nodes.
Status set_parts(const ClusterState& state, const ReservationValues& v, bool create, Time now,
                 Reservation& r) {
  const bool asks = !v.core_counts.empty() || v.nodes || v.node_count || asks_for_gres(v);
  if (!create) {
    if (!asks) return check_parts(state, r, now);
    if (Status ok = check_new_parts(v, r); !ok) return ok;
  }
  const bool has_gres = asks_for_gres(v) || !r.gres.empty();
  if ((r.flags & (kReservationReplace | kReservationReplaceDown)) != 0)
    return has_gres ? failure(ErrorCode::kNotSupported)
                    : failure(ErrorCode::kBadRequest, "CPU count specification invalid");
  if (Status ok = set_default_partition(state, r); !ok) return ok;
  NodeWish wish{.reservation = &r, .keep = {}, .count = v.node_count.value_or(0)};
  if (v.nodes) {
    Reservation named = r;
    if (Status ok = set_named_nodes(state, *v.nodes, false, named); !ok) return ok;
    r.flags = named.flags;
    wish.keep = nodes_of(state, named);
  } else if (v.node_count) {
    r.flags &= ~(kReservationSpecNodes | kReservationAllNodes);
  } else if (!create && (r.flags & kReservationSpecNodes) != 0) {
    wish.keep = nodes_of(state, r);
  }
  ReservedParts chosen;
  if (has_gres) {
    const auto gres = gres_wish(state, v, r);
    if (!gres) return tl::unexpected(gres.error());
    auto parts = choose_gres(state, wish, *gres, now);
    if (!parts) return tl::unexpected(parts.error());
    chosen = std::move(*parts);
  } else {
    auto cores = choose_cores(state, wish, v.core_counts, now);
    if (!cores) return tl::unexpected(cores.error());
    chosen.cores = std::move(*cores);
  }
  r.cores = std::move(chosen.cores);
  r.gres = std::move(chosen.gres);
  r.nodes = {};
  for (const ReservedCores& part : r.cores) r.nodes.set(part.node);
  for (const ReservedGres& part : r.gres) r.nodes.set(part.node);
  return {};
}

Status set_nodes(const ClusterState& state, const ReservationValues& v, bool create, Time now,
                 Reservation& r) {
  const Bitmap before = nodes_of(state, r);
  const bool parts = !v.core_counts.empty() || asks_for_gres(v);
  if (parts || !r.cores.empty() || !r.gres.empty()) return set_parts(state, v, create, now, r);
  const bool no_nodes = create && needs_no_nodes(v);
  const bool named = v.nodes || (create && !v.node_count && !no_nodes);
  if (named) {  // of a partition without more: all that it has
    if (Status ok = set_named_nodes(state, v.nodes.value_or("ALL"), create, r); !ok) return ok;
  }
  if (v.node_count && !v.nodes && !no_nodes) {
    r.flags &= ~(kReservationSpecNodes | kReservationAllNodes | kReservationPartNodes);
    r.node_count = *v.node_count;
    if (Status ok = set_default_partition(state, r); !ok) return ok;
    auto chosen = choose_nodes(state, {&r, before.take_first(r.node_count), r.node_count}, now);
    if (!chosen) return tl::unexpected(chosen.error());
    r.nodes = std::move(*chosen);
    return {};
  }
  return check_named_nodes(state, r, before, now);
}

Status set_licenses(const ClusterState& state, const ReservationValues& v, Time now,
                    Reservation& r) {
  if (v.licenses) r.licenses = *v.licenses;
  if (r.licenses.empty() && r.nodes.none()) return failure(ErrorCode::kInvalidLicense);
  const bool more = v.licenses || v.start || v.end || v.duration || v.add_flags != 0;
  return more ? check_reserved_licenses(state, r, now) : Status();
}

std::string new_name(const ClusterState& state, const Reservation& r) {
  const std::string& people = r.users.empty() ? r.groups : r.users;
  const std::string& first = r.accounts.empty() ? people : r.accounts;
  std::string stem = split_list(first).front();
  if (excludes(stem)) stem.erase(0, 1);
  for (uint32_t id = r.id;; ++id) {
    std::string name = stem + "_" + std::to_string(id);
    if (find_reservation(state, name) == nullptr) return name;
  }
}

bool any_node_has(const ClusterState& state, const std::string& features) {
  const auto parsed = fit::parse_features(features);
  if (!parsed) return false;
  bool found = false;
  state.nodes.for_each([&](const Node& node) {
    found = found || (!node.removed && node.config != nullptr &&
                      fit::satisfies_any(*parsed, node.config->features));
  });
  return found;
}

// Flags that say nothing about the nodes that are asked for, or the opposite.
Status check_flags_of_nodes(const ReservationValues& v, bool create, const Reservation& r) {
  if ((v.add_flags & kReservationPartNodes) != 0) {
    if (r.partition.empty()) return failure(ErrorCode::kInvalidPartition);
    if (!v.nodes || !iequals(*v.nodes, "ALL")) return failure(ErrorCode::kInvalidNodeName);
  }
  const bool parts = !v.core_counts.empty() || v.gres || v.gres_per_node;
  const bool named =
      v.nodes || (!v.node_count && !parts && (create || (r.flags & kReservationSpecNodes) != 0));
  if (named && (v.add_flags & (kReservationReplace | kReservationReplaceDown)) != 0) {
    // there is nothing to choose from
    return failure(create ? ErrorCode::kInvalidNodeName : ErrorCode::kNotSupported);
  }
  return {};
}

// Whether it can come again, or float, as its flags say.
Status check_recurrence(ReservationFlags before, ReservationFlags after, bool create) {
  const bool floats = (after & kReservationTimeFloat) != 0;
  if ((after & kReservationRecurs) != 0 && floats) return failure(ErrorCode::kNotSupported);
  const bool floated = (before & kReservationTimeFloat) != 0;
  return create || floated == floats ? Status() : failure(ErrorCode::kInvalidTime);
}

// What the request makes of `r`.
Status apply_values(const ClusterState& state, const ChangeReservation& command, bool create,
                    Time now, Reservation& r) {
  const ReservationValues& v = command.request.values;
  const Time began = create ? kNoTime : period_of(r, now).start;
  if (v.partition) {
    const bool none = v.partition->empty();
    if (none ? create : find_partition(state, *v.partition) == nullptr)
      return failure(ErrorCode::kInvalidPartition);
    r.partition = *v.partition;
  }
  if (v.features) {
    if (!v.features->empty() && !any_node_has(state, *v.features))
      return failure(ErrorCode::kInvalidFeature);
    r.features = *v.features;
  }
  if ((v.add_flags & kReservationRecurs) != 0) r.flags &= ~kReservationRecurs;
  const ReservationFlags before = r.flags;
  r.flags = (r.flags | v.add_flags) & ~v.remove_flags;
  if (Status ok = check_recurrence(before, r.flags, create); !ok) return ok;
  if (Status ok = check_flags_of_nodes(v, create, r); !ok) return ok;
  if (v.comment) r.comment = *v.comment;
  if (v.max_start_delay) r.max_start_delay = *v.max_start_delay;
  if (v.purge_after) r.purge_after = *v.purge_after;
  if (create || v.start || v.end || v.duration) {
    if (Status ok = set_times(v, create, now, r); !ok) return ok;
  }
  if (create || v.users || v.groups || v.accounts) {
    if (Status ok = set_people(state, command, r); !ok) return ok;
  }
  if (Status ok = set_nodes(state, v, create, now, r); !ok) return ok;
  // the nodes that it keeps may have jobs at its new start; with MaxStartDelay guests leave it then
  const Time begins = period_of(r, now).start;
  const bool looks = (r.flags & kReservationIgnoreJobs) == 0;
  const bool sooner = !create && begins < began && looks;
  if (sooner && has_jobs(state, nodes_of(state, r), begins, &r))
    return failure(ErrorCode::kNodesBusy);
  return set_licenses(state, v, now, r);
}

// Beside `skip` nothing else is changed.
bool changes_more(const protocol::ReservationValues& v) {
  const bool times = v.start || v.end || v.duration || v.max_start_delay || v.purge_after;
  const bool people = v.users || v.groups || v.accounts;
  const bool what =
      v.nodes || v.node_count || v.partition || v.features || v.licenses || !v.core_counts.empty();
  return times || people || what || v.comment || v.add_flags != 0 || v.remove_flags != 0;
}

Status skip_occurrence(const protocol::ReservationValues& values, Reservation& r) {
  if (changes_more(values)) {
    return failure(ErrorCode::kBadRequest,
                   "skip goes with no other change of the reservation: update it once for each");
  }
  if ((r.flags & kReservationRecurs) == 0) return failure(ErrorCode::kReservationNotSkipable);
  move_on(r);
  return {};
}

// Whether a job that is not over names it or runs in it.
bool is_used(const ClusterState& state, const Reservation& r) {
  bool used = false;
  const auto look = [&](uint32_t id) {
    const Job& job = state.jobs.at(id);
    used = used || (!reservation_of(job).empty() && is_named(reservation_of(job).view(), r.name));
    return !used;
  };
  state.active.for_each(look);
  if (!used) state.pending.for_each(look);
  return used;
}

Result<Decision> remove_reservation(const ClusterState& state, const ChangeReservation& command) {
  const Reservation* known = find_reservation(state, command.request.name);
  const bool admin = is_operator(state, command.who.uid);
  if (known == nullptr)
    return failure(admin ? ErrorCode::kInvalidReservation : ErrorCode::kInvalidUser);
  const bool own = (known->flags & kReservationUserDelete) != 0 &&
                   may_use_at_all(state, *known, command.who.uid);
  if (!admin && !own) return failure(ErrorCode::kInvalidUser);
  if (is_used(state, *known)) return failure(ErrorCode::kReservationInUse);
  Draft draft(state);
  draft.emit(ReservationDeleted{.id = known->id});
  return draft.take(ReservationReply{command.request.name});
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const ChangeReservation& command, Time now) {
  const protocol::ChangeReservationRequest& request = command.request;
  if (request.action == ReservationAction::kDelete) return remove_reservation(state, command);
  if (!is_operator(state, command.who.uid)) return failure(ErrorCode::kInvalidUser);
  const bool create = request.action == ReservationAction::kCreate;
  const Reservation* known = find_reservation(state, request.name);
  Reservation changed;
  if (create) {
    if (known != nullptr) return failure(ErrorCode::kDuplicateReservation);
    const protocol::ReservationValues& v = request.values;
    const bool some =
        v.nodes || v.node_count || v.partition || !v.core_counts.empty() || asks_for_gres(v);
    const bool any = (v.add_flags & kReservationAnyNodes) != 0;
    // of any nodes no number can be kept: only licenses, or nodes that are named
    if (any && v.node_count && !v.nodes && !needs_no_nodes(v))
      return failure(ErrorCode::kInvalidReservation);
    if (!some && !needs_no_nodes(v)) {
      const bool licenses = v.licenses && !v.licenses->empty();
      return failure(licenses ? ErrorCode::kInvalidNodeName : ErrorCode::kNodesNotAvailable);
    }
    changed.id = state.next_reservation_id;
  } else {
    if (known == nullptr) return failure(ErrorCode::kInvalidReservation);
    changed = *known;
  }
  if (request.values.skip && !create) {
    if (Status ok = skip_occurrence(request.values, changed); !ok)
      return tl::unexpected(ok.error());
  } else if (Status ok = apply_values(state, command, create, now, changed); !ok) {
    return tl::unexpected(ok.error());
  }
  if (create) changed.name = request.name.empty() ? new_name(state, changed) : request.name;
  Draft draft(state);
  if (known != nullptr && known->begun) {
    if (request.values.skip)
      draft.emit(ReservationTurned{.id = known->id, .begins = false, .name = known->name});
    changed.begun = is_active(changed, now);
  }
  ReservationReply reply{changed.name};
  draft.emit(ReservationChanged{.reservation = std::move(changed)});
  return draft.take(std::move(reply));
}

}  // namespace sluice::state
