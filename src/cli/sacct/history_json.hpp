// A job of the past for sacct --json, with its steps.
#pragma once

#include "cli/sacct/fields.hpp"
#include "common/format/json_parts.hpp"

namespace sluice::cli {

[[nodiscard]] Json history_to_json(const protocol::HistoryJob& record, const SacctContext& context);

}  // namespace sluice::cli
