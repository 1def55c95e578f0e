// Folding ended array tasks, and making records of them again.
#include "ctld/state/core/fold.hpp"

#include <algorithm>
#include <unordered_map>

#include "ctld/state/core/deep_equal.hpp"
#include "ctld/state/core/exit_status.hpp"
#include "ctld/state/core/indexes.hpp"

namespace sluice::state {
namespace {

// More different records or allocations than this are not looked through: tasks then share less.
constexpr size_t kMostModels = 16;
constexpr size_t kMostAllocations = 4096;

bool same(const Job& a, const Job& b) {
  std::string path;
  return deep_equal(a, b, path);
}

size_t hash_of(const Allocation& allocation) {
  size_t hash = allocation.nodes.size();
  for (const NodeAllocation& part : allocation.nodes) {
    hash = hash * 1'000'003 + part.node;
    hash = hash * 1'000'003 + part.cores.find_first();
  }
  return hash;
}

// The record without what its task alone has.
Job make_model(const Job& job) {
  Job model = job;
  auto array = std::make_shared<ArrayInfo>(*job.array);
  array->task = kNoTask;
  model.array = std::move(array);
  model.id = kNoJob;
  model.allocation.reset();
  model.released.clear();
  model.start = model.end = model.kill_sent = model.preempted_at = kNoTime;
  return model;
}

CowPtr<Job> shared_model(FoldPool& pool, const Job& job) {
  Job model = make_model(job);
  for (const CowPtr<Job>& one : pool.models) {
    if (same(*one, model)) return one;
  }
  if (pool.models.size() == kMostModels) pool.models.erase(pool.models.begin());
  return pool.models.emplace_back(CowPtr<Job>::make(std::move(model)));
}

std::shared_ptr<const Allocation> shared_allocation(
    FoldPool& pool, const std::shared_ptr<const Allocation>& wanted) {
  if (wanted == nullptr) return nullptr;
  const size_t hash = hash_of(*wanted);
  std::string path;
  const auto [first, last] = pool.allocations.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (deep_equal(*at->second, *wanted, path)) return at->second;
  }
  if (pool.allocations.size() >= kMostAllocations) pool.allocations.clear();
  return pool.allocations.emplace(hash, wanted)->second;
}

void note_folded(ArrayTasks& tasks, const FoldedTask& task) {
  tasks.folded.insert(task.id);
  tasks.by_task.set(task.task, task.id);
  tasks.folded_bad += succeeded(*task.model) ? 0U : 1U;
  tasks.oldest_end = std::min(tasks.oldest_end, task.end);
  tasks.latest_start = std::max(tasks.latest_start, task.start);
}

void forget_folded(ArrayTasks& tasks, const FoldedTask& task) {
  tasks.folded.erase(task.id);
  tasks.by_task.erase(task.task, task.id);
  tasks.folded_bad -= succeeded(*task.model) ? 0U : 1U;
}

JobId array_of(const FoldedTask& task) { return task.model->array->array_job; }

}  // namespace

bool succeeded(const Job& job) {
  return job.state == JobState::kCompleted && signal_of(job.exit_status) == 0 &&
         code_of(job.exit_status) == 0;
}

bool may_fold(const Job& job) {
  if (job.array == nullptr || job.array->task == kNoTask || job.array->array_job == job.id)
    return false;
  if (!is_finished(job) || (job.kill_sent != kNoTime && job.kill_sent != job.end)) return false;
  if (job.preempted_at != (job.state == JobState::kPreempted ? job.end : kNoTime)) return false;
  const size_t nodes = job.allocation == nullptr ? 0 : job.allocation->nodes.size();
  return job.released.count() == nodes && (nodes > 0) == (job.kill_sent != kNoTime);
}

Job unfolded(const FoldedTask& task) {
  Job job = *task.model;
  auto array = std::make_shared<ArrayInfo>(*job.array);
  array->task = task.task;
  job.array = std::move(array);
  job.id = task.id;
  job.start = task.start;
  job.end = task.end;
  job.allocation = task.allocation;
  if (task.allocation != nullptr) {
    job.released = Bitmap::first(task.allocation->nodes.size());
    job.kill_sent = task.end;
  }
  if (job.state == JobState::kPreempted) job.preempted_at = task.end;
  return job;
}

