// `sluicedbd import`: an existing site moves in. Reads a database of Slurm 22.05's slurmdbd and
// puts what it has beside what is there: entities by name, jobs by number and time of submission.
// Run twice it changes nothing the second time; nothing is written to what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "dbd/entities/entities.hpp"
#include "dbd/store/database.hpp"

namespace sluice::dbd {

struct ImportCounts {
  uint64_t clusters = 0, accounts = 0, users = 0, associations = 0, qos = 0, wckeys = 0;
  uint64_t jobs = 0, steps = 0, events = 0, reservations = 0;
  uint64_t skipped = 0;  // jobs whose state or array tasks cannot be read
};

// Errors: a schema of another version, names table and column; whatever either database says.
[[nodiscard]] Result<ImportCounts> import_slurmdbd(Session& source, Database& target,
                                                   const SiteRules& rules, Time now);
[[nodiscard]] std::string counts_text(const ImportCounts& counts);

}  // namespace sluice::dbd
