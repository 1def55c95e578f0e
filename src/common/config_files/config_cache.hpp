// The folder in which an agent without slurm.conf keeps what the controller sent it:
// SlurmdSpoolDir/conf-cache.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/model/config_file.hpp"

namespace sluice {

// Makes `folder` hold these files and no other *.conf. Whoever reads meanwhile finds each file
// whole, old or new; slurm.conf is the last to change. Errors: kInvalidConfig for files that must
// not be written (check_config_files), kPathMissing.
[[nodiscard]] Status store_config_files(const std::string& folder,
                                        const std::vector<ConfigFile>& files);

// Makes `link` a symbolic link to `target`, in place of another link. Folders on the way are made.
// Errors: kPathMissing, also when something other than a link is there.
[[nodiscard]] Status set_link(const std::string& link, const std::string& target);

}  // namespace sluice
