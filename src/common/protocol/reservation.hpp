// scontrol create, update, delete and show reservation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/reservation.hpp"

namespace sluice::protocol {

enum class ReservationAction : uint8_t { kUpdate = 0, kCreate = 1, kDelete = 2 };
// What a list does to the one that is there.
enum class ListChange : uint8_t { kReplace = 0, kAdd = 1, kRemove = 2 };

struct NameList {
  std::string names;  // separated by commas
  ListChange change = ListChange::kReplace;
  template <class V>
  static void describe(V&& field) {
    field(1, "names", &NameList::names);
    field(2, "change", &NameList::change);
  }
};
// The values of the keys that were given.
struct ReservationValues {
  std::optional<Time> start, end;
  std::optional<Duration> duration;  // kNoLimit's place is taken by a year, as in Slurm
  // of an update: the present one grows or shrinks by it
  ListChange duration_change = ListChange::kReplace;
  ReservationFlags add_flags = 0, remove_flags = 0;
  std::optional<std::string> nodes;  // host list, or "ALL"
  std::optional<uint32_t> node_count;
  std::optional<std::string> partition, features, comment;
  std::optional<NameList> users, groups, accounts;
  std::optional<Duration> max_start_delay, purge_after;
  std::optional<std::string> licenses;
  // cores in all, or of one node after the other; empty: whole nodes
  std::vector<uint32_t> core_counts;
  bool skip = false;  // the next occurrence, or the rest of this one
  // "gpu:a100:2,fan:1": generic resources of all its nodes together, and of each of them
  std::optional<std::string> gres, gres_per_node;
  template <class V>
  static void describe(V&& field) {
    field(1, "start", &ReservationValues::start);
    field(2, "end", &ReservationValues::end);
    field(3, "duration", &ReservationValues::duration);
    field(4, "add_flags", &ReservationValues::add_flags);
    field(5, "remove_flags", &ReservationValues::remove_flags);
    field(6, "nodes", &ReservationValues::nodes);
    field(7, "node_count", &ReservationValues::node_count);
    field(8, "partition", &ReservationValues::partition);
    field(9, "features", &ReservationValues::features);
    field(10, "comment", &ReservationValues::comment);
    field(11, "users", &ReservationValues::users);
    field(12, "groups", &ReservationValues::groups);
    field(13, "accounts", &ReservationValues::accounts);
    field(14, "max_start_delay", &ReservationValues::max_start_delay);
    field(15, "purge_after", &ReservationValues::purge_after);
    field(16, "skip", &ReservationValues::skip);
    field(17, "duration_change", &ReservationValues::duration_change);
    field(18, "licenses", &ReservationValues::licenses);
    field(19, "core_counts", &ReservationValues::core_counts);
    field(20, "gres", &ReservationValues::gres);
    field(21, "gres_per_node", &ReservationValues::gres_per_node);
  }
};
struct ChangeReservationRequest {
  static constexpr std::string_view kMethod = "Controller/ChangeReservation";
  using Reply = struct ChangeReservationReply;
  ReservationAction action = ReservationAction::kUpdate;
  std::string name;  // kCreate: empty, one is made up
  ReservationValues values;
  template <class V>
  static void describe(V&& field) {
    field(1, "action", &ChangeReservationRequest::action);
    field(2, "name", &ChangeReservationRequest::name);
    field(3, "values", &ChangeReservationRequest::values);
  }
};
struct ChangeReservationReply {
  std::string name;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &ChangeReservationReply::name);
  }
};
struct QueryReservationsRequest {
  static constexpr std::string_view kMethod = "Controller/QueryReservations";
  using Reply = struct QueryReservationsReply;
  template <class V>
  static void describe(V&&) {}
};
struct CoresOfNode {
  std::string node;
  Bitmap cores;
  template <class V>
  static void describe(V&& field) {
    field(1, "node", &CoresOfNode::node);
    field(2, "cores", &CoresOfNode::cores);
  }
};
// As it is shown: what it says of time is worked out.
struct ReservationRecord {
  Reservation reservation;
  std::string node_list;
  uint32_t cores = 0;
  uint32_t cpus = 0;
  bool active = false;
  std::vector<CoresOfNode> core_ids;  // where it has not whole nodes
  template <class V>
  static void describe(V&& field) {
    field(1, "reservation", &ReservationRecord::reservation);
    field(2, "node_list", &ReservationRecord::node_list);
    field(3, "cores", &ReservationRecord::cores);
    field(4, "cpus", &ReservationRecord::cpus);
    field(5, "active", &ReservationRecord::active);
    field(6, "core_ids", &ReservationRecord::core_ids);
  }
};
struct QueryReservationsReply {
  std::vector<ReservationRecord> reservations;
  Time now = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "reservations", &QueryReservationsReply::reservations);
    field(2, "now", &QueryReservationsReply::now);
  }
};

}  // namespace sluice::protocol
