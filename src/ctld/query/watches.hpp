// Who waits for news of a job: srun, salloc and sbatch --wait, each with a stream of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "common/protocol/ctld.hpp"
#include "common/rpc/responder.hpp"
#include "ctld/state/core/cluster_state.hpp"

namespace sluice::ctld {

class Watches {
 public:
  // Also takes an update as bytes: of many watches of one job it is made once.
  class Writer : public net::StreamWriter<protocol::JobWatchUpdate> {
   public:
    Writer() = default;
    explicit Writer(const std::shared_ptr<net::StreamSink>& sink)
        : StreamWriter(sink), sink_(sink) {}
    void write_encoded(const std::string& update) const { sink_->write(update); }

   private:
    std::shared_ptr<net::StreamSink> sink_;
  };
  static constexpr size_t kMostOfUser = 16;  // watches that one user has open of one job

  // `gone(job)` is called when the last watch of a job with end_when_cancelled has broken off and
  // none came instead for half of `limit` (InactiveLimit; 0, for none: for a few seconds): a client
  // whose connection broke asks again. And, where there is a limit, when no such watch has come for
  // an attended job within it, from the start of the job or of this controller on: its client was
  // stopped or killed before it asked, or while no controller was there.
  Watches(std::function<void(JobId)> gone, std::function<Duration()> limit)
      : gone_(std::move(gone)), limit_(std::move(limit)) {}
  ~Watches() { close(); }

  using Newest = std::function<state::ClusterSnapshot()>;

  // Sends the job as it is in the newest published state, then each change. `newest` is asked once
  // the changes are sure to come: one in between would be lost. kAccessDenied, on which no client
  // asks again: `uid` has kMostOfUser of this job.
  void add(const protocol::WatchJobRequest& request, uint32_t uid, const Newest& newest,
           const Writer& writer);
  // The job changed, or there is something to tell its user; or it runs, and the controller is new.
  // `now` is published already.
  void notify(JobId job, const std::string& message, const state::ClusterSnapshot& now);
  // From here on a broken stream means that the controller goes, not the user.
  void close();

 private:
  struct Watch {
    uint64_t id;
    uint32_t uid;
    Writer writer;
    bool ends_job;
  };
  [[nodiscard]] std::vector<Watch> of(JobId job);
  // The number of the new watch; none: the user has too many.
  [[nodiscard]] std::optional<uint64_t> enter(const protocol::WatchJobRequest& request,
                                              uint32_t uid, const Writer& writer);
  void notify_array(const Job& task, const state::ClusterSnapshot& now);
  void tell(const std::vector<Watch>& watches, const Job& job, const Job& changed,
            const std::string& message,
            const state::ClusterSnapshot& now);                                       // order_ held
  [[nodiscard]] bool is_all_over(const state::ClusterSnapshot& now, const Job& job);  // order_ held
  void broken_off(JobId job);
  void expect_client(const Job& job);
  void never_came(JobId job);
  [[nodiscard]] bool has_client(JobId job) const;  // mutex_ held
  void drop(JobId job, uint64_t id);

  const std::function<void(JobId)> gone_;
  const std::function<Duration()> limit_;
  std::atomic<bool> closing_ = false;
  std::mutex order_;  // held while states are sent: none overtakes a newer one
  std::weak_ptr<const state::ClusterState> looked_at_;  // guarded by order_; by this state …
  // … these arrays are over, or not: tasks that end in one frame ask once
  std::unordered_map<JobId, bool> arrays_over_;
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::unordered_map<JobId, std::vector<Watch>> watches_;  // guarded by mutex_
  boost::asio::thread_pool timers_{1};
  // guarded by mutex_, with its timers
  std::unordered_map<JobId, std::unique_ptr<boost::asio::steady_timer>> expected_;
};

}  // namespace sluice::ctld
