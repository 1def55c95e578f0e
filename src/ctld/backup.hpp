// sluice backup and sluice restore: the controller's state as a copy that can be put back. What
// belongs together is the journal (with all scripts and environments) and the keys beside it, by
// which nodes know the controller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"

namespace sluice::ctld {

struct BackupContent {
  std::string cluster_id;
  size_t jobs = 0;
  JobId next_job_id = kNoJob;
};

// Copies the state in `folder` (StateSaveLocation), of a controller that may run and goes on
// writing meanwhile, to `target`: a new or empty folder, which is there whole or not at all. The
// copy is read before it counts.
[[nodiscard]] Result<BackupContent> back_up(const std::filesystem::path& folder,
                                            const std::filesystem::path& target);

struct Restored {
  BackupContent content;
  std::filesystem::path set_aside;  // where the journal is that was there; empty: none was
  // where the credential.key is that was there and was another one; empty: none was
  std::filesystem::path key_set_aside;
  size_t ended = 0;  // jobs of the backup that this journal saw end
};

// Is told, before anything is changed, of the jobs ("17", "6_1(17)") that run as far as the journal
// that is there knows, and that the backup does not have as running: they end when their nodes
// register. False: nothing is to be changed.
using MayRestore = std::function<bool(const std::vector<std::string>& lost)>;

// Puts such a copy into `folder`, whose controller must not run. What was there is renamed, and of
// that journal, as far as it can be read, no job id is given again, and what ended there does not
// run again. The files become `owner`'s
// where root calls. Errors: the copy is damaged or incomplete, a controller runs, the folder holds
// another cluster's state, `may` says no.
[[nodiscard]] Result<Restored> restore(const std::filesystem::path& backup,
                                       const std::filesystem::path& folder, uint32_t owner,
                                       const MayRestore& may = {});

}  // namespace sluice::ctld
