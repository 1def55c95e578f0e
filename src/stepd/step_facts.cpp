#include "stepd/step_facts.hpp"

#include <fmt/format.h>

#include "common/names/step_names.hpp"

namespace sluice::stepd {

std::string StepFacts::work_dir() const {
  return is_batch() ? launch.job_spec->work_dir.str() : launch.step->work_dir.str();
}

uint32_t StepFacts::umask() const {
  return is_batch() ? launch.job_spec->umask : launch.step->umask;
}

const std::vector<uint64_t>& StepFacts::sent_limits() const {
  return is_batch() ? launch.job_spec->limits : launch.step->limits;
}

bool StepFacts::appends_output() const {
  const OpenMode mode = is_batch() ? launch.job_spec->open_mode : launch.step->open_mode;
  return mode == OpenMode::kAppend || (mode == OpenMode::kDefault && start.append_output);
}

uint32_t StepFacts::num_tasks() const { return whole_layout(launch).num_tasks; }

std::string StepFacts::name() const {
  return is_batch() ? fmt::format("JOB {}", launch.key.id.job)
                    : "STEP " + step_id_text(launch.key.id);
}

bool StepFacts::forwards_x11() const {
  if (is_batch() || launch.step->io.port == 0) return false;
  const auto& hosts = launch.allocation_nodes;
  switch (launch.step->x11) {
    case X11Nodes::kAll: return true;
    case X11Nodes::kBatch: return !hosts.empty() && hosts.front().name == start.node_name;
    case X11Nodes::kFirst: return start.node_index == 0;
    case X11Nodes::kLast: return start.node_index + 1 == launch.layout.nodes.size();
    default: return false;
  }
}

bool StepFacts::ends_on_bad_exit() const {
  if (is_batch()) return false;
  const uint32_t said = launch.step->kill_on_bad_exit;
  return said == UINT32_MAX ? start.kill_on_bad_exit : said != 0;
}

bool StepFacts::ends_on_oom() const {
  for (const Toggle said : {is_batch() ? Toggle::kDefault : launch.step->oom_kill_step,
                            launch.job_spec->oom_kill_step}) {
    if (said != Toggle::kDefault) return said == Toggle::kYes;
  }
  return start.oom_kill_step;
}

bool StepFacts::waits_for_children() const { return !is_batch() && launch.step->wait_for_children; }

std::vector<std::string> StepFacts::task_epilogs() const {
  std::vector<std::string> epilogs;
  if (!start.task_epilog.empty()) epilogs.push_back(start.task_epilog);
  if (!is_batch() && !launch.step->task_epilog.empty())
    epilogs.push_back(launch.step->task_epilog.str());
  return epilogs;
}

}  // namespace sluice::stepd
