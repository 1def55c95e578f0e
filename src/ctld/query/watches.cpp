#include "ctld/query/watches.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/wire/codec.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/step/launch_message.hpp"

namespace sluice::ctld {
namespace {
// Within this a client that lives has asked again.
constexpr Duration kReconnectTime = std::chrono::seconds(5);

// Looks at each task that has a record.
bool are_all_over(const state::ClusterState& now, const state::ArrayTasks& tasks) {
  bool over = tasks.running == 0;
  if (over) tasks.jobs.for_each([&](uint32_t id) { over = over && is_finished(now.jobs.at(id)); });
  return over;
}

// How bad an end is, for sbatch --wait: by exit status, then by whether it failed without one.
std::pair<int32_t, bool> badness(const Job& task) {
  const bool never_ran = task.state == JobState::kCancelled && task.allocation == nullptr;
  return {task.exit_status, task.state != JobState::kCompleted && !never_ran};
}

// The task of the array that ended worst, its own record among them; a job that is no array is
// itself.
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

// What the watches of an array or a task are told at the end: tasks of one frame are told one by
// one, and all of them are over at the first; others ended before the watch began. The worst end is
// told once more, so that it is among those that were told.
std::string last_words(const state::ClusterState& now, const Job& job) {
  return job.array == nullptr ? std::string()
                              : wire::encode(state::make_watch_update(now, worst_ended(now, job)));
}

void end(const Watches::Writer& writer, const std::string& last) {
  if (!last.empty()) writer.write_encoded(last);
  writer.finish();
}

}  // namespace

// Who watches an array by its number hears of the end of each of its tasks, until all are over.
bool Watches::is_all_over(const state::ClusterSnapshot& now, const Job& job) {
  if (!is_finished(job)) return false;
  const bool array = job.array != nullptr && job.array->array_job == job.id;
  const state::ArrayTasks* tasks = array ? now->arrays.find(job.id) : nullptr;
  if (tasks == nullptr) return true;
  const bool is_same_state = !looked_at_.owner_before(now) && !now.owner_before(looked_at_);
  if (!is_same_state) arrays_over_.clear();
  looked_at_ = now;
  const auto [at, is_new] = arrays_over_.try_emplace(job.id);
  if (is_new) at->second = are_all_over(*now, *tasks);
  return at->second;
}

std::optional<uint64_t> Watches::enter(const protocol::WatchJobRequest& request, uint32_t uid,
                                       const Writer& writer) {
  const std::lock_guard lock(mutex_);
  std::vector<Watch>& watches = watches_[request.job];
  if (std::ranges::count(watches, uid, &Watch::uid) >= static_cast<ptrdiff_t>(kMostOfUser))
    return {};
  watches.push_back({next_id_, uid, writer, request.end_when_cancelled});
  if (request.end_when_cancelled) expected_.erase(request.job);
  return next_id_++;
}

void Watches::add(const protocol::WatchJobRequest& request, uint32_t uid, const Newest& newest,
                  const Writer& writer) {
  state::ClusterSnapshot now;
  state::FoundJob job;
  {
    const std::lock_guard order(order_);
    const std::optional<uint64_t> id = enter(request, uid, writer);
    if (!id)
      return writer.finish(failure(ErrorCode::kAccessDenied,
                                   fmt::format("{} watches of this job are open", kMostOfUser)));
    writer.on_cancel([this, id = *id, request] {
      drop(request.job, id);
      if (request.end_when_cancelled && !closing_) broken_off(request.job);
    });
    now = newest();
    job = state::find_job(*now, request.job);
    if (job) writer.write(state::make_watch_update(*now, *job));
    if (job && !is_all_over(now, *job)) return;
    drop(request.job, *id);
  }
  if (!job) return writer.finish(failure(ErrorCode::kInvalidJobId));
  // nothing comes after it: others need not wait while its tasks are looked through
  end(writer, last_words(*now, *job));
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
  auto timer = std::make_shared<boost::asio::steady_timer>(
      timers_, limit > Duration(0) ? limit / 2 : kReconnectTime);
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

void Watches::notify(JobId job_id, const std::string& message, const state::ClusterSnapshot& now) {
  const std::lock_guard order(order_);
  if (const Job* record = now->jobs.find(job_id)) expect_client(*record);
  {
    const std::lock_guard lock(mutex_);
    if (watches_.empty()) return;
  }
  const state::FoundJob job = state::find_job(*now, job_id);
  const bool task = job && job->array != nullptr && job->array->array_job != job_id;
  if (task && is_finished(*job)) notify_array(*job, now);
  const std::vector<Watch> watches = of(job_id);
  if (watches.empty()) return;
  if (job) return tell(watches, *job, *job, message, now);
  for (const Watch& watch : watches) {
    watch.writer.finish(failure(ErrorCode::kInvalidJobId));
    drop(job_id, watch.id);
  }
}

void Watches::notify_array(const Job& task, const state::ClusterSnapshot& now) {
  const std::vector<Watch> watches = of(task.array->array_job);
  if (watches.empty()) return;
  const state::FoundJob master = state::find_job(*now, task.array->array_job);
  if (master) tell(watches, *master, task, {}, now);
}

// All of them watch `job`; `changed` is the job, or a task of it. What they are told is the same,
// and made once.
void Watches::tell(const std::vector<Watch>& watches, const Job& job, const Job& changed,
                   const std::string& message, const state::ClusterSnapshot& now) {
  protocol::JobWatchUpdate update = state::make_watch_update(*now, changed);
  update.message = message;
  const std::string encoded = wire::encode(update);
  const bool over = is_all_over(now, job);
  const std::string last = over ? last_words(*now, job) : std::string();
  for (const Watch& watch : watches) {
    watch.writer.write_encoded(encoded);
    if (!over) continue;
    end(watch.writer, last);
    drop(job.id, watch.id);
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
