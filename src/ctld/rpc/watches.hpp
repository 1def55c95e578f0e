// Who waits for news of a job: srun, salloc and sbatch --wait, each with a stream of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/net/responder.hpp"
#include "common/protocol/ctld.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::ctld {

class Watches {
 public:
  using Writer = net::StreamWriter<protocol::JobWatchUpdate>;

  // `gone(job)` is called when a watch with end_when_cancelled breaks off.
  explicit Watches(std::function<void(JobId)> gone) : gone_(std::move(gone)) {}

  // Sends the job as it is now, then each change.
  void add(const protocol::WatchJobRequest& request, const state::ClusterState& now, Writer writer);
  // The job changed, or there is something to tell its user.
  void notify(JobId job, const std::string& message, const state::ClusterState& now);
  // From here on a broken stream means that the controller goes, not the user.
  void close() { closing_ = true; }

 private:
  struct Watch {
    uint64_t id;
    Writer writer;
  };
  void drop(JobId job, uint64_t id);
  static bool send(const Writer& writer, const state::ClusterState& now, const Job& job, const std::string& message);

  const std::function<void(JobId)> gone_;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::unordered_map<JobId, std::vector<Watch>> watches_;  // guarded by mutex_
};

}  // namespace sluice::ctld
