#include "ctld/rpc/watches.hpp"

#include <algorithm>
#include <utility>

#include "ctld/state/decide/ending.hpp"
#include "ctld/state/fold.hpp"
#include "ctld/state/launch_message.hpp"

namespace sluice::ctld {
namespace {
// Within this a client that lives has asked again.
constexpr Duration kReconnectTime = std::chrono::seconds(5);

// Who watches an array by its number hears of the end of each of its tasks, until all are over.
bool is_all_over(const state::ClusterState& now, const Job& job) {
  if (!is_finished(job)) return false;
  const bool array = job.array != nullptr && job.array->array_job == job.id;
  const state::ArrayTasks* tasks = array ? now.arrays.find(job.id) : nullptr;
  if (tasks == nullptr) return true;
  bool over = tasks->running == 0;
  if (over) tasks->jobs.for_each([&](uint32_t id) { over = over && is_finished(now.jobs.at(id)); });
  return over;
}

// How bad an end is, for sbatch --wait: by exit status, then by whether it failed without one.
std::pair<int32_t, bool> badness(const Job& task) {
  const bool never_ran = task.state == JobState::kCancelled && task.allocation == nullptr;
  return {task.exit_status, task.state != JobState::kCompleted && !never_ran};
}

// The task of the array that ended worst, its own record among them; a job that is no array is itself.
Job worst_ended(const state::ClusterState& now, const Job& master) {
  Job worst = master;
  const state::ArrayTasks* tasks = master.array == nullptr ? nullptr : now.arrays.find(master.id);
  if (tasks == nullptr) return worst;
  const auto look = [&](uint32_t id) {
    const state::FoundJob task = state::find_job(now, id);
    if (badness(*task) > badness(worst)) worst = *task;
  };
  tasks->jobs.for_each(look);
  tasks->folded.for_each(look);
  return worst;
}

// Ends the watch of a job that is over. Tasks of one frame are told one by one, and all of them are over at the first;
// others ended before the watch began: the worst end is told once more, so that it is among those that were told.
bool end_if_over(const Watches::Writer& writer, const state::ClusterState& now, const Job& job) {
  if (!is_all_over(now, job)) return false;
  if (job.array != nullptr) writer.write(state::make_watch_update(now, worst_ended(now, job)));
  writer.finish();
  return true;
}

}  // namespace

// False when the watch is over: the job has ended, and the writer was told so.
bool Watches::send(const Writer& writer, const state::ClusterState& now, const Job& job, const std::string& message) {
  protocol::JobWatchUpdate update = state::make_watch_update(now, job);
  update.message = message;
  writer.write(update);
  return !end_if_over(writer, now, job);
}

void Watches::add(const protocol::WatchJobRequest& request, const Newest& newest, const Writer& writer) {
  const std::lock_guard order(order_);
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
    watches_[request.job].push_back({id, writer, request.end_when_cancelled});
    if (request.end_when_cancelled) expected_.erase(request.job);
  }
  writer.on_cancel([this, id, request] {
    drop(request.job, id);
    if (request.end_when_cancelled && !closing_) broken_off(request.job);
  });
  const state::ClusterSnapshot now = newest();
  const state::FoundJob job = state::find_job(*now, request.job);
  if (!job) writer.finish(failure(ErrorCode::kInvalidJobId));
  if (!job || !send(writer, *now, *job, {})) drop(request.job, id);
}

void Watches::close() {
  closing_ = true;
  timers_.stop();
  timers_.join();
  const std::lock_guard lock(mutex_);
  expected_.clear();
}

bool Watches::has_client(JobId job) const {
  const auto at = watches_.find(job);
  return at != watches_.end() && std::ranges::any_of(at->second, &Watch::ends_job);
}

// The client of a job that runs may not have asked yet.
void Watches::expect_client(const Job& job) {
  if (!job.spec->attended || !state::is_running(job)) return;
  const Duration limit = limit_();
  if (limit <= Duration(0)) return;
  const std::lock_guard lock(mutex_);
  if (closing_ || has_client(job.id) || expected_.contains(job.id)) return;
  auto timer = std::make_unique<boost::asio::steady_timer>(timers_, limit);
  timer->async_wait([this, id = job.id](const boost::system::error_code& cancelled) {
    if (!cancelled) never_came(id);
  });
  expected_[job.id] = std::move(timer);
}

void Watches::never_came(JobId job) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_ || expected_.erase(job) == 0) return;  // it came at the last moment
  }
  if (limit_() > Duration(0)) gone_(job);  // else the limit was taken away meanwhile
}

void Watches::broken_off(JobId job) {
  const Duration limit = limit_();
  auto timer = std::make_shared<boost::asio::steady_timer>(timers_, limit > Duration(0) ? limit / 2 : kReconnectTime);
  timer->async_wait([this, timer, job](const boost::system::error_code& error) {
    if (error || closing_) return;
    {
      const std::lock_guard lock(mutex_);
      if (has_client(job)) return;
    }
    gone_(job);
  });
}

std::vector<Watches::Watch> Watches::of(JobId job) {
  const std::lock_guard lock(mutex_);
  const auto at = watches_.find(job);
  return at == watches_.end() ? std::vector<Watch>() : at->second;
}

void Watches::notify(JobId job_id, const std::string& message, const state::ClusterState& now) {
  const std::lock_guard order(order_);
  if (const Job* record = now.jobs.find(job_id)) expect_client(*record);
  {
    const std::lock_guard lock(mutex_);
    if (watches_.empty()) return;
  }
  const state::FoundJob job = state::find_job(now, job_id);
  const bool task = job && job->array != nullptr && job->array->array_job != job_id;
  if (task && is_finished(*job)) notify_array(*job, now);
  for (const Watch& watch : of(job_id)) {
    if (!job) watch.writer.finish(failure(ErrorCode::kInvalidJobId));
    if (!job || !send(watch.writer, now, *job, message)) drop(job_id, watch.id);
  }
}

void Watches::notify_array(const Job& task, const state::ClusterState& now) {
  const JobId array = task.array->array_job;
  const std::vector<Watch> watches = of(array);
  if (watches.empty()) return;
  const state::FoundJob master = state::find_job(now, array);
  for (const Watch& watch : watches) {
    watch.writer.write(state::make_watch_update(now, task));
    if (master && end_if_over(watch.writer, now, *master)) drop(array, watch.id);
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
