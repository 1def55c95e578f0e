// scontrol's verbs on jobs: hold, uhold, release, requeue, requeuehold, suspend, resume, top,
// wait_job, notify, completing and write.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <set>
#include <thread>

#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "cli/step/job_watch.hpp"
#include "cli/format/shown_text.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/names/errors.hpp"
#include "common/format/job_values.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli::scontrol {
namespace {

using protocol::JobAction;

struct ActionRow {
  std::string_view verb;
  JobAction action;
  bool is_update;  // Slurm does these as updates, and its last line on failure says so
};
constexpr ActionRow kActions[] = {
    {"hold", JobAction::kHold, true},        {"holdu", JobAction::kUserHold, true},
    {"uhold", JobAction::kUserHold, true},   {"release", JobAction::kRelease, true},
    {"requeue", JobAction::kRequeue, false}, {"requeuehold", JobAction::kRequeueHold, false},
    {"suspend", JobAction::kSuspend, false}, {"resume", JobAction::kResume, false},
    {"top", JobAction::kTop, false},
};

const std::string kUpdateFailed = "slurm_suspend error:";

// What a record is a part of, and its own name among the parts; no whole: it is a job for itself.
struct Target {
  JobId whole = kNoJob;
  bool first = false;  // it stands for what has no record of its own, or leads the others
  std::string name;
  bool of_array = false;
  bool has_begun = false;  // a task of an array
};
Target target_of(const Job& job) {
  if (job.array != nullptr) {
    const ArrayInfo& array = *job.array;
    const std::string tasks = array.task == kNoTask ? fmt::format("[{}]", array.pending.to_text())
                                                    : std::to_string(array.task);
    return {array.array_job, array.task == kNoTask, fmt::format("{}_{}", array.array_job, tasks),
            true, job.state != JobState::kPending};
  }
  if (job.het != nullptr) {
    return {job.het->leader, job.het->offset == 0,
            fmt::format("{}+{}", job.het->leader, job.het->offset), false, false};
  }
  return {kNoJob, false, std::to_string(job.id), false, false};
}

// "requeue Incomplete 12": no job, but a wish that goes for all of them.
bool is_incomplete(const Words& words, const std::string& word) {
  return words[0].starts_with("requeue") && iequals(word, "Incomplete");
}

// What of `targets` runs or is suspended; what is not there at all stays, to be refused as such.
Words incomplete_ones(Session& session, const Words& targets) {
  Words out;
  for (const std::string& target : targets) {
    protocol::QueryJobsRequest request;
    request.ids.push_back(target);
    request.states = {JobState::kRunning, JobState::kSuspended};
    request.hidden_partitions = true;
    const Status status = session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
      for (const auto& record : chunk.jobs) out.push_back(target_of(record.job).name);
      return true;
    });
    if (!status) out.push_back(target);
  }
  return out;
}

// Jobs named on the command line: ids, or "jobname=NAME".
Words targets(Session& session, const Words& words, bool is_update) {
  Words out;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (is_incomplete(words, word)) continue;
    if (equals == std::string::npos || iequals(key, "job") || starts_with_i(key, "jobid")) {
      const std::string list = equals == std::string::npos ? word : word.substr(equals + 1);
      for (std::string& id : split_ids(list)) out.push_back(std::move(id));
      continue;
    }
    if (iequals(word, "state=SpecialExit")) continue;  // of requeue
    if (!iequals(key, "name") && !iequals(key, "jobname")) {
      session.fail("Invalid job id specified for job " + word);
      if (is_update) session.fail(kUpdateFailed + error_text(Error{ErrorCode::kInvalidJobId, {}}));
      continue;
    }
    // as in Slurm, a hold by name leaves tasks of an array alone that have begun
    const Tasks meant = words[0] == "release" || !is_update ? Tasks::kAll : Tasks::kWaiting;
    const auto named = jobs_named(session, word.substr(equals + 1), std::nullopt, meant);
    if (named) out.insert(out.end(), named->begin(), named->end());
  }
  return out;
}

