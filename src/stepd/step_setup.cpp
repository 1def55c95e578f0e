#include "stepd/step_setup.hpp"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "common/base/bounded.hpp"
#include "common/base/errno_text.hpp"
#include "stepd/binding/memory_bounds.hpp"
#include "stepd/process/deadline.hpp"
#include "stepd/process/mount_namespace.hpp"
#include "stepd/process/resource_limits.hpp"

namespace sluice::stepd {
namespace {

constexpr auto kTimeToTell = std::chrono::milliseconds(250);

}  // namespace

StepSetup::StepSetup(StepFacts& facts, StepClock& clock, Handlers handlers)
    : facts_(facts),
      handlers_(std::move(handlers)),
      input_{facts.start, facts.launch, facts.user},
      frequencies_(input_, handlers_.log),
      leave_alarm_(clock.make_alarm()) {}

void StepSetup::lock_memory() const {
  const protocol::MemoryLock lock = facts_.start.memory_lock;
  if (lock == protocol::MemoryLock::kNone) return;
  const int what = lock == protocol::MemoryLock::kAll ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT;
  if (::mlockall(what) == 0) return;
  handlers_.log(fmt::format("cannot lock the step daemon's memory: {}", errno_text(errno)));
}

Status StepSetup::find_user() {
  auto user = identity_of(facts_.launch);
  if (!user) return tl::unexpected<Error>(user.error());
  facts_.user = std::move(*user);
  return {};
}

Result<StepPlan> StepSetup::make_plan(UsageMeter& meter) {
  if (Status opened = open_session(); !opened) return tl::unexpected<Error>(opened.error());
  files_ = std::make_unique<OutputFiles>(facts_.user, facts_.appends_output(), facts_.umask(),
                                         facts_.work_dir());
  auto plan = plan_tasks();
  if (!plan) return plan;
  if (Status ok = make_groups(*plan, meter); !ok) return tl::unexpected<Error>(ok.error());
  return plan;
}

Status StepSetup::open_session() {
  if (!facts_.start.use_pam) return {};
  const Deadline deadline(facts_.start.unkillable_timeout, handlers_.pam_never_opened);
  auto session =
      PamSession::open(user_name_of(facts_.launch), facts_.launch.job_spec->submit_host.str());
  if (!session) return tl::unexpected<Error>(session.error());
  pam_ = std::move(*session);
  return {};
}

void StepSetup::close_session() {
  if (pam_ == nullptr) return;
  const Deadline deadline(facts_.start.unkillable_timeout, handlers_.pam_never_closed);
  pam_.reset();
}

// Files are opened where the job's processes would find them.
Result<StepPlan> StepSetup::plan_tasks() {
  const MountNamespaceScope scope(facts_.start.mount_namespace);
  if (scope.error() != 0) {
    return failure(
        fmt::format("cannot enter the job's mount namespace: {}", errno_text(scope.error())));
  }
  return facts_.is_batch() ? plan_batch(input_, *files_) : plan_step(input_, *files_);
}

Status StepSetup::make_groups(StepPlan& plan, UsageMeter& meter) {
  if (facts_.start.cgroup.version == 0) return {};
  Status made = group_.make(facts_.start, facts_.launch, group_cpus(input_));
  if (!made) return made;
  for (TaskPlan& task : plan.tasks) {
    auto files = group_.add_task(task.local);
    if (!files) return tl::unexpected<Error>(files.error());
    task.setup.groups = std::move(*files);
  }
  if (group_.exists() && group_.gathers())
    meter.use_groups([this](uint32_t local) { return group_.usage_of(local); });
  return {};
}

Status StepSetup::make_extern(UsageMeter& meter) {
  StepPlan nobody;
  if (Status ok = make_groups(nobody, meter); !ok) return ok;
  if (auto place = group_.add_task(0); !place) return tl::unexpected<Error>(place.error());
  meter.add_task(facts_.start.node_index, 0);
  meter.adopt_strangers();
  return {};
}

void StepSetup::settle(StepPlan& plan) {
  frequencies_.set_cpus();
  plan.message = frequencies_.set_gpus();
  charge_to_job(plan);
}

// Last, for CPUs may be fewer there, too.
void StepSetup::charge_to_job(StepPlan& plan) {
  if (Status ok = group_.charge_daemon(); !ok)
    handlers_.log("the step daemon's memory is not counted as its job's: " + ok.error().text);
  for (TaskPlan& task : plan.tasks) task.setup.oom_score = group_.oom_score_of_tasks();
}

// Limits are set before a task becomes its user, and root may raise hard ones: who submits asks for
// some, no more.
std::vector<uint64_t> StepSetup::limits_for(const std::vector<uint64_t>& wanted) const {
  std::vector<uint64_t> bounds = pam_ ? pam_->limits() : own_limits();
  if (!pam_) raise_core_limit(bounds);
  std::vector<uint64_t> limits = limits_within(wanted, bounds);
  const bool memory_counts = job_memory_mib(facts_.launch, facts_.start.node_name) != 0;
  if (memory_counts)
    set_resident_limit(limits, bounded_product(memory_kib(facts_.start, facts_.launch), 1024));
  return limits;
}

void StepSetup::leave_groups() {
  if (!group_.exists()) return;
  group_.remove();
  leave_alarm_->set(kTimeToTell, [this] {
    if (Status left = group_.release_daemon(); !left) handlers_.log(left.error().text);
  });
}

std::optional<TaskSetup> StepSetup::epilog_setup() {
  const auto null = files_->null_device();
  if (!null) return std::nullopt;
  TaskSetup setup;
  setup.std_in = setup.std_out = *null;
  setup.user = facts_.user;
  setup.work_dir = facts_.work_dir();
  setup.oom_score = group_.oom_score_of_tasks();
  setup.sent_limits = facts_.sent_limits();
  if (pam_) setup.limits = pam_->limits();
  setup.mount_namespace = facts_.start.mount_namespace;
  return setup;
}

}  // namespace sluice::stepd
