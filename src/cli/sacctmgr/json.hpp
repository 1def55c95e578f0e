// sacctmgr --json and --yaml.
#pragma once

#include "cli/sacctmgr/session.hpp"

namespace sluice::cli::sacctmgr {

// The document of records, on stdout.
void print_records(const Session& session, std::string key, Json records);
// The document of one entity's records, on stdout.
void print_json(const Session& session, protocol::AccountingEntity entity,
                const protocol::QueryAccountingReply& reply);

}  // namespace sluice::cli::sacctmgr
