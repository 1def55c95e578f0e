// The table of sshare.
#pragma once

#include <string>

#include "cli/format/print_fields.hpp"
#include "common/base/result.hpp"
#include "common/protocol/assoc_mgr.hpp"

namespace sluice::cli {

struct SshareLayout {
  std::string format;  // NAME%WIDTH, …; empty: the usual columns
  FieldSeparators separators = FieldSeparators::kColumns;
  bool long_form = false, by_partition = false, no_header = false;
  bool users_only = false;
};

// kError: a field that is not known.
[[nodiscard]] Result<std::string> sshare_table(const SshareLayout& layout,
                                               const protocol::AssocMgrReply& all);
// What --helpformat says.
[[nodiscard]] std::string sshare_fields();

}  // namespace sluice::cli
