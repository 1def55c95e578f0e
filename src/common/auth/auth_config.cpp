#include "common/auth/auth_config.hpp"

#include <algorithm>
#include <cstdlib>

#include "common/auth/auth_munge.hpp"
#include "common/base/text.hpp"

namespace sluice::net {
namespace {

constexpr int64_t kLongestLifetime = 3600;  // seconds; munged's limit, too

}  // namespace

std::vector<std::string> auth_warnings(const ClusterConfig& config) {
  if (config.auth_type != "auth/munge") return {};
  const Status answers = munged_answers(auth_options(config).munge_socket);
  if (answers) return {};
  return {"AuthType=auth/munge: " + answers.error().text};
}

AuthOptions auth_options(const ClusterConfig& config) {
  AuthOptions options;
  options.type = config.auth_type;
  options.cluster = config.cluster_name;
  options.slurm_user = config.slurm_user_id;
  const std::string socket = option_value(split_list(config.auth_info), "socket").value_or("");
  if (config.auth_type == "auth/munge") {
    options.munge_socket = socket;
  } else {
    options.token_socket = socket.empty() ? "/run/slurm/sack.socket" : socket;
  }
  const auto ttl =
      to_number<int64_t>(option_value(split_list(config.auth_info), "ttl").value_or(""));
  options.lifetime =
      std::chrono::seconds(std::clamp<int64_t>(ttl.value_or(0), 0, kLongestLifetime));
  options.key_file = key_file_for(config.config_path);
  return options;
}

std::string key_file_for(const std::string& config_path) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment of these programs
  const char* named = std::getenv("SLURM_SACK_KEY");
  if (named != nullptr && *named != '\0') return named;
  const size_t slash = config_path.rfind('/');
  return (slash == std::string::npos ? "." : config_path.substr(0, slash)) + "/slurm.key";
}

JwtSettings jwt_settings(const ClusterConfig& config) {
  const std::vector<std::string> types = split_list(config.auth_alt_types);
  if (std::ranges::find(types, "auth/jwt") == types.end()) return {};
  const auto key = option_value(split_list(config.auth_alt_parameters), "jwt_key");
  return {key.value_or(config.state_save_location + "/jwt_hs256.key"), config.slurm_user_id};
}

}  // namespace sluice::net
