#include "stepd/step_group.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/group_files.hpp"
#include "common/cgroup/oom_log.hpp"

namespace sluice::stepd {
namespace {

constexpr int kTries = 3;
constexpr const char* kOwnOomScore = "/proc/self/oom_score_adj";
// Behind all tasks, unless the daemon holds nearly all that the job may. With -1000 the kernel
// would let it wait for ever where it alone is left.
constexpr int kLast = -999;

// The device files of this node's generic resources that are not the owner's. A file that several
// units share is his with any of them.
std::vector<cgroup::DeviceFile> other_devices(const std::vector<protocol::GresDevice>& all,
                                              bool protocol::GresDevice::*owned) {
  std::set<cgroup::DeviceFile> own, others;
  for (const protocol::GresDevice& device : all) {
    struct stat about {};
    if (device.file.empty() || ::stat(device.file.c_str(), &about) != 0) continue;
    if (!S_ISCHR(about.st_mode) && !S_ISBLK(about.st_mode)) continue;
    (device.*owned ? own : others)
        .insert({S_ISBLK(about.st_mode), major(about.st_rdev), minor(about.st_rdev)});
  }
  std::erase_if(others, [&](const cgroup::DeviceFile& file) { return own.contains(file); });
  return {others.begin(), others.end()};
}

}  // namespace

void StepGroup::name_groups(const protocol::StepdStart& start, const protocol::StepLaunch& launch) {
  job_ = cgroup::job_group(launch.uid, launch.key.id.job);
  step_ = cgroup::step_group(launch.uid, launch.key.id);
  daemons_ = cgroup::daemons_group(launch.uid, launch.key.id.job);
  charges_ = start.cgroup.charges_daemons;
  gathers_ = start.cgroup.gathers;
  most_pids_ = start.cgroup.job_pids;
  if (start.node_index < launch.layout.nodes.size())
    ranks_ = launch.layout.nodes[start.node_index].tasks;
}

Status StepGroup::make(const protocol::StepdStart& start, const protocol::StepLaunch& launch,
                       const GroupCpus& cpus) {
  tree_ = cgroup::Tree::open(start.cgroup);
  if (tree_ == nullptr) return {};
  name_groups(start, launch);
  Status made = make_all(start, launch, cpus);
  if (!made) tree_.reset();
  return made;
}

Status StepGroup::make_all(const protocol::StepdStart& start, const protocol::StepLaunch& launch,
                           const GroupCpus& cpus) {
  // from the top: a group begins with the CPUs of the one above, and may not have others
  const auto make_one = [this, &start](const std::string& name, const Bitmap& own_cpus,
                                       const protocol::MemoryLimit& memory,
                                       bool protocol::GresDevice::*owned) {
    Status ok = tree_->make(name);
    if (ok) ok = tree_->set_cpus(name, own_cpus);
    if (ok) ok = tree_->close_devices(name, other_devices(start.devices, owned));
    return ok ? tree_->set_memory(name, memory) : ok;
  };
  Status ok;
  // the agent may remove the groups above, which are empty, while they are made
  for (int tries = 0; tries < kTries; ++tries) {
    ok = make_one(job_, cpus.job, start.cgroup.job_memory, &protocol::GresDevice::of_job);
    if (ok) ok = tree_->set_pids(job_, start.cgroup.job_pids);
    if (ok) {
      // a batch script has all that its job has
      ok = make_one(
          step_, cpus.step, start.cgroup.step_memory,
          launch.step == nullptr ? &protocol::GresDevice::of_job : &protocol::GresDevice::of_step);
    }
    if (!ok) continue;
    refusals_before_ = tree_->fork_refusals(job_);
    return ok;
  }
  return ok;
}

std::string StepGroup::task(uint32_t local_task) const {
  return fmt::format("{}/task_{}", step_, local_task);
}

Result<std::vector<std::string>> StepGroup::add_task(uint32_t local_task) {
  if (!exists()) return std::vector<std::string>();
  if (auto ok = tree_->make(task(local_task)); !ok) return tl::unexpected<Error>(ok.error());
  return tree_->entries(task(local_task));
}

std::vector<pid_t> StepGroup::processes() const {
  return exists() ? tree_->processes(step_) : std::vector<pid_t>();
}

void StepGroup::kill() const {
  if (exists()) tree_->kill(step_);
}

void StepGroup::freeze(bool frozen) const {
  if (exists()) tree_->freeze(step_, frozen);
}

void StepGroup::remove() const {
  if (exists()) (void)tree_->remove(step_);
}

Status StepGroup::charge_daemon() {
  if (!exists() || !charges_) return {};
  const int score = to_number<int>(trim(read_file(kOwnOomScore).value_or(""))).value_or(0);
  if (auto ok = cgroup::write_group_file(kOwnOomScore, std::to_string(kLast)); !ok) return ok;
  oom_score_of_tasks_ = std::to_string(std::max(score, 0));
  if (auto ok = tree_->enter(daemons_); !ok) return ok;
  charged_ = true;
  return {};
}

Status StepGroup::release_daemon() {
  if (!std::exchange(charged_, false)) return {};
  return tree_->enter(cgroup::kDaemons);
}

std::vector<pid_t> StepGroup::processes_of(uint32_t local_task) const {
  return exists() ? tree_->processes(task(local_task)) : std::vector<pid_t>();
}

cgroup::GroupUsage StepGroup::usage_of(uint32_t local_task) const {
  return tree_->usage(task(local_task));
}

uint64_t StepGroup::oom_kills_of(uint32_t local_task) const {
  return exists() ? tree_->oom_kills(task(local_task)) : 0;
}

uint64_t StepGroup::oom_kills() const { return exists() ? tree_->oom_kills(step_) : 0; }

uint64_t StepGroup::fork_refusals() const {
  if (!exists()) return 0;
  const uint64_t refusals = tree_->fork_refusals(job_);
  // steps that ended took theirs along
  return refusals > refusals_before_ ? refusals - refusals_before_ : 0;
}

std::vector<std::string> StepGroup::oom_victims() const {
  if (!exists()) return {};
  const std::string group = tree_->kernel_name(step_);
  std::vector<std::string> texts;
  for (const cgroup::OomVictim& victim : cgroup::oom_victims(cgroup::read_oom_log(), group)) {
    const size_t at = victim.group.rfind("/task_");
    const auto local = at == std::string::npos
                           ? std::nullopt
                           : to_number<uint32_t>(std::string_view(victim.group).substr(at + 6));
    const std::string of =
        local && *local < ranks_.size() ? fmt::format(", task {}", ranks_[*local]) : "";
    texts.push_back(fmt::format("{} (pid {}{})", victim.name, victim.pid, of));
  }
  return texts;
}

}  // namespace sluice::stepd
