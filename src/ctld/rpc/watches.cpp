#include "ctld/rpc/watches.hpp"

#include <algorithm>

#include <boost/asio/steady_timer.hpp>

#include "ctld/state/launch_message.hpp"

namespace sluice::ctld {
namespace {
// Within this a client that lives has asked again.
constexpr Duration kReconnectTime = std::chrono::seconds(5);
}  // namespace

// False when the watch is over: the job has ended, and the writer was told so.
bool Watches::send(const Writer& writer, const state::ClusterState& now, const Job& job, const std::string& message) {
  protocol::JobWatchUpdate update = state::make_watch_update(now, job);
  update.message = message;
  writer.write(update);
  if (!is_finished(job)) return true;
  writer.finish();
  return false;
}

void Watches::add(const protocol::WatchJobRequest& request, const Newest& newest, const Writer& writer) {
  const std::lock_guard order(order_);
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
    watches_[request.job].push_back({id, writer, request.end_when_cancelled});
  }
  writer.on_cancel([this, id, request] {
    drop(request.job, id);
    if (request.end_when_cancelled && !closing_) broken_off(request.job);
  });
  const state::ClusterSnapshot now = newest();
  const Job* job = now->jobs.find(request.job);
  if (job == nullptr) writer.finish(failure(ErrorCode::kInvalidJobId));
  if (job == nullptr || !send(writer, *now, *job, {})) drop(request.job, id);
}

void Watches::close() {
  closing_ = true;
  timers_.stop();
  timers_.join();
}

void Watches::broken_off(JobId job) {
  const Duration limit = patience_();
  auto timer = std::make_shared<boost::asio::steady_timer>(timers_, limit > Duration(0) ? limit : kReconnectTime);
  timer->async_wait([this, timer, job](const boost::system::error_code& error) {
    if (error || closing_) return;
    {
      const std::lock_guard lock(mutex_);
      const auto at = watches_.find(job);
      const bool back = at != watches_.end() && std::ranges::any_of(at->second, &Watch::ends_job);
      if (back) return;
    }
    gone_(job);
  });
}

void Watches::notify(JobId job_id, const std::string& message, const state::ClusterState& now) {
  const std::lock_guard order(order_);
  std::vector<Watch> found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = watches_.find(job_id);
    if (at == watches_.end()) return;
    found = at->second;
  }
  const Job* job = now.jobs.find(job_id);
  for (const Watch& watch : found) {
    if (job == nullptr) watch.writer.finish(failure(ErrorCode::kInvalidJobId));
    if (job == nullptr || !send(watch.writer, now, *job, message)) drop(job_id, watch.id);
  }
}

void Watches::drop(JobId job, uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto at = watches_.find(job);
  if (at == watches_.end()) return;
  std::erase_if(at->second, [id](const Watch& watch) { return watch.id == id; });
  if (at->second.empty()) watches_.erase(at);
}

}  // namespace sluice::ctld
