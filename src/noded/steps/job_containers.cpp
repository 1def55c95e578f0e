#include "noded/steps/job_containers.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/model/job_folders.hpp"
#include "common/protocol/container.hpp"

namespace sluice::noded {
namespace {

namespace fs = std::filesystem;

// This node's line; nullptr when its jobs share the node's folders.
const JobContainerLine* line_of(const ClusterConfig& config, const NodeConfig& self) {
  const std::string& type = config.job_container_type;
  if (!type.ends_with("/tmpfs") && !type.ends_with("/linux")) return nullptr;
  const JobContainerLine* general = nullptr;
  const JobContainerLine* own = nullptr;
  for (const JobContainerLine& line : config.job_containers) {
    if (line.nodes.empty()) general = &line;
    else if (std::ranges::find(line.nodes, self.name) != line.nodes.end()) own = &line;
  }
  const JobContainerLine* line = own != nullptr ? own : general;
  return line == nullptr || line->base_path.empty() || iequals(line->base_path, "none") ? nullptr
                                                                                        : line;
}

// A namespace is kept there, not the empty file that a reboot leaves.
bool keeps_namespace(const std::string& folder) {
  struct statfs about {};
  return ::statfs((folder + protocol::kNamespaceFile).c_str(), &about) == 0 &&
         about.f_type == NSFS_MAGIC;
}

}  // namespace

struct JobContainers::Container {
  enum class State { kMaking, kReady, kRemoving };
  JobId job = kNoJob;
  uint32_t uid = 0;
  std::string folder;
  State state = State::kMaking;
  bool over = false;  // while it is made: what was made so far goes
  std::vector<Ready> waiting;
  [[nodiscard]] std::string file() const { return folder + protocol::kNamespaceFile; }
  void answer(const Result<std::string>& result) {
    for (const Ready& ready : std::exchange(waiting, {})) ready(result);
  }
};

JobContainers::JobContainers(NodeState& node, ChildProcesses& children)
    : node_(node), children_(children) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  alive_ = ends[0];
  held_ = ends[1];
}

JobContainers::~JobContainers() {
  ::close(alive_);
  ::close(held_);
}

std::string JobContainers::base_path() const {
  const JobContainerLine* line = line_of(*node_.config, node_.self);
  return line == nullptr ? std::string() : node_path(line->base_path, node_.self);
}

void JobContainers::prepare(JobId job, uint32_t uid, Ready ready) {
  const auto known = containers_.find(job);
  if (known != containers_.end()) {
    if (known->second->state == Container::State::kReady) return ready(known->second->file());
    known->second->uid = uid;
    known->second->waiting.push_back(std::move(ready));  // also for a removal: a job may run again
    return;
  }
  const std::string base = base_path();
  if (base.empty()) return ready(std::string());
  auto container = std::make_shared<Container>();
  container->job = job;
  container->uid = uid;
  container->folder = fmt::format("{}/{}", base, job);
  container->waiting.push_back(std::move(ready));
  containers_[job] = container;
  make(container);
}

void JobContainers::make(const ContainerPtr& container) {
  container->state = Container::State::kMaking;
  const JobContainerLine* line = line_of(*node_.config, node_.self);
  if (line == nullptr) return made(container, 1);
  if (line->auto_base_path) {
    std::error_code ignored;
    fs::create_directories(fs::path(container->folder).parent_path(), ignored);
  }
  const auto& folders = line->folders;
  Environment env = daemon_environment(node_);
  env.set("SLURM_JOB_ID", std::to_string(container->job));
  env.set("SLURM_NS", container->file());
  env.set("SLURM_JOB_MOUNT_SRC", container->folder + protocol::kFoldersFolder);
  const auto pid = children_.spawn(
      {step_daemon(node_),
       {fmt::format("slurmstepd: [{}.namespace]", container->job), protocol::kMakeNamespaceMode,
        container->folder, std::to_string(container->uid),
        folders.empty() ? kUsualJobFolders : join(folders, ","),
        line->shared ? protocol::kSharedMounts : protocol::kPrivateMounts, line->init_script},
       env.entries(),
       {{alive_, protocol::kAgentDescriptor}}},
      [this, container](int status) { made(container, status); });
  if (!pid) made(container, 1);
}

void JobContainers::made(const ContainerPtr& container, int status) {
  if (std::exchange(container->over, false)) return clear(container);
  if (status == 0) {
    container->state = Container::State::kReady;
    return container->answer(container->file());
  }
  const std::string_view why = WIFEXITED(status)
                                   ? protocol::namespace_step_text(WEXITSTATUS(status))
                                   : "the program that makes it was killed";
  log::error("JobId={} gets no folders of its own in {}: {}", container->job, container->folder,
             why);
  container->state = Container::State::kRemoving;  // whoever is answered may end the job
  container->answer(failure(fmt::format("the job's own /tmp cannot be made: {}", why)));
  clear(container);
}

void JobContainers::remove(JobId job) {
  const auto known = containers_.find(job);
  if (known == containers_.end() || known->second->state == Container::State::kRemoving) return;
  const ContainerPtr container = known->second;
  const bool making = container->state == Container::State::kMaking;
  container->over = making;  // its maker would work in the folder that goes
  container->answer(failure("the job is over"));
  if (!making) clear(container);
}

void JobContainers::clear(const ContainerPtr& container) {
  container->state = Container::State::kRemoving;
  const auto pid = children_.spawn({step_daemon(node_),
                                    {fmt::format("slurmstepd: [{}.namespace]", container->job),
                                     protocol::kRemoveNamespaceMode, container->folder},
                                    daemon_environment(node_).entries(),
                                    {{alive_, protocol::kAgentDescriptor}}},
                                   [this, container](int status) { cleared(container, status); });
  if (!pid) cleared(container, 1);
}

void JobContainers::cleared(const ContainerPtr& container, int status) {
  if (status != 0) log::error("{} cannot be removed", container->folder);
  if (!container->waiting.empty()) return make(container);
  containers_.erase(container->job);
}

void JobContainers::adopt_all() {
  const std::string base = base_path();
  std::error_code error;
  if (base.empty()) return;
  for (const auto& entry : fs::directory_iterator(base, error)) {
    const auto job = to_number<JobId>(entry.path().filename().string());
    if (!job) continue;
    auto container = std::make_shared<Container>();
    container->job = *job;
    container->folder = entry.path();
    containers_[*job] = container;
    if (keeps_namespace(container->folder)) container->state = Container::State::kReady;
    else clear(container);
  }
}

std::vector<JobId> JobContainers::jobs() const {
  std::vector<JobId> ids;
  for (const auto& [job, container] : containers_) {
    if (container->state == Container::State::kReady) ids.push_back(job);
  }
  return ids;
}

}  // namespace sluice::noded
