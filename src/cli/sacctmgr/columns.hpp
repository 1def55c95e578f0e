// The tables of sacctmgr: fields by their names, and printing rows of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sacctmgr/session.hpp"

namespace sluice::cli::sacctmgr {

// What a row may speak of; fields of what is not there are empty.
struct Row {
  const AssociationRecord* association = nullptr;
  const AccountRecord* account = nullptr;
  const UserRecord* user = nullptr;
  const QosRecord* qos = nullptr;
  const TresRecord* tres = nullptr;
  const WckeyRecord* wckey = nullptr;
  const protocol::ClusterRecord* cluster = nullptr;
  const protocol::TransactionRecord* transaction = nullptr;
  const protocol::ProblemRecord* problem = nullptr;
  std::string account_indent;   // of a tree
  std::string default_account;  // of the user
  std::string coordinators;     // of the account; of the user: his accounts
  std::string parent_name;      // of the association
  AssociationId parent = 0;     // likewise
  std::string qos_names;        // of the association, also "+low" of its own values
  bool deleted = false;
};

struct Field {
  const char* name;  // as format= takes it
  size_t least;      // letters of it that are enough
  const char* heading;
  int width;  // below 0: to the left
  std::string (*value)(const Row& row, const protocol::QueryAccountingReply& names);
};

struct ShownField {
  const Field* field;
  int width;
};

class Layout {
 public:
  // "account,user%20,qos": the unknown field is in `unknown` where there is one.
  [[nodiscard]] static std::optional<Layout> parse(protocol::AccountingEntity entity,
                                                   const std::vector<std::string>& fields,
                                                   std::string& unknown);
  void widen_account();  // of a tree
  void print_header(const Session& session) const;
  void print(const Session& session, const Row& row,
             const protocol::QueryAccountingReply& names) const;

 private:
  std::vector<ShownField> fields_;
};

}  // namespace sluice::cli::sacctmgr
