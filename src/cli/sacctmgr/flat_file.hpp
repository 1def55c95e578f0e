// The flat files of sacctmgr dump and load: a line each for a cluster, an account or a user, under
// the "Parent" line of the account that they belong to.
//
//   Cluster - 'demo':Fairshare=1:QOS='normal'
//   Parent - 'root'
//   Account - 'physics':Description='Physics':Organization='science':GrpTRES=cpu=100
//   Parent - 'physics'
//   User - 'alice':DefaultAccount='physics':MaxJobs=4
//
// Values in quotes may hold anything; a quote or backslash among them has a backslash before it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::cli::sacctmgr {

enum class FlatKind { kCluster, kParent, kAccount, kUser };

struct FlatLine {
  FlatKind kind = FlatKind::kCluster;
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  // "GrpTRES", "cpu=100"
};

// Nothing for comments and empty lines. Errors say what is wrong with the line.
[[nodiscard]] Result<std::optional<FlatLine>> parse_flat_line(std::string_view text);
[[nodiscard]] std::string flat_line_text(const FlatLine& line);

// The whole tree of a cluster, root first. `reply` has own values of all its associations
// (own_values), and all accounts and users.
[[nodiscard]] std::vector<FlatLine> flat_lines(const std::string& cluster,
                                               const protocol::QueryAccountingReply& associations,
                                               const std::vector<AccountRecord>& accounts,
                                               const std::vector<UserRecord>& users);

}  // namespace sluice::cli::sacctmgr