bool special_exit(const Words& words) {
  for (const std::string& word : words) {
    if (starts_with_i(word, "state=") && iequals(word.substr(6), "SpecialExit")) return true;
  }
  return false;
}

}  // namespace

Words split_ids(const std::string& text) {
  Words out;
  int depth = 0;
  bool fresh = true;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      fresh = true;
      continue;
    }
    if (fresh) out.emplace_back();
    fresh = false;
    out.back() += c;
  }
  return out;
}

std::optional<Words> jobs_named(Session& session, const std::string& name,
                                std::optional<uint32_t> uid, Tasks meant) {
  protocol::QueryJobsRequest request;
  request.names.push_back(name);
  if (uid) request.uids.push_back(*uid);
  request.hidden_partitions = true;
  std::vector<Target> targets;
  const Status status = session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
    for (const auto& record : chunk.jobs) targets.push_back(target_of(record.job));
    return true;
  });
  if (!status) {
    session.fail("slurm_load_jobs error: " + error_text(status.error()));
    return std::nullopt;
  }
  const bool all = meant == Tasks::kAll;
  if (!all) std::erase_if(targets, [](const Target& one) { return one.has_begun; });
  std::set<JobId> wholes;
  for (const Target& target : targets) {
    if (target.first && (all || !target.of_array)) wholes.insert(target.whole);
  }
  Words out;
  for (const Target& target : targets) {
    if (!wholes.contains(target.whole)) out.push_back(target.name);
    else if (target.first) out.push_back(std::to_string(target.whole));
  }
  return out;
}

void refused(Session& session, const std::string& target, const std::string& why) {
  const size_t bar = target.find('_');
  if (bar == std::string::npos || split_ids(target).size() > 1)
    return session.fail(fmt::format("{} for job {}", why, target));
  std::string tasks = target.substr(bar + 1);
  if (tasks.starts_with('[') && tasks.ends_with(']')) tasks = tasks.substr(1, tasks.size() - 2);
  if (const auto set = IndexSet::parse(tasks)) tasks = set->to_text();
  session.fail(fmt::format("{}_{}: {}", target.substr(0, bar), tasks, why));
}

void change_jobs(Session& session, const Words& words) {
  const ActionRow* row = kActions;
  while (row->verb != words[0]) ++row;
  if (session.client() == nullptr) return;
  Words all = targets(session, words, row->is_update);
  const auto incomplete = [&](const std::string& word) { return is_incomplete(words, word); };
  if (std::ranges::any_of(words, incomplete)) all = incomplete_ones(session, all);
  // they go before others in their order: all are one request
  if (row->action == JobAction::kTop && all.size() > 1)
    all = {fmt::format("{}", fmt::join(all, ","))};
  for (const std::string& target : all) {
    protocol::JobActionRequest request;
    request.target = target;
    request.action = row->action;
    request.special_exit = special_exit(words);
    const auto reply = session.client()->call<protocol::CountReply>(request);
    if (!reply) {
      const std::string why = error_text(reply.error());
      refused(session, target, why);
      if (row->is_update && target.find('_') == std::string::npos)
        session.fail(kUpdateFailed + why);
      continue;
    }
    for (const std::string& error : reply->errors) session.fail(error);
  }
}

