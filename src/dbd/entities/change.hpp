// What a change that sacctmgr asks for does to the entities: decided here and nowhere else, on
// values alone. Who asks is what the daemon proved, and what they may is decided on the entities
// that are changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/accounting_admin.hpp"
#include "dbd/entities/entities.hpp"

namespace sluice::dbd {

struct Actor {
  std::string name;    // of the proved uid; empty: it has none
  bool super = false;  // root or SlurmUser
};
// Root, SlurmUser and administrators.
[[nodiscard]] bool is_administrator(const Entities& entities, const Actor& actor);
// These, and operators.
[[nodiscard]] bool is_operator(const Entities& entities, const Actor& actor);

// The records of `after` that are not those of before, and what happened.
struct EntityDiff {
  uint64_t version = 0;
  std::vector<Stored<AccountRecord>> accounts;
  std::vector<Stored<UserRecord>> users;
  std::vector<protocol::ClusterRecord> clusters;
  std::vector<StoredAssociation> associations;
  std::vector<Stored<QosRecord>> qos;
  std::vector<TresRecord> tres;
  std::vector<Stored<WckeyRecord>> wckeys;
  std::vector<protocol::TransactionRecord> transactions;
  [[nodiscard]] bool empty() const;
};
[[nodiscard]] EntityDiff difference(const Entities& before, const Entities& after);

struct ChangeOutcome {
  protocol::ChangeAccountingReply reply;  // `committed` is the caller's to set
  Entities after;                         // as before where it is refused
  std::vector<protocol::TransactionRecord> transactions;
};
// What whoever is no operator may ask for at once.
inline constexpr size_t kMostNames = 1000;    // in all lists of a request
inline constexpr size_t kMostPlaces = 10000;  // associations, places of coordinators
// True where its lists are longer: each name is compared with each record.
[[nodiscard]] bool is_long(const protocol::AccountingConditions& where);
[[nodiscard]] bool is_long(const protocol::ChangeAccountingRequest& request);
// False where nothing of it is his to change, whatever there is: he is no operator, coordinates no
// account, and it is not about himself. Cheap, for those who may ask for anything.
[[nodiscard]] bool may_ask(const Entities& entities,
                           const protocol::ChangeAccountingRequest& request, const Actor& actor);
// The answer to it.
[[nodiscard]] protocol::ChangeAccountingReply denial(
    const protocol::ChangeAccountingRequest& request);

// Refusals are answers: `reply.refused`, with their texts.
[[nodiscard]] ChangeOutcome decide_change(const Entities& before,
                                          const protocol::ChangeAccountingRequest& request,
                                          const Actor& actor, Time now);

// One of many changes of an operator, made in `entities` itself: for thousands of them. False where
// it is refused with errors; then `entities` are of no use any more. What is no change is none.
// Whoever calls it looks at default_qos_problem() in the end.
[[nodiscard]] bool change_in_place(Entities& entities,
                                   const protocol::ChangeAccountingRequest& request,
                                   const Actor& actor, Time now,
                                   protocol::ChangeAccountingReply& reply,
                                   std::vector<protocol::TransactionRecord>& transactions);
// Associations that may not use their own default QOS, as a text for the user; empty: there are
// none.
[[nodiscard]] std::string default_qos_problem(const Entities& entities);

// A controller registers: its cluster is there from now on, with an account root and a user root.
// Gives whether anything changed.
bool register_cluster(Entities& entities, const protocol::ClusterRecord& cluster,
                      std::string_view actor, Time now,
                      std::vector<protocol::TransactionRecord>& transactions);
// The id of a TRES, which gets the next number where it is new.
TresId tres_id(Entities& entities, std::string_view type, std::string_view name);

// True where a name of an account, user, QOS, cluster, partition or wckey can be one: 1 to 250
// printable bytes of UTF-8 without blanks and none of ,'"`/|=:\ and %.
[[nodiscard]] bool is_name(std::string_view text);
// A description, an organization, a comment: up to 1024 bytes of UTF-8 without control characters.
[[nodiscard]] bool is_text(std::string_view text);

}  // namespace sluice::dbd
