#include "ctld/agents/group_checks.hpp"

#include <algorithm>
#include <map>

#include "common/config_files/check.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "ctld/state/rules/access.hpp"

namespace sluice::ctld {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(500);

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> users_to_check(const state::ClusterState& state) {
  const auto asks = [](const state::Partition& partition) {
    return !partition.config->allow_groups.empty();
  };
  if (std::ranges::none_of(*state.partitions, asks)) return {};
  std::map<uint32_t, uint32_t> users;
  state.pending.for_each([&](JobId id) {
    if (const Job* job = state.jobs.find(id)) users[job->spec->uid] = job->spec->gid;
  });
  return {users.begin(), users.end()};
}

GroupChecks::GroupChecks(engine::Engine& engine, const engine::Publisher& publisher, Users& users)
    : engine_(engine), publisher_(publisher), users_(users) {
  thread_.start([this] { run(); });
}

void GroupChecks::run() {
  std::shared_ptr<const ClusterConfig> seen;
  SteadyTime last = net::steady_now();
  do {
    const state::ClusterSnapshot state = publisher_.newest()->state;
    const Duration pause = state->config->group_update_time;
    const SteadyTime now = net::steady_now();
    if (state->config != seen) {
      for (const std::string& warning : unknown_groups(*state->config)) log::warning("{}", warning);
    }
    if (state->config != seen || (pause > Duration(0) && now - last >= pause)) {
      seen = state->config;
      last = now;
      check(*state);
    }
  } while (thread_.rest(kStep));
}

// Name services may be slow: stop() waits for no more than one answer.
void GroupChecks::check(const state::ClusterState& state) {
  state::UsersGroups found;
  for (const auto& [uid, gid] : users_to_check(state)) {
    std::vector<std::string> groups = users_.find_again(uid, gid, net::now()).groups;
    if (state::new_groups(state, uid, groups)) found.users.push_back({uid, std::move(groups)});
    if (thread_.is_stopped()) return;
  }
  if (!found.users.empty()) engine_.post({std::move(found), {}, {}});
}

}  // namespace sluice::ctld
