// GroupUpdateTime: looks up again in which groups the users of waiting jobs are, for partitions
// with AllowGroups. Also when the configuration was read.
#pragma once

#include <utility>
#include <vector>

#include "common/os/round_thread.hpp"
#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/query/users.hpp"

namespace sluice::ctld {

class GroupChecks {
 public:
  // All outlive this.
  GroupChecks(engine::Engine& engine, const engine::Publisher& publisher, Users& users);
  GroupChecks(const GroupChecks&) = delete;
  GroupChecks& operator=(const GroupChecks&) = delete;
  ~GroupChecks() = default;  // stop()

  void stop() { thread_.stop(); }

 private:
  void run();
  void check(const state::ClusterState& state);

  engine::Engine& engine_;
  const engine::Publisher& publisher_;
  Users& users_;
  RoundThread thread_;
};

// Uid and gid of each user whose groups matter: who has a job that waits, where a partition asks
// for groups.
[[nodiscard]] std::vector<std::pair<uint32_t, uint32_t>> users_to_check(
    const state::ClusterState& state);

}  // namespace sluice::ctld
