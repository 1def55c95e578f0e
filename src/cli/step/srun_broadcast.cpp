#include "cli/step/srun_broadcast.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/options/find_in_path.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/submit_env.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {

// A folder, or nothing that is a path, makes it a file named after the step: under a passing name
// until that has a number.
std::string ProgramBroadcast::destination(bool& unnamed, const std::string& folder) const {
  std::string wanted = *submission_.settings.broadcast;
  if (wanted.empty()) {
    wanted = option_value(client_.config().bcast_parameters, "DestDir").value_or("");
    if (!wanted.empty() && !wanted.ends_with('/')) wanted += '/';
  }
  unnamed = !wanted.starts_with('/') || wanted.ends_with('/');
  if (!unnamed) return wanted;
  const std::string where = wanted.starts_with('/') ? wanted : folder + "/";
  return fmt::format("{}.slurm_bcast_{:016x}", where, new_request_id());
}

std::optional<int> ProgramBroadcast::send(JobId job, StepSpec& step) {
  const SubmitSettings& settings = submission_.settings;
  if (!settings.broadcast || settings.multi_prog || step.arguments.empty()) return std::nullopt;
  const ClusterConfig& config = client_.config();
  const auto program = find_program(step.arguments[0].str(), step.work_dir.str());
  if (!program) {
    print_error("srun", fmt::format("fatal: Can not execute {}", step.arguments[0].view()));
    return error_exit();
  }
  BroadcastOptions what;
  what.command = "srun";
  what.source = *program;
  what.destination = destination(step.broadcast_unnamed, step.work_dir.str());
  what.per_node = step.broadcast_unnamed;
  what.force = what.preserve = true;
  what.verbose = settings.verbose;
  const auto usual = option_value(config.bcast_parameters, "Compression");
  if (settings.compress) what.compression = compression_of("srun", *settings.compress);
  else if (usual) what.compression = compression_of("srun", *usual);
  what.send_libraries =
      settings.send_libraries.value_or(has_option(config.bcast_parameters, "send_libs"));
  what.exclude = excluded_folders(settings.broadcast_exclude ? *settings.broadcast_exclude
                                                             : join(config.bcast_exclude, ","));
  step.broadcast = what.destination;
  step.broadcast_libraries = what.send_libraries;
  sent_.emplace(client_, std::move(what));
  const int status = sent_->send(job, protocol::kWholeJob, std::to_string(job));
  if (step.broadcast_unnamed) nodes_ = sent_->nodes();
  if (status == 0) return std::nullopt;
  keep(nullptr);
  print_error("srun",
              fmt::format("fatal: Failed to broadcast '{}'. Step launch aborted.", *program));
  return error_exit();
}

void ProgramBroadcast::keep(const StepLayout* layout) {
  if (!sent_) return;
  std::vector<std::string> rest;
  for (const std::string& name : nodes_) {
    const bool needed =
        layout != nullptr &&
        std::ranges::any_of(layout->nodes, [&](const StepNode& node) { return node.name == name; });
    if (!needed) rest.push_back(name);
  }
  sent_->remove(std::move(rest));
  sent_.reset();
}

}  // namespace sluice::cli
