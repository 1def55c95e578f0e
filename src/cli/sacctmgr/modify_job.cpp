// sacctmgr modify job: comments, extra, wckey and derived exit code of jobs of the past.
#include <cstdio>

#include <fmt/format.h>

#include "cli/format/environment.hpp"
#include "cli/sacctmgr/session.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/accounting_jobs.hpp"

namespace sluice::cli::sacctmgr {
namespace {

using protocol::ChangeJobHistoryReply;
using protocol::ChangeJobHistoryRequest;

// "12", "12_3".
bool take_jobs(Session& session, const Option& option, protocol::QueryHistoryRequest& where) {
  for (const std::string& word : option.list()) {
    const size_t at = std::min(word.find('_'), word.size());
    protocol::HistoryJobName name;
    const auto job = to_number<JobId>(word.substr(0, at));
    const auto task = at < word.size() ? to_number<uint32_t>(word.substr(at + 1)) : kNoTask;
    if (!job || !task) {
      session.told = true;
      return session.fail("sacctmgr: fatal: Bad job/step specified: " + word);
    }
    name.job = *job;
    name.task = *task;
    where.jobs.push_back(name);
  }
  return true;
}

bool take_users(Session& session, const Option& option, protocol::QueryHistoryRequest& where) {
  for (const std::string& name : option.list()) {
    const auto uid = user_id(name);
    if (!uid) return session.complain("Invalid user id: " + name);
    where.uids.push_back(*uid);
  }
  return true;
}

bool take_moment(Session& session, const Option& option, Time& to) {
  const auto when = parse_time(option.value, current_time(), TimeBias::kPast);
  if (!when) return session.complain(fmt::format("Invalid time specification: {}", option.value));
  to = *when;
  return true;
}

bool take_where(Session& session, const Option& option, protocol::QueryHistoryRequest& where) {
  if (!option.has_value || option.change != protocol::SetChange::kReplace) return false;
  if (option.is("Clusters", 1)) return where.clusters = option.list(), true;
  if (option.is("JobIDs", 1)) return take_jobs(session, option, where);
  if (option.is("Users", 1)) return take_users(session, option, where);
  if (option.is("WCKeys", 1)) return where.wckeys = option.list(), true;
  if (option.is("StartTime", 1)) return take_moment(session, option, where.from);
  if (option.is("EndTime", 1)) return take_moment(session, option, where.until);
  return false;
}

bool take_what(Session& session, const Option& option, protocol::JobSettings& settings) {
  if (!option.has_value || option.change != protocol::SetChange::kReplace) return false;
  if (option.is("AdminComment", 12)) return settings.admin_comment = option.value, true;
  if (option.is("Comment", 7) || option.is("DerivedES", 9))
    return settings.comment = option.value, true;
  if (option.is("Extra", 5)) return settings.extra = option.value, true;
  if (option.is("NewWCKey", 1)) return settings.wckey = option.value, true;
  if (option.is("SystemComment", 13)) return settings.system_comment = option.value, true;
  if (!option.is("DerivedExitCode", 12)) return false;
  // what stands behind a colon is not looked at, as in Slurm
  const std::string_view value = option.value;
  settings.derived_exit_status = to_number<uint16_t>(value.substr(0, value.find(':')));
  if (settings.derived_exit_status) return true;
  session.complain(fmt::format("Invalid value for DerivedExitCode ({})", value));
  return session.fail(" You didn't give me anything to set");
}

// `any`: whether there is a condition.
bool read_words(Session& session, const Words& words, ChangeJobHistoryRequest& request, bool& any) {
  const auto take = [&](const std::string& word, const Option& option, bool setting) {
    session.told = false;
    any = any || !setting;
    if (setting)
      return take_what(session, option, request.settings) ||
             unknown_option(session, std::nullopt, word);
    return take_where(session, option, request.where) || unknown_condition(session, word);
  };
  if (!walk_words(words, take)) return false;
  if (request.settings == protocol::JobSettings{})
    return session.fail(" You didn't give me anything to set");
  return true;
}

}  // namespace

void modify_jobs(Session& session, const Words& words) {
  ChangeJobHistoryRequest request;
  bool any = false;
  if (!read_words(session, words, request, any)) return;
  if (session.readonly) return void(session.fail("Can't run this command in readonly mode."));
  const Client* client = session.open();
  if (client == nullptr) return;
  if (!any && !session.immediate) {
    std::printf(" You didn't set any conditions with 'WHERE'.\n");
    if (!confirmed(session, "Are you sure you want to continue?", "Aborted")) return;
  }
  if (request.where.clusters.empty()) request.where.clusters = {client->config().cluster_name};
  request.commit = session.immediate;
  const auto reply = session.ask<ChangeJobHistoryReply>(request);
  if (!reply) return;
  if (reply->jobs.empty()) {
    std::printf(" Nothing modified\n");
    session.exit_code = 1;
    return;
  }
  std::printf(" Modified jobs...\n");
  for (const protocol::ChangedJob& one : reply->jobs)
    std::printf("  %u submitted at %s\n", one.job, format_time(one.submit).c_str());
  if (session.immediate || !confirmed(session, kCommit)) return;
  request.commit = true;
  (void)session.ask<ChangeJobHistoryReply>(request);
}

}  // namespace sluice::cli::sacctmgr
