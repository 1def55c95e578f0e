// Accounts of clusters as a tree, for reports whose lines follow it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/sreport/report.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::cli::sreport {

constexpr Duration kPatience = std::chrono::minutes(5);  // usage may have to be summed up first

// Who is above whom.
struct Tree {
  std::vector<AssociationRecord> records;  // by lineage: a parent before what is below it
  std::map<AssociationId, const AssociationRecord*> by_id;
  // From the record up to the root.
  [[nodiscard]] std::vector<const AssociationRecord*> path(const AssociationRecord& record) const;
};
// Nothing: the daemon did not answer, which the session has told.
[[nodiscard]] std::optional<Tree> tree_of(Session& session, const Asked& asked);

// Which lines users= and accounts= leave: those of the users, or of the accounts and of all below.
// What is asked for gets the accounts below, too.
class Named {
 public:
  Named(Asked& asked, const Tree& tree);
  [[nodiscard]] bool shows(const AssociationRecord& record) const;

 private:
  std::vector<std::string> users_, accounts_;
};

}  // namespace sluice::cli::sreport
