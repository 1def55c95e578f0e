// What the files that sbcast and srun --bcast send are called on the nodes.
#pragma once

#include <string>
#include <string_view>

#include "common/base/ids.hpp"

namespace sluice {

// Every node's own, where nodes may share the folder.
[[nodiscard]] std::string node_file_name(std::string_view path, std::string_view node);
// `slurm_bcast_JOB.STEP_NODE` in the folder of `path`: --bcast without a file's name.
[[nodiscard]] std::string step_file_name(std::string_view path, const StepId& step,
                                         std::string_view node);
// The folder of a program's shared objects.
[[nodiscard]] std::string libraries_folder(std::string_view path);
// LD_LIBRARY_PATH with that folder in front.
[[nodiscard]] std::string library_path(std::string_view path, std::string_view before);

}  // namespace sluice
