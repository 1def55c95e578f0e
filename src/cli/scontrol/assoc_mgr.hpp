// scontrol show assoc_mgr: users, associations and QOS as the controller knows them.
#pragma once

#include <string>

#include "common/protocol/assoc_mgr.hpp"

namespace sluice::cli::scontrol {

// `words`: accounts=…, users=…, qos=…, flags=assoc,users,qos, with blanks between them. The text
// behind: a word that is none of these; empty: all are.
[[nodiscard]] std::string read_assoc_mgr_words(const std::string& words,
                                               protocol::QueryAssocMgrRequest& request);
// Several lines a record, or one with `one_line`.
[[nodiscard]] std::string assoc_mgr_text(const protocol::AssocMgrReply& all,
                                         const protocol::QueryAssocMgrRequest& request,
                                         bool one_line);

}  // namespace sluice::cli::scontrol
