// scrontab: a user's lines become jobs, those of the lines before go.
#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "common/base/text.hpp"
#include "common/syntax/cron_times.hpp"
#include "ctld/state/decide/ending.hpp"
#include "ctld/state/decide/job/job_checks.hpp"
#include "ctld/state/decide/job/submission_course.hpp"
#include "ctld/state/decide/verbs.hpp"

namespace sluice::state {
namespace {

// One that waits is over; one that runs is not queued again, as it is no longer in the crontab.
void retire(Draft& draft, JobId id, uint32_t by, Time now) {
  const Job* job = draft.state().jobs.find(id);
  if (job == nullptr || is_finished(*job) || job->spec->cron.empty()) return;
  if (job->state == JobState::kPending)
    end_pending_job(draft, id, {.state = JobState::kCancelled, .by = by}, now);
}

Status submit_line(Draft& draft, const ReplaceCrontab& command, JobSpec spec, Time now,
                   SubmissionCourse& course, CrontabReply& reply) {
  // nothing is read of what is too long
  if (Status ok = check_texts(spec); !ok) return ok;
  const auto times = parse_cron_times(spec.cron.view());
  if (!times) return tl::unexpected(times.error());
  if (!spec.array.empty()) return failure(ErrorCode::kInvalidArray);
  spec.begin = next_cron_time(*times, now);
  if (spec.begin == kNever) return failure("this time never comes");
  SubmitJob job{command.who, std::move(spec), command.groups};
  job.seen_by_site = command.seen_by_site;
  auto decision = decide_submission(draft.state(), job, now, course);
  if (!decision) return tl::unexpected(decision.error());
  const auto* submitted = std::get_if<JobSubmittedReply>(&decision->reply);
  for (Event& event : decision->events) {
    std::visit([&](auto& e) { draft.emit(std::move(e)); }, event);
  }
  if (submitted != nullptr) reply.jobs.push_back(submitted->job);
  return {};
}

// The text with a line disabled, and with it the #SCRON lines before it: they are that entry's, and
// would be the next one's.
std::string disabled_line(std::string_view before, uint32_t wanted) {
  constexpr std::string_view kMark = "#DISABLED: ";
  std::string text;
  std::vector<size_t> options;  // where they begin
  uint32_t number = 0;
  for (size_t from = 0; from < before.size();) {
    const size_t end = std::min(before.find('\n', from), before.size());
    const std::string_view line = before.substr(from, end - from);
    const std::string_view words = trim(line);
    const bool of_options = words.starts_with("#SCRON");
    if (++number == wanted) {
      for (auto at = options.rbegin(); at != options.rend(); ++at) text.insert(*at, kMark);
      text += kMark;
    }
    const bool of_variable =
        !words.empty() &&
        (words[0] == '_' || std::isalpha(static_cast<unsigned char>(words[0])) != 0);
    if (of_options) options.push_back(text.size());
    else if (!words.empty() && words[0] != '#' && !of_variable) options.clear();
    text.append(line).push_back('\n');
    from = end + 1;
  }
  return text;
}

}  // namespace

Result<Decision> decide_on(const ClusterState& state, const ReplaceCrontab& command, Time now) {
  if (!has_option(state.config->scron_parameters, "enable")) return failure(ErrorCode::kDisabled);
  Draft draft(state);
  if (const auto before = state.crontabs->find(command.who.uid); before != state.crontabs->end()) {
    for (const JobId job : before->second.jobs) retire(draft, job, command.who.uid, now);
  }
  CrontabReply reply;
  SubmissionCourse course;  // of all lines
  for (const JobSpec& spec : command.jobs) {
    if (Status ok = submit_line(draft, command, spec, now, course, reply); !ok) {
      reply.jobs.clear();
      reply.failed_line = spec.cron_line;
      reply.error = ok.error();
      return Decision{{}, std::move(reply), {}};  // all of it, or nothing
    }
  }
  const bool known = state.crontabs->contains(command.who.uid);
  if (known || !command.text.empty()) {
    draft.emit(CrontabReplaced{.crontab = {command.who.uid, command.text, reply.jobs}});
  }
  return draft.take(std::move(reply));
}

void disable_cron_line(Draft& draft, const Job& job) {
  const auto at = draft.state().crontabs->find(job.spec->uid);
  if (at == draft.state().crontabs->end()) return;
  Crontab crontab = at->second;
  if (std::erase(crontab.jobs, job.id) == 0) return;
  crontab.text = disabled_line(crontab.text, job.spec->cron_line);
  draft.emit(CrontabReplaced{.crontab = std::move(crontab)});
}

}  // namespace sluice::state
