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

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "common/protocol/ctld.hpp"
#include "common/rpc/responder.hpp"
#include "ctld/state/cluster_state.hpp"

namespace sluice::ctld {

class Watches {
 public:
  using Writer = net::StreamWriter<protocol::JobWatchUpdate>;

  // `gone(job)` is called when the last watch of a job with end_when_cancelled has broken off and none came instead for
  // half of `limit` (InactiveLimit; 0, for none: for a few seconds): a client whose connection broke asks again. And,
  // where there is a limit, when no such watch has come for an attended job within it, from the start of the job or of
  // this controller on: its client was stopped or killed before it asked, or while no controller was there.
  Watches(std::function<void(JobId)> gone, std::function<Duration()> limit) : gone_(std::move(gone)), limit_(std::move(limit)) {}
  ~Watches() { close(); }

  using Newest = std::function<state::ClusterSnapshot()>;

  // Sends the job as it is in the newest published state, then each change. `newest` is asked once the
  // changes are sure to come: one in between would be lost.
  void add(const protocol::WatchJobRequest& request, const Newest& newest, const Writer& writer);
  // The job changed, or there is something to tell its user; or it runs, and the controller is new. `now` is published
  // already.
  void notify(JobId job, const std::string& message, const state::ClusterState& now);
  // From here on a broken stream means that the controller goes, not the user.
  void close();

 private:
  struct Watch {
    uint64_t id;
    Writer writer;
    bool ends_job;
  };
  [[nodiscard]] std::vector<Watch> of(JobId job);
  void notify_array(const Job& task, const state::ClusterState& now);
  void broken_off(JobId job);
  void expect_client(const Job& job);
  void never_came(JobId job);
  [[nodiscard]] bool has_client(JobId job) const;  // mutex_ held
  void drop(JobId job, uint64_t id);
  static bool send(const Writer& writer, const state::ClusterState& now, const Job& job, const std::string& message);

  const std::function<void(JobId)> gone_;
  const std::function<Duration()> limit_;
  std::atomic<bool> closing_ = false;
  std::mutex order_;  // held while states are sent: none overtakes a newer one
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::unordered_map<JobId, std::vector<Watch>> watches_;  // guarded by mutex_
  boost::asio::thread_pool timers_{1};
  std::unordered_map<JobId, std::unique_ptr<boost::asio::steady_timer>> expected_;  // guarded by mutex_, with its timers
};

}  // namespace sluice::ctld
