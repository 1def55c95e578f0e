// See environment.hpp.
#include "cli/format/environment.hpp"

#include <pwd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cli/shared/client.hpp"
#include "cli/shared/user_names.hpp"
#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/format/node_values.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/protocol/accounting_admin.hpp"

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

namespace {

// Those of the accounting daemon's database; nothing where there is none, or it does not answer.
std::optional<std::vector<std::string>> known_clusters(const ClusterConfig& config) {
  constexpr Duration kPatience = std::chrono::seconds(5);
  if (!has_accounting_daemon(config)) return std::nullopt;
  Result<Client> client = Client::open(config);
  if (!client) return std::nullopt;
  protocol::QueryAccountingRequest request;
  request.entity = protocol::AccountingEntity::kCluster;
  const auto reply = client->call<protocol::QueryAccountingReply>(request, kPatience);
  if (!reply) return std::nullopt;
  std::vector<std::string> names;
  for (const protocol::ClusterRecord& cluster : reply->clusters) names.push_back(cluster.name);
  return names;
}

}  // namespace

bool accept_cluster(const char* command, const std::string& clusters, const ClusterConfig& config) {
  const std::vector<std::string> names = split_list(clusters);
  const auto is_own = [&](const std::string& name) {
    return iequals(name, config.cluster_name) || iequals(name, "all");
  };
  const auto other = std::ranges::find_if_not(names, is_own);
  if (other == names.end()) return true;
  std::string unreached = *other;
  if (const auto known = known_clusters(config)) {
    unreached.clear();
    for (const std::string& name : names) {
      const bool is_known =
          std::ranges::any_of(*known, [&](const std::string& one) { return iequals(one, name); });
      if (is_own(name)) continue;
      if (is_known) unreached = name;
      else
        std::fprintf(stderr, "%s: error: No cluster '%s' known by database.\n", command,
                     name.c_str());
    }
    if (unreached.empty() && std::ranges::any_of(names, is_own)) return true;
    if (unreached.empty()) unreached = clusters;
  }
  // these messages, as in Slurm, name the option in any case
  const bool always = contains({"scancel", "sbatch", "srun", "salloc"}, std::string_view(command));
  const bool from_variable = environment("SLURM_CLUSTERS") == clusters && !always;
  std::fprintf(stderr,
               "%s: error: '%s' can't be reached now, or it is an invalid entry for %s.  "
               "Use 'sacctmgr list clusters' to see available clusters.\n",
               command, unreached.c_str(), from_variable ? "SLURM_CLUSTERS" : "--cluster");
  return false;
}

}  // namespace sluice::cli
