// sshare --json and --yaml.
#pragma once

#include "cli/format/structured_text.hpp"
#include "common/protocol/assoc_mgr.hpp"

namespace sluice::cli {

// {"shares": [one for each association …], "total_shares": …}. `users_only`: without accounts.
[[nodiscard]] Json shares_to_json(const protocol::AssocMgrReply& all, bool users_only);

}  // namespace sluice::cli
