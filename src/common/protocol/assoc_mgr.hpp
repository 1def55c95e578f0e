// sshare, scontrol show assoc_mgr: what the controller follows of accounting, with usage, shares
// and what jobs hold now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.hpp"
#include "common/model/accounting.hpp"

namespace sluice::protocol {

// Filters are joined with "and"; an empty list filters nothing. `users` leaves accounts in.
struct QueryAssocMgrRequest {
  static constexpr std::string_view kMethod = "Controller/QueryAssocMgr";
  using Reply = struct AssocMgrReply;
  std::vector<std::string> accounts, users, qos;
  bool no_associations = false, no_users = false, no_qos = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "accounts", &QueryAssocMgrRequest::accounts);
    field(2, "users", &QueryAssocMgrRequest::users);
    field(3, "qos", &QueryAssocMgrRequest::qos);
    field(4, "no_associations", &QueryAssocMgrRequest::no_associations);
    field(5, "no_users", &QueryAssocMgrRequest::no_users);
    field(6, "no_qos", &QueryAssocMgrRequest::no_qos);
  }
};

// What was used is forgotten: by associations and all below them, which is taken from those above,
// and by QOS. For administrators. kNotFound: one of them is not there, and nothing is changed.
struct ResetUsageRequest {
  static constexpr std::string_view kMethod = "Controller/ResetUsage";
  using Reply = struct Empty;
  std::vector<std::string> accounts;  // of each account: its own association, or …
  std::vector<std::string> users;     // … those of these users in it
  std::vector<std::string> qos;
  template <class V>
  static void describe(V&& field) {
    field(1, "accounts", &ResetUsageRequest::accounts);
    field(2, "users", &ResetUsageRequest::users);
    field(3, "qos", &ResetUsageRequest::qos);
  }
};

// Of one TRES.
struct TresInUse {
  TresId id = 0;
  uint64_t count = 0;         // held at once
  uint64_t seconds_left = 0;  // that running jobs may still use
  double seconds_used = 0;    // decayed
  template <class V>
  static void describe(V&& field) {
    field(1, "id", &TresInUse::id);
    field(2, "count", &TresInUse::count);
    field(3, "seconds_left", &TresInUse::seconds_left);
    field(4, "seconds_used", &TresInUse::seconds_used);
  }
};
struct InUse {
  uint32_t jobs = 0, accruing = 0, submit = 0;
  double usage_raw = 0;         // exact billing times seconds, decayed
  double wall = 0;              // seconds, decayed
  std::vector<TresInUse> tres;  // by id; what is nothing is left out
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &InUse::jobs);
    field(2, "accruing", &InUse::accruing);
    field(3, "submit", &InUse::submit);
    field(4, "usage_raw", &InUse::usage_raw);
    field(5, "wall", &InUse::wall);
    field(6, "tres", &InUse::tres);
  }
};

struct AssociationInUse {
  AssociationRecord record;
  uint32_t uid = UINT32_MAX;  // of its user; UINT32_MAX: none, or not known
  uint32_t depth = 0;         // below the root
  double norm_shares = 0, norm_usage = 0, effective_usage = 0, factor = 0;
  double level_fs = 0;  // infinity: nothing used
  uint64_t level_shares = 0;
  InUse use;
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &AssociationInUse::record);
    field(2, "uid", &AssociationInUse::uid);
    field(3, "depth", &AssociationInUse::depth);
    field(4, "norm_shares", &AssociationInUse::norm_shares);
    field(5, "norm_usage", &AssociationInUse::norm_usage);
    field(6, "effective_usage", &AssociationInUse::effective_usage);
    field(7, "factor", &AssociationInUse::factor);
    field(8, "level_fs", &AssociationInUse::level_fs);
    field(9, "level_shares", &AssociationInUse::level_shares);
    field(10, "use", &AssociationInUse::use);
  }
};

struct MemberInUse {
  std::string name;
  uint32_t uid = UINT32_MAX;  // of a user
  InUse use;
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &MemberInUse::name);
    field(2, "uid", &MemberInUse::uid);
    field(3, "use", &MemberInUse::use);
  }
};
struct QosInUse {
  QosRecord record;
  InUse use;
  std::vector<MemberInUse> accounts, users;  // by name; those that hold something
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &QosInUse::record);
    field(2, "use", &QosInUse::use);
    field(3, "accounts", &QosInUse::accounts);
    field(4, "users", &QosInUse::users);
  }
};
struct UserInUse {
  UserRecord record;
  uint32_t uid = UINT32_MAX;
  std::string default_account;
  std::vector<std::string> coordinates;  // accounts
  template <class V>
  static void describe(V&& field) {
    field(1, "record", &UserInUse::record);
    field(2, "uid", &UserInUse::uid);
    field(3, "default_account", &UserInUse::default_account);
    field(4, "coordinates", &UserInUse::coordinates);
  }
};

struct AssocMgrReply {
  bool followed = false;                       // records were received from an accounting daemon
  bool fair_tree = true;                       // else the classic formula
  std::vector<TresRecord> tres;                // by id
  std::vector<AssociationInUse> associations;  // the tree: each account, its users, its accounts
  std::vector<UserInUse> users;                // by name
  std::vector<QosInUse> qos;                   // by id
  template <class V>
  static void describe(V&& field) {
    field(1, "followed", &AssocMgrReply::followed);
    field(2, "fair_tree", &AssocMgrReply::fair_tree);
    field(3, "tres", &AssocMgrReply::tres);
    field(4, "associations", &AssocMgrReply::associations);
    field(5, "users", &AssocMgrReply::users);
    field(6, "qos", &AssocMgrReply::qos);
  }
};

}  // namespace sluice::protocol
