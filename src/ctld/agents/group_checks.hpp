// GroupUpdateTime: looks up again in which groups the users of waiting jobs are, for partitions with AllowGroups. Also when the
// configuration was read.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "ctld/engine/engine.hpp"
#include "ctld/engine/publisher.hpp"
#include "ctld/rpc/users.hpp"

namespace sluice::ctld {

class GroupChecks {
 public:
  // All outlive this.
  GroupChecks(engine::Engine& engine, const engine::Publisher& publisher, Users& users);
  GroupChecks(const GroupChecks&) = delete;
  GroupChecks& operator=(const GroupChecks&) = delete;
  ~GroupChecks();  // stop()

  void stop();

 private:
  void run();

  engine::Engine& engine_;
  const engine::Publisher& publisher_;
  Users& users_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

// Uid and gid of each user whose groups matter: who has a job that waits, where a partition asks for groups.
[[nodiscard]] std::vector<std::pair<uint32_t, uint32_t>> users_to_check(const state::ClusterState& state);

}  // namespace sluice::ctld
