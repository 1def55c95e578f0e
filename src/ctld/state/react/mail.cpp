#include "ctld/state/react/mail.hpp"

#include <algorithm>
#include <optional>

#include "ctld/state/core/exit_status.hpp"
#include "ctld/state/core/fold.hpp"
#include "ctld/state/rules/mail_types.hpp"

namespace sluice::state {
namespace {

bool wants(const Job& job, std::string_view type) { return wants_mail(*job.spec, type); }

// Without ARRAY_TASKS an array is one job: mail at its first start and its last end.
bool as_one_array(const Job& job) {
  return job.array != nullptr && job.array->task != kNoTask && !wants(job, "ARRAY_TASKS");
}

template <class Use>
void for_other_records(const ClusterState& state, const Job& job, Use use) {
  const ArrayTasks* tasks = state.arrays.find(job.array->array_job);
  if (tasks == nullptr) return;
  tasks->jobs.for_each([&](uint32_t id) {
    const Job* other = state.jobs.find(id);
    if (other != nullptr && id != job.id) use(*other);
  });
}
template <class Use>
void for_folded_tasks(const ClusterState& state, const Job& job, Use use) {
  const ArrayTasks* tasks = state.arrays.find(job.array->array_job);
  if (tasks == nullptr) return;
  tasks->folded.for_each([&](uint32_t id) { use(*state.folded.at(id).model); });
}

bool is_first_start(const ClusterState& state, const Job& job) {
  bool first = true;
  for_folded_tasks(state, job, [&](const Job&) { first = false; });
  for_other_records(state, job, [&](const Job& other) {
    const bool started = other.start != kNoTime && other.start <= job.start;
    if (started && (other.start < job.start || other.id < job.id)) first = false;
  });
  return first;
}

bool is_failure(JobState state) {
  return state != JobState::kCompleted && state != JobState::kCancelled;
}

// What the array as a whole came to, into `mail`: whether a task of it failed. Nothing while tasks
// of it wait or run. Which of them ended last is no matter of their end times, which are told by
// nodes: of tasks whose ends are told together each is the last one.
std::optional<bool> add_outcome(const ClusterState& state, const Job& job, SendMail& mail) {
  int32_t least = code_of(job.exit_status), most = least, signal = signal_of(job.exit_status);
  size_t failed = job.state == JobState::kCompleted ? 0 : 1, all = 1;
  bool last = true, any_failure = is_failure(job.state);
  const auto count = [&](const Job& other) {
    least = std::min(least, code_of(other.exit_status));
    most = std::max(most, code_of(other.exit_status));
    signal = std::max(signal, signal_of(other.exit_status));
    failed += other.state == JobState::kCompleted ? 0U : 1U;
    any_failure |= is_failure(other.state);
    ++all;
  };
  for_other_records(state, job, [&](const Job& other) {
    if (!is_terminal(other.state)) last = false;
    count(other);
  });
  if (!last) return std::nullopt;
  for_folded_tasks(state, job, count);
  const char* word = failed == 0 ? "COMPLETED" : failed == all ? "FAILED" : "Mixed";
  mail.outcome =
      std::string(word) + ", ExitCode [" + std::to_string(least) + "-" + std::to_string(most) + "]";
  mail.least_code = least;
  mail.most_code = most;
  mail.most_signal = signal;
  return any_failure;
}

}  // namespace

void mail_start(const ClusterState& state, const Job& job, Effects& effects) {
  if (!wants(job, "BEGIN")) return;
  const bool array = as_one_array(job);
  if (array && !is_first_start(state, job)) return;
  effects.emplace_back(SendMail{std::make_shared<Job>(job), MailKind::kBegin, array, {}});
}

void mail_end(const ClusterState& state, const std::shared_ptr<const Job>& record, bool requeued,
              Effects& effects) {
  const Job& job = *record;
  if (job.spec->mail_type.empty()) return;
  if (requeued) {
    if (wants(job, "REQUEUE"))
      effects.emplace_back(SendMail{record, MailKind::kRequeue, false, {}});
    return;
  }
  if (job.state == JobState::kTimeout && wants(job, "TIME_LIMIT")) {
    effects.emplace_back(SendMail{record, MailKind::kTimeLimit, false, {}});
  }
  const bool tells_failure = wants(job, "FAIL"), tells_end = wants(job, "END");
  if (!tells_failure && !tells_end) return;
  SendMail mail{record, MailKind::kEnd, as_one_array(job), {}};
  bool failed = is_failure(job.state);
  if (mail.whole_array) {
    const auto any_failure = add_outcome(state, job, mail);
    if (!any_failure) return;
    failed = *any_failure;
  } else {
    mail.least_code = code_of(job.exit_status);
    mail.most_code = std::max(mail.least_code, code_of(job.derived_exit_status));
    mail.most_signal = signal_of(job.exit_status);
  }
  if (failed && tells_failure) mail.kind = MailKind::kFail;
  else if (!tells_end) return;
  effects.emplace_back(std::move(mail));
}

void mail_limit(const Job& job, uint32_t percent, Effects& effects) {
  for (const LimitMail& mail : kLimitMails) {
    if (mail.percent == percent)
      effects.emplace_back(SendMail{std::make_shared<Job>(job), mail.kind, false, {}});
  }
}

void mail_invalid_dependency(const Job& job, Effects& effects) {
  if (!wants(job, "INVALID_DEPEND")) return;
  effects.emplace_back(
      SendMail{std::make_shared<Job>(job), MailKind::kInvalidDependency, false, {}});
}

}  // namespace sluice::state
