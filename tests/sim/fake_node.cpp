// The agent's side of launching, ending and reporting.
#include "fake_node.hpp"

#include <algorithm>

namespace sluice::sim {

bool FakeNode::launch(const StepKey& key, const FakeStep& step) {
  const RunKey run{key.id.job, key.restart};
  if (over_.contains(run) || !key_files_.insert(key).second) return false;
  prolog_.insert(run);
  running_[key] = step;
  if (early_.erase(key) > 0) end(key, 9);
  return true;
}

void FakeNode::fail_launch(const StepKey& key, bool blame_node) {
  if (over_.contains({key.id.job, key.restart}) || !key_files_.insert(key).second) return;
  protocol::StepEnded report;
  report.key = key;
  report.nodes = name_;
  report.failure = "launch failed";
  report.drain_node = blame_node;
  ended_[key] = report;
}

bool FakeNode::has_other_steps(const StepKey& key) const {
  return std::any_of(running_.begin(), running_.end(), [&](const auto& entry) {
    return entry.first.id.job == key.id.job && !(entry.first == key);
  });
}

bool FakeNode::runs_any_of(JobId job) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const auto& entry) { return entry.first.id.job == job; });
}

void FakeNode::end(const StepKey& key, int32_t status) {
  const auto at = running_.find(key);
  if (at == running_.end()) return;
  protocol::StepEnded report;
  report.key = key;
  report.nodes = name_;
  report.exit_status = status;
  const RunKey run{key.id.job, key.restart};
  // a batch script that leaves nothing behind is cleaned up in one go
  report.node_clean = at->second.batch && !has_other_steps(key);
  if (report.node_clean) {
    prolog_.erase(run);
    over_.insert(run);
  }
  ended_[key] = report;
  running_.erase(at);
}

void FakeNode::terminate(RunKey run, bool stuck) {
  over_.insert(run);
  std::vector<StepKey> steps;
  for (const auto& [key, step] : running_) {
    if (RunKey{key.id.job, key.restart} == run) steps.push_back(key);
  }
  for (const StepKey& key : steps) end(key, 15);
  prolog_.erase(run);
  cleaned_[run] = protocol::JobCleaned{run.first, run.second, name_, 0, stuck};
}

void FakeNode::pretend_terminated(RunKey run) {
  for (const auto& [key, step] : running_) {
    if (RunKey{key.id.job, key.restart} != run) continue;
    protocol::StepEnded& report = ended_[key];
    report.key = key;
    report.nodes = name_;
  }
  cleaned_[run] = protocol::JobCleaned{run.first, run.second, name_, 0, false};
}

void FakeNode::terminate_step(const StepKey& key) {
  if (!key_files_.contains(key)) early_.insert(key);
  end(key, 9);
}

void FakeNode::run_until(Time now) {
  std::vector<std::pair<StepKey, int32_t>> over;
  for (const auto& [key, step] : running_) {
    if (step.ends <= now) over.emplace_back(key, step.status);
  }
  for (const auto& [key, status] : over) end(key, status);
}

void FakeNode::reboot(bool keeps_spool) {
  ++boot;
  ++agent_starts;
  registered = kNever;
  early_.clear();
  running_.clear();
  if (!keeps_spool) {
    ended_.clear();
    key_files_.clear();
    over_.clear();
  }
  cleaned_.clear();
  prepared_.clear();
  prolog_.clear();
}

void FakeNode::remove_key_file(const StepKey& key) {
  if (!running_.contains(key) && !ended_.contains(key)) key_files_.erase(key);
}

void FakeNode::remove_run(RunKey run) {
  if (!cleaned_.contains(run)) over_.erase(run);
}

void FakeNode::obey(const std::vector<StepKey>& forget, const std::vector<JobId>& clean) {
  for (const StepKey& key : forget) {
    running_.erase(key);
    ended_.erase(key);
  }
  for (const JobId job : clean) {
    std::erase_if(running_, [&](const auto& entry) { return entry.first.id.job == job; });
    std::erase_if(prolog_, [&](const RunKey& run) { return run.first == job; });
  }
}

protocol::RegisterNodeRequest FakeNode::registration() const {
  protocol::RegisterNodeRequest request;
  request.name = name_;
  request.cluster_id = cluster_id;
  request.hardware.devices = {
      {.name = "gpu", .type = "a", .count = 2, .files = {"/dev/g0", "/dev/g1"}, .cores = "0-1"},
      {.name = "gpu", .type = "b", .count = 1, .files = {"/dev/g2"}},
      {.name = "fan", .count = 3},
      {.name = "shard", .count = 6}};
  request.hardware.boot_id = "boot" + std::to_string(boot);
  request.hardware.boot_time = booted;
  request.active_features = features;
  request.features_changed = features_changed;
  request.hardware.agent_start = from_seconds(static_cast<int64_t>(agent_starts));
  for (const auto& [key, step] : running_) request.running.push_back(key);
  for (const auto& [key, report] : ended_) request.ended.push_back(key);
  for (const RunKey& run : prolog_) request.jobs.push_back(run.first);
  return request;
}

std::vector<protocol::StepEnded> FakeNode::unacknowledged_ends() const {
  std::vector<protocol::StepEnded> reports;
  for (const auto& [key, report] : ended_) reports.push_back(report);
  return reports;
}

std::vector<protocol::JobCleaned> FakeNode::unacknowledged_cleans() const {
  std::vector<protocol::JobCleaned> reports;
  for (const auto& [run, report] : cleaned_) reports.push_back(report);
  return reports;
}

std::vector<RunKey> FakeNode::unacknowledged_prologs() const {
  return {prepared_.begin(), prepared_.end()};
}

}  // namespace sluice::sim
