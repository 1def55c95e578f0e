#include "ctld/agents/group_checks.hpp"

#include <algorithm>
#include <map>

#include "common/net/clock.hpp"
#include "ctld/state/access.hpp"

namespace sluice::ctld {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(500);

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> users_to_check(const state::ClusterState& state) {
  const auto asks = [](const state::Partition& partition) { return !partition.config->allow_groups.empty(); };
  if (std::ranges::none_of(*state.partitions, asks)) return {};
  std::map<uint32_t, uint32_t> users;
  state.pending.for_each([&](JobId id) {
    if (const Job* job = state.jobs.find(id)) users[job->spec->uid] = job->spec->gid;
  });
  return {users.begin(), users.end()};
}

GroupChecks::GroupChecks(engine::Engine& engine, const engine::Publisher& publisher, Users& users)
    : engine_(engine), publisher_(publisher), users_(users), thread_([this] { run(); }) {}

GroupChecks::~GroupChecks() { stop(); }

void GroupChecks::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void GroupChecks::run() {
  std::shared_ptr<const ClusterConfig> seen;
  SteadyTime last = net::steady_now();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const state::ClusterSnapshot state = publisher_.newest()->state;
    const Duration pause = state->config->group_update_time;
    const SteadyTime now = net::steady_now();
    if (state->config != seen || (pause > Duration(0) && now - last >= pause)) {
      seen = state->config;
      last = now;
      lock.unlock();  // name services may be slow, and stop() is not to wait for more than one answer
      state::UsersGroups found;
      for (const auto& [uid, gid] : users_to_check(*state)) {
        std::vector<std::string> groups = users_.find_again(uid, gid, net::now()).groups;
        if (state::new_groups(*state, uid, groups)) found.users.push_back({uid, std::move(groups)});
        const std::lock_guard stops(mutex_);
        if (stopping_) return;
      }
      if (!found.users.empty()) engine_.post({std::move(found), {}, {}});
      lock.lock();
    }
    wake_.wait_for(lock, kStep, [this] { return stopping_; });
  }
}

}  // namespace sluice::ctld
