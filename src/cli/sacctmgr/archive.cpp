// sacctmgr archive dump, archive load.
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/sacctmgr/session.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/accounting_archive.hpp"

namespace sluice::cli::sacctmgr {
namespace {

using protocol::ArchivedKind;
using protocol::ArchiveRule;
using protocol::DumpArchiveReply;
using protocol::DumpArchiveRequest;
using protocol::LoadArchiveReply;
using protocol::LoadArchiveRequest;

constexpr Duration kLongest = std::chrono::hours(2);  // of a purge, or of a script

struct Kind {
  ArchivedKind kind;
  const char* archive;
  const char* purge;
  size_t least_purge;  // letters of `purge` that tell it from the others
};
constexpr Kind kKinds[] = {
    {ArchivedKind::kEvents, "Events", "PurgeEventAfter", 6},
    {ArchivedKind::kJobs, "Jobs", "PurgeJobAfter", 6},
    {ArchivedKind::kReservations, "Reservations", "PurgeResvAfter", 6},
    {ArchivedKind::kSteps, "Steps", "PurgeStepAfter", 7},
    {ArchivedKind::kSuspensions, "Suspend", "PurgeSuspendAfter", 7},
    {ArchivedKind::kTransactions, "TXN", "PurgeTXNAfter", 6},
    {ArchivedKind::kUsage, "Usage", "PurgeUsageAfter", 6},
    {ArchivedKind::kJobScripts, "JobScript", "PurgeJobScriptAfter", 9},
    {ArchivedKind::kJobEnvironments, "JobEnv", "PurgeJobEnvAfter", 9},
};

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

ArchiveRule& rule_of(DumpArchiveRequest& request, ArchivedKind kind) {
  for (ArchiveRule& rule : request.rules)
    if (rule.kind == kind) return rule;
  request.rules.push_back({kind, false, {}});
  return request.rules.back();
}

bool take_age(Session& session, const std::string& text, std::string& out) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = to_lower(text.substr(digits));
  if (to_number<uint32_t>(text.substr(0, digits)).value_or(0) == 0)
    return session.fail(fmt::format("sacctmgr: error: Invalid purge string '{}'", text));
  for (const char* known : {"", "hour", "hours", "day", "days", "month", "months"})
    if (unit == known) return out = text, true;
  return session.fail(
      fmt::format("sacctmgr: error: Invalid purge unit '{}', valid options are hours, days, or "
                  "months",
                  text.substr(digits)));
}

// Asked of this host, as Slurm does: mostly it is the daemon's.
bool take_place(Session& session, const Option& option, bool folder, std::string& out) {
  struct stat found {};
  if (::stat(option.value.c_str(), &found) != 0)
    return session.fail(
        fmt::format(" dump: Failed to stat {}: {}\n Note: For archive dump, the "
                    "{} must be on the calling host.",
                    option.value, errno_text(errno), folder ? "directory" : "script"));
  if (folder && !S_ISDIR(found.st_mode))
    return session.fail(fmt::format(" dump: archive dir {} isn't a directory", option.value));
  if (!folder && !S_ISREG(found.st_mode))
    return session.fail(fmt::format(" dump: archive script {} isn't a regular file", option.value));
  out = absolute(option.value);
  return true;
}

bool take_dump_word(Session& session, const std::string& word, DumpArchiveRequest& request) {
  const Option option = split_option(word);
  if (option.has_value && option.is("Directory", 1))
    return take_place(session, option, true, request.folder);
  if (option.has_value && option.is("Script", 2))
    return take_place(session, option, false, request.script);
  for (const Kind& kind : kKinds) {
    if (option.has_value && option.is(kind.purge, kind.least_purge))
      return take_age(session, option.value, rule_of(request, kind.kind).purge);
    // "St", "Su"
    if (!option.has_value && option.is(kind.archive, kind.archive[0] == 'S' ? 2 : 1))
      return rule_of(request, kind.kind).archive = true;
  }
  return session.fail(" Unknown condition: " + word);
}

void tell_success(const Session& session, const char* what) {
  if (!session.quiet)
    std::fprintf(stderr, "sacctmgr: accounting_storage/slurmdbd: %s: SUCCESS\n", what);
}

// The answer, or nothing, which was told.
template <class Reply, class Request>
std::optional<Reply> ask(Session& session, const Request& request, const char* doing) {
  Client* client = session.open();
  if (client == nullptr) return std::nullopt;
  Result<Reply> reply = client->call<Reply>(request, kLongest);
  if (reply) return std::move(*reply);
  const Error& error = reply.error();
  if (error.code == ErrorCode::kUnreachable) {
    session.tell(error);
    return std::nullopt;
  }
  const bool no_file = error.code == ErrorCode::kNotFound;
  if (error.code == ErrorCode::kAccessDenied && !error.text.empty())
    session.fail("sacctmgr: error: " + error.text);
  const bool bare = no_file || error.code == ErrorCode::kAccessDenied;
  session.fail(
      fmt::format(" Problem {}: {}", doing, error_text(bare ? Error{error.code, {}} : error)));
  if (no_file)
    session.fail(" Note: For archive load, the file must be accessible on the slurmdbd host.");
  return std::nullopt;
}

void archive_dump(Session& session, const Words& words) {
  DumpArchiveRequest request;
  for (size_t i = 1; i < words.size(); ++i) {
    if (iequals(words[i], "where") || iequals(words[i], "set") || words[i].empty()) continue;
    if (!take_dump_word(session, words[i], request)) return;
  }
  if (!session.immediate) {
    std::printf(
        "This may result in loss of accounting database records (if Purge* options enabled).\n");
    if (!confirmed(session, "Are you sure you want to continue?")) return;
  }
  if (ask<DumpArchiveReply>(session, request, "dumping archive"))
    tell_success(session, "jobacct_storage_p_archive");
}

void archive_load(Session& session, const Words& words) {
  LoadArchiveRequest request;
  for (size_t i = 1; i < words.size(); ++i) {
    const Option option = split_option(words[i]);
    if (iequals(words[i], "where") || iequals(words[i], "set") || words[i].empty()) continue;
    if (option.has_value && option.is("File", 1)) request.file = absolute(option.value);
    else if (option.has_value && option.is("Insert", 2))
      return void(
          session.fail(" Insert: SQL of others is not put into this database; File= takes "
                       "archives of sluicedbd."));
    else return void(session.fail(" Unknown option: " + words[i]));
  }
  if (request.file.empty()) return void(session.fail(" You need to specify a file to load."));
  request.commit = session.immediate;
  if (!ask<LoadArchiveReply>(session, request, "loading archive file")) return;
  tell_success(session, "jobacct_storage_p_archive_load");
  if (session.immediate) return;
  if (!confirmed(session, kCommit)) return;
  request.commit = true;
  (void)ask<LoadArchiveReply>(session, request, "loading archive file");
}

}  // namespace

void archive(Session& session, const Words& words) {
  if (session.readonly) return void(session.fail("Can't run this command in readonly mode."));
  const Option what = words.empty() ? Option() : split_option(words[0]);
  if (!words.empty() && !what.has_value && what.is("dump", 1)) return archive_dump(session, words);
  if (!words.empty() && !what.has_value && what.is("load", 1)) return archive_load(session, words);
  session.fail(
      "No valid entity in archive command\nInput line must include, \"Dump\", or \"load\"");
}

}  // namespace sluice::cli::sacctmgr
