// See environment.hpp.
#include "cli/format/environment.hpp"

#include <pwd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/shared/user_names.hpp"
#include "common/base/text.hpp"
#include "common/format/node_values.hpp"

namespace sluice::cli {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

RenderContext render_context(const ClusterConfig& config, Time now, bool convert) {
  RenderContext context;
  context.now = now;
  context.time_form = environment("SLURM_TIME_FORMAT").value_or("");
  context.convert = convert;
  if (const auto length = environment("SLURM_BITSTR_LEN")) {
    context.bitstr_len = to_number<size_t>(*length).value_or(context.bitstr_len);
  }
  context.cluster = config.cluster_name;
  context.preempt_mode = preempt_mode_text(config.preempt_mode);
  context.accounting_tres = config.accounting_storage_tres;
  context.user_name = user_name;
  return context;
}

Time current_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

std::optional<uint32_t> user_id(const std::string& name_or_number) {
  if (const passwd* user = getpwnam(name_or_number.c_str())) return user->pw_uid;
  const auto number = to_number<uint32_t>(name_or_number);
  if (number && getpwuid(*number) != nullptr) return number;
  return std::nullopt;
}

bool accept_cluster(const char* command, const std::string& clusters, const ClusterConfig& config) {
  // scancel's message, as in Slurm, names the option in any case
  const bool from_variable =
      environment("SLURM_CLUSTERS") == clusters && std::string_view(command) != "scancel";
  for (const std::string& name : split_list(clusters)) {
    if (iequals(name, config.cluster_name) || iequals(name, "all")) continue;
    std::fprintf(stderr,
                 "%s: error: '%s' can't be reached now, or it is an invalid entry for %s.  "
                 "Use 'sacctmgr list clusters' to see available clusters.\n",
                 command, name.c_str(), from_variable ? "SLURM_CLUSTERS" : "--cluster");
    return false;
  }
  return true;
}

}  // namespace sluice::cli
