// #PBS and #BSUB lines of batch scripts: what sbatch of Slurm 22.05 makes of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// An option of sbatch by its long name; no value: a flag.
struct PbsOption {
  std::string_view name;
  std::optional<std::string> value;

  bool operator==(const PbsOption&) const = default;
};

// What the words of one line stand for. Nothing when the line is wrong (said). What Slurm passes
// over is left out.
[[nodiscard]] std::optional<std::vector<PbsOption>> pbs_options(
    const std::vector<std::string>& words);

// The same of #BSUB lines (LSF): -c and -cwd, -e, -J, -m, -M, -n, -o, -q, -W, -x; others are wrong.
[[nodiscard]] std::optional<std::vector<PbsOption>> lsf_options(
    const std::vector<std::string>& words);

}  // namespace sluice::cli
