// How srun follows a step: what its options and the configuration say of that, and where its tasks'
// streams go.
#pragma once

#include "cli/options/option_parser.hpp"
#include "cli/step/step_session.hpp"
#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"
#include "common/model/step.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli::srun {

[[nodiscard]] SessionOptions session_options(const StepSpec& spec, const SubmitSettings& settings,
                                             const ClusterConfig& config);

// Opens --input, --output and --error into `options`; they stay open. The error names the file.
[[nodiscard]] Status open_streams(const protocol::CreateStepReply& step, const StepSpec& spec,
                                  const Submission& given, const ClusterConfig& config,
                                  SessionOptions& options);

}  // namespace sluice::cli::srun
