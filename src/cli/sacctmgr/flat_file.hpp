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

// Everything that a dump of a cluster is made of.
struct FlatSource {
  protocol::QueryAccountingReply associations;  // all of the cluster, with own values (own_values)
  std::vector<AccountRecord> accounts;          // all
  std::vector<UserRecord> users;                // all
  std::vector<WckeyRecord> wckeys;              // of the cluster; none where the asker sees none
};
// The whole tree, root first.
[[nodiscard]] std::vector<FlatLine> flat_lines(const std::string& cluster,
                                               const FlatSource& source);

}  // namespace sluice::cli::sacctmgr
