// Arrays whose tasks tests start and end.
#pragma once

#include "common/names/errors.hpp"
#include "common/model/job_update.hpp"
#include "support/core_fixture.hpp"

namespace sluice::state {

using protocol::JobAction;

class ArrayTest : public CoreTest {
 protected:
  JobId submit_array(const std::string& tasks, const std::string& dependency = {}) {
    JobSpec spec = batch_spec();
    spec.array = tasks;
    spec.dependency = dependency;
    spec.script_blob = "script";
    return submit(std::move(spec));
  }
  // Starts so many of the array's next tasks in one plan, at most eight a node.
  Events start_tasks(JobId array, uint32_t count) {
    StartJobs command;
    IndexSet left = job(array).array->pending;
    for (uint32_t i = 0; i < count; ++i) {
      auto allocation = std::make_shared<Allocation>();
      NodeAllocation part{.node = i / 8, .cpus = 1, .memory_mib = 10};
      part.cores.set(i % 8);
      allocation->cpus = 1;
      allocation->node_list = state_.nodes.at(i / 8).name;
      allocation->nodes.push_back(std::move(part));
      command.starts.push_back({array, *left.pop_first(), "debug", std::move(allocation)});
    }
    auto decision = decide(state_, command, now_);
    EXPECT_TRUE(decision);
    EXPECT_TRUE(run(command));
    return decision->events;
  }
  void end_task(JobId array, uint32_t task, int32_t status = 0) {
    const FoundJob job = find_array_task(state_, array, task);
    ASSERT_TRUE(job);
    ASSERT_TRUE(end_step(job->id, kBatchStep, job->allocation->node_list, status, true));
  }
  void end_all(JobId array, uint32_t first, uint32_t last) {
    EndSteps command;
    for (uint32_t task = first; task <= last; ++task) {
      const FoundJob job = find_array_task(state_, array, task);
      protocol::StepEnded report;
      report.key = {{job->id, kBatchStep}, 0};
      report.nodes = job->allocation->node_list;
      report.node_clean = true;
      command.ended.push_back(report);
    }
    ASSERT_TRUE(run(command));
  }
  void tick(int seconds = 1) {
    now_ += std::chrono::seconds(seconds);
    ASSERT_TRUE(run(Tick{}));
  }
  std::vector<std::string> said(const Command& command) {
    const auto reply = run(command);
    if (!reply) return {error_text(reply.error())};
    return std::get<protocol::CountReply>(*reply).errors;
  }
  static std::string id_of(JobId id) { return std::to_string(id); }
};

}  // namespace sluice::state
