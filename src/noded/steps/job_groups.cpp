#include "noded/steps/job_groups.hpp"

#include <thread>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "common/base/contains.hpp"
#include "common/cgroup/setup.hpp"
#include "common/log/log.hpp"
#include "common/names/step_names.hpp"

namespace sluice::noded {
namespace {

constexpr auto kRetry = std::chrono::milliseconds(50);
constexpr auto kLongestFarewell = std::chrono::seconds(1);

bool same_use(const ClusterConfig& a, const ClusterConfig& b) {
  return a.cgroup == b.cgroup && a.proctrack_type == b.proctrack_type &&
         a.task_plugin == b.task_plugin && a.job_acct_gather_type == b.job_acct_gather_type;
}

}  // namespace

JobGroups::JobGroups(NodeState& node, std::function<bool(JobId)> in_use)
    : node_(node), in_use_(std::move(in_use)) {}

// After a change of the configuration that matters here the host is looked at again.
void JobGroups::refresh() {
  if (seen_ == node_.config) return;
  const auto before = std::exchange(seen_, node_.config);
  if (before != nullptr && same_use(*before, *seen_)) return;
  setup_ = {};
  if (cgroup::is_wanted(*seen_)) {
    std::string missing;
    auto setup = cgroup::prepare(*seen_, cgroup::root_name(node_.name, node_.spool_dir), missing);
    if (!setup) {
      log::error(
          "no control groups: {}; processes are found as descendants of their step daemon, "
          "and no limit on CPUs or memory is enforced",
          setup.error().text);
    } else {
      setup_ = std::move(*setup);
      log::info("control groups v{} in {}/{}", setup_.version, setup_.mountpoint, setup_.root);
      if (!missing.empty()) {
        log::error(
            "control groups: this host lacks the controllers {}; what they constrain is not "
            "enforced",
            missing);
      }
      if (cgroup::limits_memory(*seen_) && contains(setup_.controllers, cgroup::kMemory) &&
          !setup_.charges_daemons) {
        log::info(
            "what step daemons hold does not count as memory of their jobs: they could not be protected "
            "(no CAP_SYS_RESOURCE)");
      }
    }
  }
  tree_ = cgroup::Tree::open(setup_);
}

protocol::CgroupSetup JobGroups::setup_for(const protocol::StepLaunch& launch,
                                           uint32_t node_index) {
  refresh();
  protocol::CgroupSetup setup = setup_;
  if (setup.version == 0) return setup;
  const CgroupConfig& config = node_.config->cgroup;
  const uint64_t host = node_.real_hardware.real_memory_mib;
  const uint64_t step = step_memory_mib(launch, node_index);
  setup.job_memory = cgroup::memory_limit(config, job_memory_mib(launch, node_.name), host);
  setup.job_pids = config.max_pids;
  if (step != 0) setup.step_memory = cgroup::memory_limit(config, step, host);
  return setup;
}

std::string JobGroups::user_group(JobId job) const {
  if (tree_ == nullptr) return {};
  const std::string name = fmt::format("job_{}", job);
  for (const std::string& user : tree_->children("")) {
    for (const std::string& group : tree_->children(user)) {
      if (group == name) return user;
    }
  }
  return {};
}

std::vector<std::string> JobGroups::for_scripts(JobId job) {
  refresh();
  if (tree_ == nullptr) return {};
  const std::string user = user_group(job);
  const std::string group = fmt::format("{}/job_{}/scripts", user, job);
  const Status made = user.empty() ? failure("the job has none") : tree_->make(group);
  if (made) return tree_->entries(group);
  log::error("a prolog or epilog of JobId={} runs outside of its control group: {}", job,
             made.error().text);
  return {};
}

void JobGroups::remove_job(JobId job) {
  refresh();
  const std::string user = user_group(job);
  if (user.empty()) return;
  remove_soon(job, fmt::format("{}/job_{}", user, job),
              std::chrono::steady_clock::now() + node_.config->unkillable_step_timeout);
}

// Empty: there is none.
std::string JobGroups::step_group(const StepId& id) {
  refresh();
  const std::string user = user_group(id.job);
  if (user.empty()) return {};
  return fmt::format("{}/job_{}/step_{}", user, id.job, step_number_text(id.step));
}

void JobGroups::remove_step(const StepId& id) {
  const std::string group = step_group(id);
  if (group.empty()) return;
  tree_->kill(group);
  (void)tree_->remove(group);  // what has not ended yet goes with the job
}

void JobGroups::freeze_step(const StepId& id, bool frozen) {
  const std::string group = step_group(id);
  if (!group.empty()) tree_->freeze(group, frozen);
}

bool JobGroups::starved_daemon(JobId job) {
  refresh();
  const std::string user = user_group(job);
  return !user.empty() &&
         tree_->oom_kills(fmt::format("{}/job_{}/{}", user, job, cgroup::kDaemons)) > 0;
}

bool JobGroups::remove_now(const std::string& group) {
  tree_->kill(group);
  if (!tree_->remove(group)) return false;
  // the user's group, too, where it was the last
  const std::string user = group.substr(0, group.find('/'));
  if (tree_->children(user).empty()) (void)tree_->remove(user);
  return true;
}

void JobGroups::remove_soon(JobId job, const std::string& group,
                            std::chrono::steady_clock::time_point give_up) {
  if (tree_ == nullptr || in_use_(job) || remove_now(group)) return;
  if (std::chrono::steady_clock::now() > give_up) {
    return log::error("the control group {} cannot be removed", group);
  }
  auto timer = std::make_shared<boost::asio::steady_timer>(node_.io, kRetry);
  timer->async_wait([this, timer, job, group, give_up](const boost::system::error_code& error) {
    if (!error) remove_soon(job, group, give_up);
  });
}

void JobGroups::remove_unused() {
  refresh();
  if (tree_ == nullptr) return;
  for (const std::string& user : tree_->children("")) {
    for (const std::string& group : tree_->children(user)) {
      const auto job = cgroup::job_of_group(group);
      if (!job || in_use_(*job)) continue;
      log::info("what is left of JobId={} is removed", *job);
      remove_job(*job);
    }
  }
}

void JobGroups::leave() {
  if (tree_ == nullptr) return;
  const auto give_up = std::chrono::steady_clock::now() + kLongestFarewell;
  bool empty = true;
  for (const std::string& user : tree_->children("")) {
    for (const std::string& group : tree_->children(user)) {
      const auto job = cgroup::job_of_group(group);
      bool gone = false;
      while (job && !in_use_(*job)) {
        gone = remove_now(fmt::format("{}/{}", user, group));
        if (gone || std::chrono::steady_clock::now() > give_up) break;
        std::this_thread::sleep_for(kRetry);
      }
      empty = empty && gone;
    }
  }
  if (empty) (void)tree_->remove("");
}

}  // namespace sluice::noded
