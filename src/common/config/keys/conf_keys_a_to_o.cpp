// The global keys of slurm.conf, A to O, in the order of `scontrol show config`; rows that it does
// not show stand where their name belongs.
#include "common/config/keys/conf_rows.hpp"
#include "common/config/keys/conf_setters.hpp"

namespace sluice::tables {
namespace {

using C = ClusterConfig;
using K = ConfKind;

// clang-format off
constexpr GlobalKey kRows[] = {
    key("AccountingStorageBackupHost", K::kText).acts<&C::accounting_storage_backup_host>().needs_restart(),
    key("AccountingStorageEnforce", K::kFlags)
        .allow("none,associations,limits,nojobs,nosteps,qos,safe,wckeys,all,1,2")
        .acts<&C::accounting_storage_enforce>().shown({}, "none"),
    key("AccountingStorageHost", K::kText, "localhost").acts<&C::accounting_storage_host>().needs_restart(),
    key("AccountingStorageExternalHost", K::kText),
    key("AccountingStorageLoc", K::kText).obsolete(),
    key("AccountingStorageParameters", K::kOptions)
        .allow("SSL_CERT,SSL_CA,SSL_CAPATH,SSL_KEY,SSL_CIPHER,max_step_records"),
    key("AccountingStoragePass", K::kText).obsolete(),
    key("AccountingStoragePort", K::kNumber, "6819").range(0, 65535)
        .acts<&C::accounting_storage_port>().needs_restart(),
    key("AccountingStorageTRES", K::kWords, "cpu,mem,energy,node,billing,fs/disk,vmem,pages")
        .acts_by(set_accounting_tres),
    key("AccountingStorageType", K::kEnum)
        .allow("accounting_storage/none,accounting_storage/slurmdbd")
        .acts<&C::accounting_storage_type>().needs_restart(),
    key("AccountingStorageUser", K::kText).obsolete(),
    key("AccountingStoreFlags", K::kFlags)
        .allow("job_comment,job_env,job_script,job_extra,no_stdio")
        .acts<&C::accounting_store_flags>(),
    key("AccountingStoreJobComment", K::kBool).obsolete(),
    key("AcctGatherEnergyType", K::kList)
        .allow(
            "acct_gather_energy/none,acct_gather_energy/ipmi,acct_gather_energy/pm_counters,"
            "acct_gather_energy/rapl,acct_gather_energy/xcc,acct_gather_energy/gpu,acct_gather_energy/cray_aries,"
            "acct_gather_energy/ibmaem"),
    key("AcctGatherFilesystemType", K::kEnum)
        .allow("acct_gather_filesystem/none,acct_gather_filesystem/lustre"),
    key("AcctGatherInfinibandType", K::kText).obsolete(),
    key("AcctGatherInterconnectType", K::kEnum)
        .allow(
            "acct_gather_interconnect/none,acct_gather_interconnect/ofed,"
            "acct_gather_interconnect/sysfs"),
    key("AcctGatherNodeFreq", K::kSeconds, "0").range(0, kMax16),
    key("AcctGatherProfileType", K::kEnum)
        .allow("acct_gather_profile/none,acct_gather_profile/hdf5,acct_gather_profile/influxdb"),
    key("AllowSpecResourcesUsage", K::kBool, "NO").acts<&C::allow_spec_resources_usage>(),
    key("AuthAltTypes", K::kWords).only("auth/jwt").acts<&C::auth_alt_types>(),
    key("AuthAltParameters", K::kOptions)
        .allow(
            "disable_token_creation,max_token_lifespan,jwks,jwt_key,use_jwt_client_ids,"
            "use_jwt_client_ids_only,userclaimfield")
        .only("disable_token_creation,jwt_key,max_token_lifespan").with_counts("max_token_lifespan")
        .acts<&C::auth_alt_parameters>(),
    key("AuthInfo", K::kOptions).allow("cred_expire,socket,ttl,use_client_ids")
        .only("cred_expire,socket,ttl").with_counts("cred_expire,ttl").acts<&C::auth_info>()
        .needs_restart(),
    key("AuthType", K::kEnum, "auth/munge").allow("auth/munge,auth/slurm").acts<&C::auth_type>()
        .needs_restart(),
    key("BackupAddr", K::kText).obsolete(),
    key("BackupController", K::kText).obsolete(),
    key("BatchStartTimeout", K::kSeconds, "10").range(0, kMax16).acts<&C::batch_start_timeout>(),
    key("BcastExclude", K::kWords, "/lib,/usr/lib,/lib64,/usr/lib64").acts<&C::bcast_exclude>(),
    key("BcastParameters", K::kOptions).allow("DestDir,Compression,send_libs")
        .acts<&C::bcast_parameters>(),
    key("BOOT_TIME", K::kRuntime),
    key("BurstBufferParameters", K::kText).obsolete(),
    key("BurstBufferType", K::kEnum)
        .allow("burst_buffer/datawarp,burst_buffer/lua,burst_buffer/none"),
    key("CertgenParameters", K::kOptions).allow("certgen_script,keygen_script"),
    key("CertgenType", K::kText),
    key("CertmgrParameters", K::kOptions)
        .allow(
            "certificate_renewal_period,generate_csr_script,get_node_cert_key_script,"
            "get_node_token_script,sign_csr_script,single_use_tokens,validate_node_script"),
    key("CertmgrType", K::kText),
    key("CliFilterParameters", K::kText),
    key("CliFilterPlugins", K::kWords).keeps<&C::cli_filter_plugins>(),
    key("ClusterName", K::kName).acts<&C::cluster_name>().needs_restart(),
    key("CommunicationParameters", K::kOptions)
        .allow(
            "block_null_hash,CheckGhalQuiesce,DisableIPv4,EnableIPv6,keepaliveinterval,"
            "keepaliveprobes,keepalivetime,NoAddrCache,NoCtldInAddrAny,NoInAddrAny,disable_http,"
            "host_unreach_retry_count,getnameinfo_cache_timeout")
        .only("keepaliveinterval,keepaliveprobes,keepalivetime,NoCtldInAddrAny,NoInAddrAny")
        .acts<&C::communication_parameters>().needs_restart(),
    key("CompleteWait", K::kSeconds, "0").range(0, kMax16).acts<&C::complete_wait>(),
    key("ControlAddr", K::kText).obsolete(),
    key("ControlMachine", K::kText).obsolete(),
    key("CoreSpecPlugin", K::kText).obsolete(),
    key("CpuFreqDef", K::kText).acts<&C::cpu_freq_def>().shown({}, "Unknown"),
    key("CpuFreqGovernors", K::kList, "OnDemand,Performance,UserSpace")
        .allow("Conservative,OnDemand,Performance,PowerSave,SchedUtil,UserSpace")
        .acts<&C::cpu_freq_governors>(),
    key("CredType", K::kEnum, "cred/munge").allow("cred/munge,cred/slurm").keeps<&C::cred_type>()
        .needs_restart(),
    key("CryptoType", K::kText).obsolete(),
    key("DataParserParameters", K::kText),
    key("DebugFlags", K::kFlags)
        .allow(
            "Accrue,Agent,Backfill,BackfillMap,BurstBuffer,Cgroup,CPU_Bind,CpuFrequency,Data,"
            "Dependency,Elasticsearch,Energy,ExtSensors,Federation,FrontEnd,Gres,Hetjob,Gang,"
            "JobAccountGather,JobContainer,License,Network,NetworkRaw,NodeFeatures,NO_CONF_HASH,"
            "Power,PowerSave,Priority,Profile,Protocol,Reservation,Route,Script,SelectType,Steps,Switch,"
            "TimeCray,TraceJobs,Triggers,WorkQueue,AuditRPCs,AuditTLS,ConMgr,DBD_Agent,"
            "GLOB_SILENCE,JobComp,Namespace,Metrics,thread,TLS")
        .only("Agent,Backfill,CPU_Bind,Dependency,Gres,License,NodeFeatures,NO_CONF_HASH,Priority,"
              "Reservation,Script,SelectType,Steps,TraceJobs,Triggers")
        .acts<&C::debug_flags>(),
    key("DefCPUPerGPU", K::kNumber).range(0, kMax64).acts<&C::def_cpu_per_gpu>().hidden(),
    key("DefMemPerCPU", K::kMemory).range(0, kMax64).acts<&C::def_mem_per_cpu_mib>(),
    key("DefMemPerGPU", K::kMemory).range(0, kMax64).acts<&C::def_mem_per_gpu_mib>().hidden(),
    key("DefMemPerNode", K::kMemory).range(0, kMax64).acts<&C::def_mem_per_node_mib>()
        .shown({}, "UNLIMITED"),
    key("DefRuntimePlugin", K::kEnum).allow("runtime/none,runtime/oci").hidden(),
    key("DependencyParameters", K::kOptions)
        .allow("disable_remote_singleton,kill_invalid_depend,max_depend_depth")
        .only("kill_invalid_depend,max_depend_depth").acts<&C::dependency_parameters>(),
    key("DisableRootJobs", K::kBool, "NO").acts<&C::disable_root_jobs>(),
    key("EioTimeout", K::kNumber, "60").range(0, kMax16).acts_by(set_eio_timeout),
    key("EnforcePartLimits", K::kEnum, "NO").allow("NO,ANY,ALL,YES,0,1")
        .acts_by(set_enforce_part_limits),
    key("Epilog", K::kText).adds<&C::epilog>(),
    key("EpilogMsgTime", K::kMicroseconds, "2000").keeps<&C::epilog_msg_time>(),
    key("EpilogSlurmctld", K::kText).adds<&C::epilog_slurmctld>(),
    key("EpilogTimeout", K::kSeconds).range(0, kMax16).acts<&C::epilog_timeout>().hidden(),
    key("ExtSensorsFreq", K::kNumber).obsolete(),
    key("ExtSensorsType", K::kText).obsolete(),
    key("FairShareDampeningFactor", K::kNumber, "1").range(1, kMax16)
        .acts<&C::fair_share_dampening_factor>(),
    key("FastSchedule", K::kNumber).obsolete(),
    key("FederationParameters", K::kOptions).allow("fed_display"),
    key("FirstJobId", K::kNumber, "1").range(1, kMax32).acts<&C::first_job_id>(),
    key("GetEnvTimeout", K::kNumber).obsolete(),
    key("GresTypes", K::kWords).acts<&C::gres_types>(),
    key("GpuFreqDef", K::kText).acts<&C::gpu_freq_def>(),
    key("GroupUpdateForce", K::kFlag, "1").acts<&C::group_update_force>(),
    key("GroupUpdateTime", K::kSeconds, "600").range(0, kMax16).acts<&C::group_update_time>(),
    key("HASH_VAL", K::kRuntime),
    key("HashPlugin", K::kEnum, "hash/k12").allow("hash/k12,hash/sha3"),
    key("HealthCheckInterval", K::kSeconds, "0").range(0, kMax16).acts<&C::health_check_interval>(),
    key("HealthCheckNodeState", K::kFlags, "ANY")
        .allow("ANY,ALLOC,CYCLE,IDLE,MIXED,NONDRAINED_IDLE,REBOOT_ONLY,START_ONLY")
        .acts<&C::health_check_node_state>(),
    key("HealthCheckProgram", K::kText).acts<&C::health_check_program>(),
    key("HealthCheckTimeout", K::kSeconds, "60").range(0, kMax16).acts<&C::health_check_timeout>(),
    key("HttpParserType", K::kEnum).allow("http_parser/libhttp_parser,http_parser/llhttp_parser"),
    key("InactiveLimit", K::kSeconds, "0").range(0, kMax16).with_unlimited()
        .acts<&C::inactive_limit>().needs_restart(),
    key("Include", K::kText).acts_by(nullptr).hidden(),  // before there are keys: conf_lines()
    key("InteractiveStepOptions", K::kText, "--interactive --preserve-env --pty $SHELL")
        .acts<&C::interactive_step_options>(),
    key("JobAcctGatherFrequency", K::kText, "30").acts<&C::job_acct_gather_frequency>(),
    key("JobAcctGatherType", K::kEnum)
        .allow("jobacct_gather/none,jobacct_gather/linux,jobacct_gather/cgroup")
        .acts<&C::job_acct_gather_type>().needs_restart(),
    key("JobAcctGatherParams", K::kOptions)
        .allow("NoShared,UsePss,OverMemoryKill,DisableGPUAcct,no_file_cache")
        .only("NoShared,OverMemoryKill,UsePss").acts<&C::job_acct_gather_params>(),
    key("JobCompHost", K::kText, "localhost"),
    key("JobCompLoc", K::kText).acts<&C::job_comp_loc>(),
    key("JobCompParams", K::kText).keeps<&C::job_comp_params>(),
    key("JobCompPass", K::kText),
    key("JobCompPassScript", K::kText).hidden(),
    key("JobCompPort", K::kNumber, "0").range(0, 65535),
    key("JobCompType", K::kEnum)
        .allow(
            "jobcomp/none,jobcomp/elasticsearch,jobcomp/filetxt,jobcomp/lua,jobcomp/mysql,"
            "jobcomp/script,jobcomp/kafka")
        .only("jobcomp/none,jobcomp/filetxt,jobcomp/script").acts<&C::job_comp_type>(),
    key("JobCompUser", K::kText, "root"),
    key("JobContainerType", K::kText).acts<&C::job_container_type>().hidden(),
    key("JobCredentialPrivateKey", K::kText).obsolete(),
    key("JobCredentialPublicCertificate", K::kText).obsolete(),
    key("JobDefaults", K::kRuntime),
    key("JobFileAppend", K::kFlag, "0").acts<&C::job_file_append>(),
    key("JobRequeue", K::kFlag, "1").acts<&C::job_requeue>(),
    key("JobSubmitPlugins", K::kOptions)
        .allow("all_partitions,defaults,logging,lua,partition,pbs,require_timelimit,throttle")
        .only("all_partitions,logging,lua,partition,require_timelimit").acts<&C::job_submit_plugins>(),
    key("KeepAliveTime", K::kNumber).obsolete(),
    key("KillOnBadExit", K::kNumber, "0").range(0, kMax16).acts_by(set_kill_on_bad_exit),
    key("KillWait", K::kSeconds, "30").range(0, kMax16).acts<&C::kill_wait>(),
    key("LaunchParameters", K::kOptions)
        .allow(
            "batch_step_set_cpu_freq,cray_net_exclusive,enable_nss_slurm,lustre_no_flush,mem_sort,"
            "mpir_use_nodeaddr,disable_send_gids,slurmstepd_memlock,slurmstepd_memlock_all,"
            "test_exec,use_interactive_step,interactive_step_set_cpu_freq,"
            "srun_exclusive_allocation,ulimit_pam_adopt")
        .only("batch_step_set_cpu_freq,disable_send_gids,slurmstepd_memlock,slurmstepd_memlock_all,srun_exclusive_allocation,"
              "use_interactive_step,interactive_step_set_cpu_freq")
        .acts<&C::launch_parameters>(),
    key("LaunchType", K::kText).obsolete(),
    key("LicenseParameters", K::kOptions).allow("RemoteFuzzyMatch"),
    key("Licenses", K::kWords).acts_by(set_licenses, kLicenseWords),
    key("LogTimeFormat", K::kList, "iso8601_ms")
        .allow("iso8601,iso8601_ms,rfc5424,rfc5424_ms,rfc3339,clock,short,thread_id,format_stderr")
        .only("iso8601,iso8601_ms,rfc5424,rfc5424_ms,clock,short,thread_id")
        .acts<&C::log_time_format>().needs_restart(),
    key("MailDomain", K::kText).acts<&C::mail_domain>(),
    key("MailProg", K::kText, "/bin/mail").acts<&C::mail_prog>(),
    key("MaxArraySize", K::kNumber, "1001").range(0, 4000001).acts<&C::max_array_size>(),
    key("MaxBatchRequeue", K::kNumber, "5").acts<&C::max_batch_requeue>(),
    // read where it is set (most_dbd_messages), else it follows from other keys
    key("MaxDBDMsgs", K::kNumber).range(10000, kMax32)
        .acts_by([](C&, const ConfValue&) { return true; }).needs_restart(),
    key("MaxJobCount", K::kNumber, "10000").range(1, kMax32).with_unlimited().acts<&C::max_job_count>()
        .needs_restart(),
    key("MaxJobId", K::kNumber, "67043328").range(1, 67043328).acts<&C::max_job_id>(),
    key("MaxMemPerCPU", K::kMemory).range(0, kMax64).acts<&C::max_mem_per_cpu_mib>(),
    key("MaxMemPerNode", K::kMemory).range(0, kMax64).acts<&C::max_mem_per_node_mib>()
        .shown({}, "UNLIMITED"),
    key("MaxNodeCount", K::kNumber).range(1, kMax32).acts<&C::max_node_count>().needs_restart(),
    key("MaxStepCount", K::kNumber, "40000").range(1, kMax32).with_unlimited().acts<&C::max_step_count>(),
    key("MaxTasksPerNode", K::kNumber, "512").range(1, kMax16).acts<&C::max_tasks_per_node>(),
    key("MCSPlugin", K::kEnum).allow("mcs/none,mcs/account,mcs/group,mcs/user,mcs/label"),
    key("MCSParameters", K::kText),
    key("MessageTimeout", K::kSeconds, "10").range(1, kMax16).acts<&C::message_timeout>(),
    key("MetricsAuthUsers", K::kWords),
    key("MetricsParameters", K::kOptions).allow("ignore_private_data"),
    key("MetricsType", K::kEnum).allow("metrics/openmetrics"),
    key("MinJobAge", K::kSeconds, "300").with_unlimited().acts<&C::min_job_age>(),
    key("MpiDefault", K::kText).acts<&C::mpi_default>(),
    key("MpiParams", K::kOptions).allow("ports,disable_slurm_hydra_bootstrap")
        .keeps<&C::mpi_params>(),
    key("MULTIPLE_SLURMD", K::kRuntime),
    key("NamespaceType", K::kEnum).allow("namespace/linux,namespace/tmpfs")
        .acts<&C::job_container_type>(),
    key("NEXT_JOB_ID", K::kRuntime),
    key("NodeFeaturesPlugins", K::kWords).acts<&C::node_features_plugins>(),
    key("OverTimeLimit", K::kMinutes, "0").range(0, kMax16).with_unlimited()
        .acts<&C::over_time_limit>(),
};
// clang-format on

}  // namespace

std::span<const GlobalKey> global_keys_a_to_o() { return kRows; }

}  // namespace sluice::tables
