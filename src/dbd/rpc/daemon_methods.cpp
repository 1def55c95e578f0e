// What sacctmgr asks about the daemon itself.
#include <array>
#include <csignal>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/base/time_text.hpp"
#include "common/base/version.hpp"
#include "common/log/log.hpp"
#include "common/os/clock.hpp"
#include "dbd/rpc/actor.hpp"
#include "dbd/rpc/admin_methods.hpp"

namespace sluice::dbd {
namespace {

using protocol::DaemonValue;

std::string or_null(const std::string& text) { return text.empty() ? "(null)" : text; }
std::string yes_no(bool value) { return value ? "Yes" : "No"; }

std::string level_text(DebugLevel level) {
  constexpr std::array kLevels = {"quiet", "fatal",  "error",  "info",   "verbose",
                                  "debug", "debug2", "debug3", "debug4", "debug5"};
  return kLevels.at(static_cast<size_t>(level) % kLevels.size());
}

// Keys that do nothing here are told by what their default in Slurm is.
std::vector<DaemonValue> config_values(const DbdConfig& c, Time since) {
  const std::string private_data = fmt::format("{}", fmt::join(c.private_data, ","));
  const auto age = [](const std::string& text) { return text.empty() ? "NONE" : text; };
  return {{"AllowNoDefAcct", yes_no(c.allow_no_default_account)},
          {"ArchiveDir", c.archive_folder},
          {"ArchiveEvents", yes_no(c.archive_event)},
          {"ArchiveJobEnv", yes_no(c.archive_job_environment)},
          {"ArchiveJobs", yes_no(c.archive_job)},
          {"ArchiveJobScript", yes_no(c.archive_job_script)},
          {"ArchiveResvs", yes_no(c.archive_resv)},
          {"ArchiveScript", or_null(c.archive_script)},
          {"ArchiveSteps", yes_no(c.archive_step)},
          {"ArchiveSuspend", yes_no(c.archive_suspend)},
          {"ArchiveTXN", yes_no(c.archive_txn)},
          {"ArchiveUsage", yes_no(c.archive_usage)},
          {"AuthAltTypes", or_null(c.auth_alt_types)},
          {"AuthAltParameters", or_null(c.auth_alt_parameters)},
          {"AuthInfo", or_null(c.auth_info)},
          {"AuthType", c.auth_type},
          {"BOOT_TIME", format_time(since)},
          {"CommitDelay", "No"},
          {"CommunicationParameters", "(null)"},
          {"DbdAddr", or_null(c.address)},
          {"DbdBackupHost", or_null(c.backup_host)},
          {"DbdHost", or_null(c.host)},
          {"DbdPort", std::to_string(c.port)},
          {"DebugFlags", or_null(fmt::format("{}", fmt::join(c.debug_flags, ",")))},
          {"DebugLevel", level_text(c.debug_level)},
          {"DebugLevelSyslog", c.syslog_level ? level_text(*c.syslog_level) : "(null)"},
          {"DefaultQOS", or_null(c.default_qos)},
          {"DisableCoordDBD", yes_no(c.disable_coordinators)},
          {"LogFile", or_null(c.log_file)},
          {"MaxQueryTimeRange", c.max_query_time_range >= Duration(kNoLimit)
                                    ? "UNLIMITED"
                                    : format_span(c.max_query_time_range)},
          {"MessageTimeout", "10 secs"},
          {"Parameters", or_null(fmt::format("{}", fmt::join(c.parameters, ",")))},
          {"PidFile", or_null(c.pid_file)},
          {"PluginDir", "(null)"},
          {"PrivateData", private_data.empty() ? "none" : private_data},
          {"PurgeEventAfter", age(c.purge_event)},
          {"PurgeJobAfter", age(c.purge_job)},
          {"PurgeJobEnvAfter", age(c.purge_job_environment)},
          {"PurgeJobScriptAfter", age(c.purge_job_script)},
          {"PurgeResvAfter", age(c.purge_resv)},
          {"PurgeStepAfter", age(c.purge_step)},
          {"PurgeSuspendAfter", age(c.purge_suspend)},
          {"PurgeTXNAfter", age(c.purge_txn)},
          {"PurgeUsageAfter", age(c.purge_usage)},
          {"SLURMDBD_CONF", c.path},
          {"SLURMDBD_VERSION", kSlurmVersion},
          {"SlurmUser", fmt::format("{}({})", c.slurm_user, c.slurm_user_id)},
          {"StorageBackupHost", or_null(c.storage_backup_host)},
          {"StorageHost", c.storage_host},
          {"StorageLoc", c.storage.name},
          {"StorageParameters", or_null(fmt::format("{}", fmt::join(c.storage_parameters, ",")))},
          {"StoragePort", std::to_string(c.storage.port)},
          {"StorageType", c.storage_type},
          {"StorageUser", or_null(c.storage.user)},
          {"TCPTimeout", "2 secs"},
          {"TrackWCKey", yes_no(c.track_wckey)},
          {"TrackSlurmctldDown", "No"}};
}

}  // namespace

void add_daemon_methods(net::RpcServer& server, AdminParts& parts) {
  using Request = protocol::QueryAccountingDaemonRequest;
  using Reply = protocol::QueryAccountingDaemonReply;
  server.handle<Request, Reply>(
      [&parts, started = net::now()](const net::CallContext& context, const Request& request,
                                     auto responder) {
        const Actor actor = actor_of(context);
        const std::shared_ptr<const Entities> entities = parts.store.current();
        if ((request.statistics && !is_operator(*entities, actor)) ||
            ((request.clear_statistics || request.shut_down || request.reconfigure) &&
             !is_administrator(*entities, actor)))
          return responder.fail(ErrorCode::kAccessDenied);
        if (request.reconfigure) {
          log::info("{} ({}) has slurmdbd.conf read again", actor.name, context.identity.uid);
          if (Status done = parts.reconfigure(); !done)
            return responder.fail(std::move(done.error()));
        }
        Reply reply;
        reply.now = net::now();
        reply.config = config_values(*parts.config.get(), started);
        if (request.statistics) parts.statistics.put(reply);
        if (request.clear_statistics) parts.statistics.clear(reply.now);
        responder.reply(reply);
        if (!request.shut_down) return;
        log::info("{} ({}) shuts the daemon down", actor.name, context.identity.uid);
        ::kill(::getpid(), SIGTERM);
      },
      net::kSlow);
}

}  // namespace sluice::dbd
