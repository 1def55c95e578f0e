// What sinfo -v shows first: what was asked for, and which fields tell lines apart.
#pragma once

#include <string>

#include "cli/format/table_format.hpp"
#include "cli/options/sinfo_options.hpp"

namespace sluice::cli {

// `format`: the layout that is used.
[[nodiscard]] std::string sinfo_options_text(const SinfoOptions& options,
                                             const TableFormat& format);

}  // namespace sluice::cli
