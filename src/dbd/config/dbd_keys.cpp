// The keys of slurmdbd.conf.
#include "common/config/keys/conf_rows.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {
namespace {

using K = tables::ConfKind;
using C = DbdConfig;
constexpr std::string_view kLevels =
    "quiet,fatal,error,info,verbose,debug,debug2,debug3,debug4,debug5";

constexpr tables::ConfKey<C> key(std::string_view name, K kind, std::string_view fallback = {}) {
  return tables::key<C>(name, kind, fallback);
}

constexpr tables::ConfKey<C> kKeys[] = {
    key("AllowNoDefAcct", K::kBool, "no").acts<&C::allow_no_default_account>(),
    key("AllResourcesAbsolute", K::kBool, "no"),
    key("ArchiveDir", K::kAbsolutePath, "/tmp").acts<&C::archive_folder>(),
    key("ArchiveEvents", K::kBool, "no").acts<&C::archive_event>(),
    key("ArchiveJobEnv", K::kBool, "no").acts<&C::archive_job_environment>(),
    key("ArchiveJobs", K::kBool, "no").acts<&C::archive_job>(),
    key("ArchiveJobScript", K::kBool, "no").acts<&C::archive_job_script>(),
    key("ArchiveResvs", K::kBool, "no").acts<&C::archive_resv>(),
    key("ArchiveScript", K::kAbsolutePath).acts<&C::archive_script>(),
    key("ArchiveSteps", K::kBool, "no").acts<&C::archive_step>(),
    key("ArchiveSuspend", K::kBool, "no").acts<&C::archive_suspend>(),
    key("ArchiveTXN", K::kBool, "no").acts<&C::archive_txn>(),
    key("ArchiveUsage", K::kBool, "no").acts<&C::archive_usage>(),
    key("AuthAltParameters", K::kText).acts<&C::auth_alt_parameters>().needs_restart(),
    key("AuthAltTypes", K::kText).acts<&C::auth_alt_types>().needs_restart(),
    key("AuthInfo", K::kText).acts<&C::auth_info>().needs_restart(),
    key("AuthType", K::kEnum, "auth/munge")
        .allow("auth/munge,auth/slurm")
        .acts<&C::auth_type>()
        .needs_restart(),
    key("CommitDelay", K::kNumber, "0").range(0, 65533),
    key("CommunicationParameters", K::kWords),
    key("DbdAddr", K::kText).acts<&C::address>().needs_restart(),
    key("DbdBackupHost", K::kText).acts<&C::backup_host>().needs_restart(),
    key("DbdHost", K::kText).acts<&C::host>().needs_restart(),
    key("DbdPort", K::kNumber, "6819").range(0, 65535).acts<&C::port>().needs_restart(),
    key("DebugFlags", K::kWords),
    key("DebugLevel", K::kEnum, "info").allow(kLevels).numbered().acts<&C::debug_level>(),
    key("DebugLevelSyslog", K::kEnum)
        .allow(kLevels)
        .numbered()
        .acts<&C::syslog_level>()
        .needs_restart(),
    key("DefaultQOS", K::kText).acts<&C::default_qos>(),
    key("DisableArchiveCommands", K::kBool, "no").acts<&C::no_archive_commands>(),
    key("DisableCoordDBD", K::kBool, "no").acts<&C::disable_coordinators>(),
    key("DisableRollups", K::kBool, "no"),
    key("HashPlugin", K::kText),
    key("JobPurge", K::kText),
    key("LogFile", K::kText).acts<&C::log_file>(),
    key("LogTimeFormat", K::kList, "iso8601_ms")
        .allow("iso8601,iso8601_ms,rfc5424,rfc5424_ms,rfc3339,clock,short,thread_id,format_stderr")
        .only("iso8601,iso8601_ms,rfc5424,rfc5424_ms,clock,short,thread_id")
        .acts<&C::log_time_format>()
        .needs_restart(),
    key("MaxPurgeLimit", K::kNumber, "50000").range(0, tables::kMax32),
    key("MaxQueryTimeRange", K::kTimeSpan, "INFINITE")
        .with_unlimited()
        .acts<&C::max_query_time_range>(),
    key("MessageTimeout", K::kSeconds, "10"),
    key("Parameters", K::kWords).acts<&C::parameters>(),
    key("PidFile", K::kText, "/var/run/slurmdbd.pid").acts<&C::pid_file>().needs_restart(),
    key("PluginDir", K::kText),
    key("PrivateData", K::kList)
        .allow("accounts,events,jobs,reservations,usage,users")
        .acts<&C::private_data>(),
    key("PurgeEventAfter", K::kText).acts<&C::purge_event>(),
    key("PurgeEventMonths", K::kText),
    key("PurgeJobAfter", K::kText).acts<&C::purge_job>(),
    key("PurgeJobEnvAfter", K::kText).acts<&C::purge_job_environment>(),
    key("PurgeJobMonths", K::kText),
    key("PurgeJobScriptAfter", K::kText).acts<&C::purge_job_script>(),
    key("PurgeResvAfter", K::kText).acts<&C::purge_resv>(),
    key("PurgeStepAfter", K::kText).acts<&C::purge_step>(),
    key("PurgeStepMonths", K::kText),
    key("PurgeSuspendAfter", K::kText).acts<&C::purge_suspend>(),
    key("PurgeSuspendMonths", K::kText),
    key("PurgeTXNAfter", K::kText).acts<&C::purge_txn>(),
    key("PurgeTXNMonths", K::kText),
    key("PurgeUsageAfter", K::kText).acts<&C::purge_usage>(),
    key("PurgeUsageMonths", K::kText),
    key("SerializerParameters", K::kText),
    key("SerializerPlugins", K::kText),
    key("SlurmUser", K::kText, "root").acts<&C::slurm_user>().needs_restart(),
    key("StepPurge", K::kText),
    key("StorageBackupHost", K::kText).acts<&C::storage_backup_host>().needs_restart(),
    key("StorageHost", K::kText, "localhost").acts<&C::storage_host>().needs_restart(),
    key("StorageLoc", K::kText).acts<&C::storage_loc>().needs_restart(),
    key("StorageParameters", K::kWords).acts<&C::storage_parameters>().needs_restart(),
    key("StoragePass", K::kText).acts<&C::storage_password>().needs_restart(),
    key("StoragePassScript", K::kText),
    key("StoragePort", K::kNumber, "0").range(0, 65535).acts<&C::storage_port>().needs_restart(),
    key("StorageType", K::kEnum, kSqliteStorage)
        .allow("accounting_storage/sqlite,accounting_storage/mysql,accounting_storage/postgresql")
        .acts<&C::storage_type>()
        .needs_restart(),
    key("StorageUser", K::kText).acts<&C::storage_user>().needs_restart(),
    key("TCPTimeout", K::kSeconds, "2"),
    key("TLSParameters", K::kWords).acts<&C::tls_parameters>().needs_restart(),
    key("TLSType", K::kEnum, "tls/none")
        .allow("tls/none,tls/s2n")
        .acts<&C::tls_type>()
        .needs_restart(),
    key("TrackSlurmctldDown", K::kBool, "no"),
    key("TrackWCKey", K::kBool, "no").acts<&C::track_wckey>(),
};

}  // namespace

std::span<const tables::ConfKey<DbdConfig>> dbd_keys() { return kKeys; }

}  // namespace sluice::dbd