FoundJob find_job(const ClusterState& state, JobId id) {
  if (const Job* job = state.jobs.find(id)) return FoundJob(job);
  const FoldedTask* task = state.folded.find(id);
  return task == nullptr ? FoundJob() : FoundJob(unfolded(*task));
}

JobId next_job(const ClusterState& state, JobId from) {
  return std::min(state.jobs.next_id(from), state.folded.next_id(from));
}

void fold_job(ClusterState& state, JobId id) {
  const Job* job = state.jobs.find(id);
  if (job == nullptr || !may_fold(*job)) return;
  ArrayTasks& tasks = state.arrays.edit(job->array->array_job);
  FoldPool& pool = tasks.pool.edit();
  FoldedTask task;
  task.model = shared_model(pool, *job);
  task.allocation = shared_allocation(pool, job->allocation);
  task.id = id;
  task.task = job->array->task;
  task.start = job->start;
  task.end = job->end;
  tasks.jobs.erase(id);
  note_folded(tasks, task);
  state.finished.erase(id);
  state.jobs.erase(id);
  state.folded.insert(id, std::move(task));
}

void unfold_job(ClusterState& state, JobId id) {
  const FoldedTask* task = state.folded.find(id);
  if (task == nullptr) return;
  Job job = unfolded(*task);
  ArrayTasks& tasks = state.arrays.edit(array_of(*task));
  forget_folded(tasks, *task);
  tasks.jobs.insert(id);
  tasks.by_task.set(job.array->task, id);
  state.folded.erase(id);
  state.finished.insert(id);
  state.jobs.insert(id, std::move(job));
}

void purge_folded(ClusterState& state, const IndexSet& jobs) {
  jobs.for_each([&](uint32_t id) {
    const FoldedTask* task = state.folded.find(id);
    SLUICE_CHECK(task != nullptr);
    const JobId array = array_of(*task);
    forget_folded(state.arrays.edit(array), *task);
    state.folded.erase(id);
    --state.job_count;
    forget_array_if_over(state, array);
  });
}

std::vector<FoldedImage> make_folded_images(const ClusterState& state) {
  std::vector<FoldedImage> images;
  std::unordered_map<const Job*, size_t> known;
  // of the model's allocations: one array has one pool
  std::unordered_map<const Allocation*, uint32_t> places;
  state.folded.for_each([&](const FoldedTask& task) {
    const auto [at, fresh] = known.try_emplace(task.model.get(), images.size());
    if (fresh) images.emplace_back().model = std::make_shared<const Job>(*task.model);
    FoldedImage& image = images[at->second];
    FoldedImage::Entry entry{
        .job = task.id, .task = task.task, .start = task.start, .run = task.end - task.start};
    if (task.allocation != nullptr) {
      uint32_t& place = places[task.allocation.get()];
      const bool here = place != 0 && place <= image.allocations.size() &&
                        image.allocations[place - 1] == task.allocation;
      if (!here) {
        image.allocations.push_back(task.allocation);
        place = static_cast<uint32_t>(image.allocations.size());
      }
      entry.allocation = place;
    }
    image.entries.push_back(entry);
  });
  return images;
}

void restore_folded(ClusterState& state, const std::vector<FoldedImage>& images) {
  for (const FoldedImage& image : images) {
    SLUICE_CHECK(image.model != nullptr && image.model->array != nullptr);
    const auto model = CowPtr<Job>::make(*image.model);
    for (const FoldedImage::Entry& entry : image.entries) {
      FoldedTask task{.model = model,
                      .allocation = {},
                      .id = entry.job,
                      .task = entry.task,
                      .start = entry.start,
                      .end = entry.start + entry.run};
      SLUICE_CHECK(entry.allocation <= image.allocations.size());
      if (entry.allocation != 0) task.allocation = image.allocations[entry.allocation - 1];
      state.folded.insert(entry.job, std::move(task));
    }
  }
}

void rebuild_folded(ClusterState& state) {
  state.folded.for_each([&](const FoldedTask& task) {
    note_folded(tasks_of_array(state, array_of(task), *task.model->spec), task);
    ++state.job_count;
  });
}

}  // namespace sluice::state
