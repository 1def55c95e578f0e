// What -vv of sbatch, srun and salloc prints besides the options (OptionParser::print_defined()):
// lines "debug:  …".
#pragma once

#include <string_view>

#include "common/submit/submit_options.hpp"

namespace sluice::cli {

// `verbose`: how often -v was given.
void say_debug(std::string_view command, uint32_t verbose, std::string_view text);
// How it is proved who asks.
void say_plugins(std::string_view command, uint32_t verbose, const ClusterConfig& config);
// The limits, the nice value and the umask that go with the job.
void say_propagated(std::string_view command, const Submission& submission);

}  // namespace sluice::cli