void wait_job(Session& session, const Words& words) {
  const auto id = to_number<uint32_t>(words[1]);
  if (!id || *id == 0) {
    std::fprintf(stderr, "Invalid job_id %s", words[1].c_str());
    session.exit_status = 1;
    return;
  }
  if (session.client() == nullptr) return;
  const auto say = [&](const char* before, const char* after) {
    session.fail(std::string("scontrol: ") + before + words[1] + after);
  };
  bool ready = false;
  bool over = false;
  protocol::WatchJobRequest request;
  request.job = *id;
  const auto watch = [&] {
    return session.client()->watch_job(request, [&](protocol::JobWatchUpdate&& update) {
      ready = update.ready;
      over = update.state != JobState::kRunning;
      return !ready && !over;
    });
  };
  Status status = watch();
  while (!status && !ends_watch(status.error().code)) {
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the controller is away: ask again
    status = watch();
  }
  if (!status) return say("Problem running job ", "");
  if (!ready || over) return say("Job ", " no longer running");
  if (!session.quiet)
    std::fprintf(stderr, "scontrol: Nodes are ready for job %s\n", words[1].c_str());
}

namespace {

// In Slurm's words, which are no other command's.
std::string why_not_notified(const Error& error) {
  if (error.code == ErrorCode::kJobPending) return "Requested operation is presently disabled";
  if (error.code == ErrorCode::kAccessDenied) return "Invalid user id";
  return error_text(error);
}

}  // namespace

void notify(Session& session, const Words& words) {
  if (words[1][0] < '0' || words[1][0] > '9') return session.fail("Invalid job_id " + words[1]);
  if (session.client() == nullptr) return;
  protocol::NotifyRequest request;
  request.target = words[1];
  for (size_t i = 2; i < words.size(); ++i) {
    request.message.append(i > 2 ? " " : "").append(words[i]);
  }
  const auto reply = session.client()->call<protocol::CountReply>(request);
  if (!reply) session.fail("job notify failure: " + why_not_notified(reply.error()));
}

void completing(Session& session, const Words&) {
  if (session.client() == nullptr) return;
  protocol::QueryJobsRequest request;
  request.flag_states = kJobCompleting;
  request.hidden_partitions = true;
  const Status status = session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
    const RenderContext context = session.context(chunk.now);
    for (const auto& record : chunk.jobs) {
      const JobView view{&record, kNoTask, {}};
      const Time end = record.job.end;
      std::printf("JobId=%u EndTime=%s CompletingTime=%s Nodes(COMPLETING)=%s\n", record.job.id,
                  format_time(end, context.time_form, chunk.now).c_str(),
                  format_span(chunk.now - end).c_str(), std::string(allocated_nodes(view)).c_str());
    }
    return true;
  });
  if (!status) session.fail("slurm_load_jobs error: " + error_text(status.error()));
}

void write(Session& session, const Words& words) {
  if (starts_with_i("config", words[1]) && words[1].size() > 1)
    return write_config_file(session, words);
  if (!starts_with_i("batch_script", words[1]) || words[1].size() < 2) {
    return session.fail("invalid write argument:" + words[1]);
  }
  if (words.size() < 3 || session.client() == nullptr) return;
  protocol::BatchScriptRequest request;
  // of a list the first one
  const std::string id = words[2].substr(0, words[2].find_first_not_of("0123456789_+"));
  // tasks and components have that of all
  request.job = to_number<uint32_t>(id.substr(0, id.find_first_of("_+"))).value_or(0);
  const auto reply = session.client()->call<protocol::BatchScriptReply>(request);
  const auto say = [&session, before = session.exit_status](const std::string& text) {
    session.fail(text);
    session.exit_status = before;  // as in Slurm, where this is no failure of the command
  };
  if (!reply) return say("job script retrieval failed: " + error_text(reply.error()));
  const std::string path = words.size() > 3 ? words[3] : "slurm-" + id + ".sh";
  if (path == "-") return print_text(reply->script, "\n\t");  // root sees others' scripts
  FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return say("failed to open file `" + path + "`: " + errno_text(errno));
  const bool written =
      std::fwrite(reply->script.data(), 1, reply->script.size(), out) == reply->script.size();
  if (std::fclose(out) != 0 || !written) return session.fail("failed to write file `" + path + "`");
  if (!session.quiet) {
    std::printf("batch script for job %s written to %s\n", id.c_str(), path.c_str());
  }
}

}  // namespace sluice::cli::scontrol
