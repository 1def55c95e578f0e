// The global keys of slurm.conf, P to Z, in the order of `scontrol show config`; rows that it does
// not show stand where their name belongs.
#include "common/config/keys/conf_rows.hpp"
#include "common/config/keys/conf_setters.hpp"

namespace sluice::tables {
namespace {

using C = ClusterConfig;
using K = ConfKind;

// clang-format off
constexpr GlobalKey kRows[] = {
    key("PluginDir", K::kText, "/usr/lib/slurm").keeps<&C::plugin_dir>().needs_restart(),
    key("PlugStackConfig", K::kText).keeps<&C::plug_stack_config>(),
    key("PowerParameters", K::kText).obsolete(),
    key("PowerPlugin", K::kText).obsolete(),
    key("PreemptMode", K::kFlags, "OFF").allow("GANG,OFF,CANCEL,REQUEUE,SUSPEND,WITHIN,PRIORITY")
        .acts_by(set_preempt_mode),
    key("PreemptParameters", K::kOptions)
        .allow(
            "min_exempt_priority,reclaim_licenses,reorder_count,send_user_signal,strict_order,"
            "suspend_grace_time,youngest_first")
        .only("send_user_signal,youngest_first")
        .except("reorder_count,strict_order")
        .acts<&C::preempt_parameters>(),
    key("PreemptType", K::kEnum).allow("preempt/none,preempt/partition_prio,preempt/qos")
        .acts<&C::preempt_type>(),
    key("PreemptExemptTime", K::kTimeSpan, "0").with_unlimited().acts<&C::preempt_exempt_time>(),
    key("PrEpParameters", K::kText),
    key("PrEpPlugins", K::kWords, "prep/script"),
    key("PriorityParameters", K::kText).keeps<&C::priority_parameters>(),
    key("PrioritySiteFactorParameters", K::kText),
    key("PrioritySiteFactorPlugin", K::kEnum).allow("site_factor/none").acts_by(nullptr),
    key("PriorityDecayHalfLife", K::kTimeSpan, "7-0").with_unlimited().acts<&C::priority_decay_half_life>(),
    key("PriorityCalcPeriod", K::kTimeSpan, "5").acts<&C::priority_calc_period>(),
    key("PriorityFavorSmall", K::kBool, "NO").acts<&C::priority_favor_small>(),
    key("PriorityFlags", K::kFlags)
        .allow(
            "ACCRUE_ALWAYS,CALCULATE_RUNNING,DEPTH_OBLIVIOUS,NO_FAIR_TREE,INCR_ONLY,MAX_TRES,"
            "NO_NORMAL_ALL,NO_NORMAL_ASSOC,NO_NORMAL_PART,NO_NORMAL_QOS,NO_NORMAL_TRES,"
            "SMALL_RELATIVE_TO_TIME,MAX_TRES_GRES,FAIR_TREE,TICKET_BASED,0")
        .only(
            "ACCRUE_ALWAYS,CALCULATE_RUNNING,NO_FAIR_TREE,INCR_ONLY,MAX_TRES,NO_NORMAL_ALL,"
            "NO_NORMAL_ASSOC,NO_NORMAL_PART,NO_NORMAL_QOS,NO_NORMAL_TRES,SMALL_RELATIVE_TO_TIME,"
            "MAX_TRES_GRES,FAIR_TREE,0")
        .acts_by(set_priority_flags).shown({}, ""),
    key("PriorityMaxAge", K::kTimeSpan, "7-0").with_unlimited().acts<&C::priority_max_age>(),
    key("PriorityType", K::kEnum, "priority/multifactor")
        .allow("priority/basic,priority/multifactor").acts<&C::priority_type>(),
    key("PriorityUsageResetPeriod", K::kEnum, "NONE")
        .allow("NONE,NOW,DAILY,WEEKLY,MONTHLY,QUARTERLY,YEARLY")
        .acts<&C::priority_usage_reset_period>(),
    key("PriorityWeightAge", K::kNumber, "0").acts<&C::priority_weight_age>(),
    key("PriorityWeightAssoc", K::kNumber, "0").acts<&C::priority_weight_assoc>(),
    key("PriorityWeightFairshare", K::kNumber, "0").acts<&C::priority_weight_fair_share>()
        .shown("PriorityWeightFairShare", "0"),
    key("PriorityWeightJobSize", K::kNumber, "0").acts<&C::priority_weight_job_size>(),
    key("PriorityWeightPartition", K::kNumber, "0").acts<&C::priority_weight_partition>(),
    key("PriorityWeightQOS", K::kNumber, "0").acts<&C::priority_weight_qos>(),
    key("PriorityWeightTRES", K::kWords).acts_by(set_priority_tres, kTresWeightWords),
    key("PrivateData", K::kFlags)
        .allow("accounts,cloud,events,jobs,nodes,partitions,reservations,usage,users,all,none")
        .only("cloud,jobs,nodes,partitions,reservations").except("none").acts_by(set_private_data).shown({}, "none"),
    key("ProctrackType", K::kEnum, "proctrack/cgroup")
        .allow("proctrack/cgroup,proctrack/linuxproc,proctrack/pgid").acts<&C::proctrack_type>()
        .needs_restart(),
    key("Prolog", K::kText).adds<&C::prolog>(),
    key("PrologEpilogTimeout", K::kSeconds).range(0, kMax16).with_unlimited()
        .acts<&C::prolog_epilog_timeout>().shown({}, "65534"),
    key("PrologFlags", K::kFlags)
        .allow("Alloc,Contain,DeferBatch,NoHold,Serial,X11,ForceRequeueOnFail,RunInJob")
        .acts<&C::prolog_flags>(),
    key("PrologSlurmctld", K::kText).adds<&C::prolog_slurmctld>(),
    key("PrologTimeout", K::kSeconds).range(0, kMax16).acts<&C::prolog_timeout>().hidden(),
    key("PropagatePrioProcess", K::kNumber, "0").range(0, 2).acts<&C::propagate_prio_process>(),
    key("PropagateResourceLimits", K::kFlags, "ALL")
        .allow("ALL,NONE,AS,CORE,CPU,DATA,FSIZE,MEMLOCK,NOFILE,NPROC,RSS,STACK")
        .acts<&C::propagate_resource_limits>(),
    key("PropagateResourceLimitsExcept", K::kFlags)
        .allow("ALL,NONE,AS,CORE,CPU,DATA,FSIZE,MEMLOCK,NOFILE,NPROC,RSS,STACK")
        .acts<&C::propagate_resource_limits_except>(),
    key("RebootProgram", K::kText).acts<&C::reboot_program>(),
    key("ReconfigFlags", K::kFlags).allow("KeepPartInfo,KeepPartState,KeepPowerSaveSettings")
        .only("KeepPartInfo,KeepPartState").acts<&C::reconfig_flags>(),
    key("RequeueExit", K::kText).acts_by(set_exit_codes<&C::requeue_exit>, kExitCodeWords),
    key("RequeueExitHold", K::kText).acts_by(set_exit_codes<&C::requeue_exit_hold>, kExitCodeWords),
    key("ResumeFailProgram", K::kText).acts<&C::resume_fail_program>(),
    key("ResumeProgram", K::kText).acts<&C::resume_program>(),
    // of power saving: looked up in ClusterConfig::values where it is done (ctld/state/decide/node/power.cpp)
    key("ResumeRate", K::kNumber, "300").range(0, kMax16).acts_by(nullptr).in(" nodes/min"),
    key("ResumeTimeout", K::kSeconds, "60").range(0, kMax16).with_unlimited()
        .acts<&C::resume_timeout>(),
    // looked up in ClusterConfig::values where they are run (ctld/agents/site_programs.cpp)
    key("ResvEpilog", K::kText).acts_by(nullptr),
    key("ResvOverRun", K::kMinutes, "0").range(0, kMax16).with_unlimited()
        .acts<&C::resv_over_run>(),
    key("ResvProlog", K::kText).acts_by(nullptr),
    key("ReturnToService", K::kNumber, "0").range(0, 2).acts<&C::return_to_service>(),
    key("RoutePlugin", K::kText).obsolete(),
    key("SallocDefaultCommand", K::kText).obsolete(),
    key("SbcastParameters", K::kText).obsolete(),
    key("SchedulerAuth", K::kText).obsolete(),
    key("SchedulerParameters", K::kOptions)
        .allow(
            "allow_zero_lic,assoc_limit_stop,batch_sched_delay,bb_array_stage_cnt,bf_busy_nodes,"
            "bf_continue,bf_hetjob_immediate,bf_hetjob_prio,bf_interval,bf_job_part_count_reserve,"
            "bf_licenses,bf_max_job_array_resv,bf_max_job_assoc,bf_max_job_part,bf_max_job_start,"
            "bf_max_job_test,bf_max_job_user,bf_max_job_user_part,bf_max_time,bf_min_age_reserve,"
            "bf_min_prio_reserve,bf_node_space_size,bf_one_resv_per_job,bf_resolution,"
            "bf_running_job_reserve,bf_window,bf_window_linear,bf_yield_interval,bf_yield_sleep,"
            "build_queue_timeout,correspond_after_task_cnt,default_queue_depth,defer,delay_boot,"
            "disable_job_shrink,disable_hetjob_steps,enable_hetjob_steps,enable_user_top,"
            "Ignore_NUMA,ignore_prefer_validation,max_array_tasks,max_rpc_cnt,max_sched_time,"
            "max_script_size,max_switch_wait,no_backup_scheduling,no_env_cache,"
            "nohold_on_prolog_fail,pack_serial_at_end,partition_job_depth,preempt_reorder_count,"
            "preempt_strict_order,preempt_youngest_first,reduce_completing_frag,"
            "requeue_setup_env_fail,salloc_wait_nodes,sbatch_wait_nodes,sched_interval,"
            "sched_max_job_start,sched_min_interval,spec_cores_first,step_retry_count,"
            "step_retry_time,whole_hetjob,bf_allow_magnetic_slot,bf_topopt_enable,"
            "bf_topopt_iterations,bf_yield_rpc_cnt,defer_batch,extra_constraints,"
            "ignore_constraint_validation,max_submit_line_size,requeue_delay,"
            "requeue_on_resume_failure,time_min_as_soft_limit,kill_invalid_depend")
        .only("allow_zero_lic,assoc_limit_stop,bf_interval,bf_job_part_count_reserve,"
              "bf_max_job_array_resv,bf_max_job_assoc,bf_max_job_part,bf_max_job_start,bf_max_job_test,bf_max_job_user,"
              "bf_max_job_user_part,bf_max_time,bf_min_age_reserve,bf_min_prio_reserve,"
              "bf_resolution,bf_window,default_queue_depth,defer,delay_boot,disable_job_shrink,"
              "enable_user_top,ignore_prefer_validation,kill_invalid_depend,max_array_tasks,"
              "max_script_size,max_switch_wait,nohold_on_prolog_fail,pack_serial_at_end,"
              "partition_job_depth,preempt_youngest_first,requeue_delay,sched_interval,"
              "salloc_wait_nodes,sbatch_wait_nodes,sched_max_job_start,"
              "sched_min_interval,spec_cores_first,step_retry_count,step_retry_time,whole_hetjob")
        .except("batch_sched_delay,bf_continue,bf_licenses,bf_node_space_size,"
                "bf_one_resv_per_job,bf_running_job_reserve,bf_window_linear,bf_yield_interval,"
                "bf_yield_rpc_cnt,bf_yield_sleep,build_queue_timeout,correspond_after_task_cnt,"
                "max_rpc_cnt,max_sched_time,preempt_reorder_count,preempt_strict_order,"
                "reduce_completing_frag")
        .with_counts("bf_interval,bf_job_part_count_reserve,bf_max_job_array_resv,bf_max_job_assoc,"
                     "bf_max_job_part,bf_max_job_start,bf_max_job_test,bf_max_job_user,"
                     "bf_max_job_user_part,bf_max_time,bf_min_age_reserve,bf_min_prio_reserve,"
                     "bf_resolution,bf_window,default_queue_depth,max_array_tasks,max_script_size,"
                     "max_switch_wait,partition_job_depth,requeue_delay,sched_max_job_start,"
                     "sched_min_interval,step_retry_count,step_retry_time")
        .acts<&C::scheduler_parameters>(),
    key("SchedulerTimeSlice", K::kSeconds, "30").range(5, kMax16).acts<&C::scheduler_time_slice>(),
    key("SchedulerType", K::kEnum, "sched/backfill").allow("sched/backfill,sched/builtin")
        .acts<&C::scheduler_type>().needs_restart(),
    key("ScronParameters", K::kOptions).allow("enable,explicit_scancel")
        .acts<&C::scron_parameters>(),
    key("SelectType", K::kEnum, "select/cons_tres")
        .allow("select/cons_tres,select/linear,select/cons_res").acts<&C::select_type>()
        .needs_restart(),
    key("SelectTypeParameters", K::kFlags)
        .allow(
            "CR_CPU,CR_CPU_MEMORY,CR_CORE,CR_CORE_MEMORY,CR_SOCKET,CR_SOCKET_MEMORY,CR_MEMORY,"
            "OTHER_CONS_RES,OTHER_CONS_TRES,CR_ONE_TASK_PER_CORE,CR_CORE_DEFAULT_DIST_BLOCK,"
            "CR_LLN,CR_PACK_NODES,CR_NO_DIST_TOPO_BLOCK,LL_SHARED_GRES,MULTIPLE_SHARING_GRES_PJ,"
            "ENFORCE_BINDING_GRES,ONE_TASK_PER_SHARING_GRES")
        .only("CR_CPU,CR_CPU_MEMORY,CR_CORE,CR_CORE_MEMORY,CR_SOCKET,CR_SOCKET_MEMORY,CR_MEMORY,CR_LLN,CR_PACK_NODES,"
              "CR_ONE_TASK_PER_CORE,CR_CORE_DEFAULT_DIST_BLOCK,ENFORCE_BINDING_GRES")
        .acts<&C::select_type_parameters>()
        .needs_restart(),
    key("SerializerParameters", K::kOptions).allow("compact,pretty,complex,no_tag").hidden(),
    key("SerializerPlugins", K::kWords).hidden(),
    key("SluiceParameters", K::kWords)  // Sluice's own
        .acts_by(set_sluice_parameters, "accept_ignored=KEY,..., log_format=text or json, soft_limit_qos=QOS, and submit_advice=yes or no").hidden(),
    key("SlurmUser", K::kText, "root").acts<&C::slurm_user>().needs_restart(),
    key("SlurmctldAddr", K::kText).acts<&C::slurmctld_addr>(),
    key("SlurmctldDebug", K::kEnum, "info")
        .allow("quiet,fatal,error,info,verbose,debug,debug2,debug3,debug4,debug5").numbered()
        .acts<&C::slurmctld_debug>(),
    key("SlurmctldHost", K::kText)
        .acts_by(set_controller_host, "NAME or NAME(ADDRESS), each name once; both may be host lists of the same length").each_line()
        .needs_restart(),
    key("SlurmctldHttpAuthParameters", K::kText),
    key("SlurmctldLogFile", K::kText).acts<&C::slurmctld_log_file>(),
    key("SlurmctldPlugstack", K::kText).obsolete(),
    key("SlurmctldPort", K::kPorts, "6817").acts_by(set_controller_ports).needs_restart(),
    key("SlurmctldSyslogDebug", K::kEnum)
        .allow("quiet,fatal,error,info,verbose,debug,debug2,debug3,debug4,debug5").numbered()
        .acts<&C::slurmctld_syslog_debug>(),
    key("SlurmctldPrimaryOffProg", K::kText).keeps<&C::slurmctld_primary_off_prog>(),
    key("SlurmctldPrimaryOnProg", K::kText).keeps<&C::slurmctld_primary_on_prog>(),
    key("SlurmctldTimeout", K::kSeconds, "120").range(0, kMax16).with_unlimited()
        .acts<&C::slurmctld_timeout>(),
    key("SlurmctldParameters", K::kOptions)
        .allow(
            "allow_user_triggers,cloud_dns,cloud_reg_addrs,enable_configless,idle_on_node_suspend,"
            "node_reg_mem_percent,power_save_interval,power_save_min_interval,max_dbd_msg_action,"
            "preempt_send_user_signal,reboot_from_controller,user_resv_delete,"
            "conmgr_connect_timeout,conmgr_max_connections,conmgr_quiesce_timeout,"
            "conmgr_read_timeout,conmgr_threads,conmgr_use_poll,conmgr_wait_write_delay,"
            "conmgr_write_timeout,disable_triggers,enable_expedited_requeue,enable_stepmgr,"
            "max_powered_nodes,no_quick_restart,reconfig_on_restart,rl_bucket_size,rl_enable,"
            "rl_log_freq,rl_refill_period,rl_refill_rate,rl_table_size,threadpool,"
            "threadpool_preallocate,threadpool_preserve,validate_nodeaddr_threads,"
            "workerpool_threads")
        .only("allow_user_triggers,enable_configless,preempt_send_user_signal,reboot_from_controller,rl_bucket_size,"
              "rl_enable,rl_log_freq,rl_refill_period,rl_refill_rate,rl_table_size")
        .with_counts("rl_bucket_size,rl_refill_period,rl_refill_rate,rl_table_size")
        .acts<&C::slurmctld_parameters>(),
    key("SlurmdDebug", K::kEnum, "info")
        .allow("quiet,fatal,error,info,verbose,debug,debug2,debug3,debug4,debug5").numbered()
        .acts<&C::slurmd_debug>(),
    key("SlurmdHttpAuthParameters", K::kText),
    key("SlurmdLogFile", K::kText).acts<&C::slurmd_log_file>(),
    key("SlurmdParameters", K::kOptions)
        .allow(
            "config_overrides,l3cache_as_socket,numa_node_as_socket,shutdown_on_reboot,"
            "allow_ecores,conmgr_connect_timeout,conmgr_max_connections,conmgr_quiesce_timeout,"
            "conmgr_read_timeout,conmgr_threads,conmgr_use_poll,conmgr_wait_write_delay,"
            "conmgr_write_timeout,contain_spank,workerpool_threads")
        .only("config_overrides,l3cache_as_socket,numa_node_as_socket,shutdown_on_reboot").acts<&C::slurmd_parameters>(),
    key("SlurmdPidFile", K::kText, "/var/run/slurmd.pid").acts<&C::slurmd_pid_file>()
        .needs_restart(),
    key("SlurmdPort", K::kNumber, "6818").range(1, 65535).acts<&C::slurmd_port>().needs_restart(),
    key("SlurmdSpoolDir", K::kAbsolutePath, "/var/spool/slurmd").acts<&C::slurmd_spool_dir>().needs_restart(),
    key("SlurmdSyslogDebug", K::kEnum)
        .allow("quiet,fatal,error,info,verbose,debug,debug2,debug3,debug4,debug5").numbered()
        .acts<&C::slurmd_syslog_debug>(),
    key("SlurmdTimeout", K::kSeconds, "300").range(0, kMax16).with_unlimited()
        .acts<&C::slurmd_timeout>(),
    key("SlurmdUser", K::kText, "root").acts<&C::slurmd_user>().needs_restart(),
    key("SlurmrestdHttpAuthParameters", K::kText).hidden(),
    key("SlurmrestdParameters", K::kOptions)
        .allow(
            "conmgr_connect_timeout,conmgr_max_connections,conmgr_quiesce_timeout,"
            "conmgr_read_timeout,conmgr_threads,conmgr_use_poll,conmgr_wait_write_delay,"
            "conmgr_write_timeout,workerpool_threads").hidden(),
    key("SlurmSchedLogFile", K::kText).acts<&C::slurm_sched_log_file>(),
    key("SlurmSchedLogLevel", K::kNumber, "0").range(0, 1).acts<&C::slurm_sched_log_level>(),
    key("SlurmctldPidFile", K::kText, "/var/run/slurmctld.pid").acts<&C::slurmctld_pid_file>()
        .needs_restart(),
    key("SlurmstepdParameters", K::kOptions)
        .allow(
            "conmgr_connect_timeout,conmgr_max_connections,conmgr_quiesce_timeout,"
            "conmgr_read_timeout,conmgr_threads,conmgr_use_poll,conmgr_wait_write_delay,"
            "conmgr_write_timeout,workerpool_threads").hidden(),
    key("SLURM_CONF", K::kRuntime),
    key("SLURM_VERSION", K::kRuntime),
    key("SrunEpilog", K::kText).acts<&C::srun_epilog>(),
    key("SrunPortRange", K::kPorts).acts<&C::srun_port_range>().shown({}, "0-0"),
    key("SrunProlog", K::kText).acts<&C::srun_prolog>(),
    key("StateSaveLocation", K::kAbsolutePath, "/var/spool").acts<&C::state_save_location>()
        .needs_restart(),
    key("SuspendExcNodes", K::kText).acts_by(nullptr, "a comma-separated list of host lists, each with a COUNT behind a colon or not"),
    key("SuspendExcParts", K::kWords).acts_by(nullptr),
    key("SuspendExcStates", K::kWords).acts_by(nullptr),
    key("SuspendProgram", K::kText).acts<&C::suspend_program>(),
    key("SuspendRate", K::kNumber, "60").range(0, kMax16).acts_by(nullptr).in(" nodes/min"),
    key("SuspendTime", K::kSeconds, "INFINITE").or_none().acts<&C::suspend_time>(),
    key("SuspendTimeout", K::kSeconds, "30").range(0, kMax16).acts<&C::suspend_timeout>(),
    key("SwitchParameters", K::kOptions)
        .allow(
            "vnis,tcs,single_node_vni,job_vni,def_,res_,max_,txqs,tgqs,eqs,cts,tles,ptes,les,acs,"
            "destroy_retries,adjust_limits,no_adjust_limits,hwcoll_addrs_per_job,hwcoll_num_nodes,"
            "fm_url,fm_auth,fm_authdir,fm_authdir_ctld,fm_mtls_url,fm_mtls_ca,fm_mtls_cert,"
            "fm_mtls_key,nic_distribution_count,imex_channel_count"),
    key("SwitchType", K::kEnum).allow("switch/none,switch/hpe_slingshot,switch/nvidia_imex,switch/generic,switch/cray_aries")
        .keeps<&C::switch_type>().needs_restart(),
    key("TaskEpilog", K::kText).acts<&C::task_epilog>(),
    key("TaskPlugin", K::kList).allow("task/affinity,task/cgroup,task/none")
        .acts<&C::task_plugin>().needs_restart(),
    key("TaskPluginParam", K::kFlags)
        .allow(
            "Cores,None,Sockets,Threads,SlurmdOffSpec,Verbose,Autobind,SlurmdSpecOverride,"
            "OOMKillStep,Autobind=None,Autobind=Cores,Autobind=Sockets,Autobind=Threads")
        .only("Autobind,Cores,None,OOMKillStep,Sockets,Threads,Verbose").acts<&C::task_plugin_param>().shown({}, "(null type)"),
    key("TaskProlog", K::kText).acts<&C::task_prolog>(),
    key("TCPTimeout", K::kSeconds, "2").range(0, kMax16).acts<&C::tcp_timeout>(),
    key("TLSParameters", K::kOptions)
        .allow(
            "ca_cert_file,ctld_cert_file,ctld_cert_key_file,restd_cert_file,restd_cert_key_file,"
            "sackd_cert_file,sackd_cert_key_file,slurmd_cert_file,slurmd_cert_key_file,"
            "load_system_certificates,security_policy_version")
        .only("ca_cert_file,ctld_cert_file,ctld_cert_key_file,slurmd_cert_file,slurmd_cert_key_file")
        .acts_by(nullptr).needs_restart(),
    key("TLSType", K::kEnum, "tls/none").allow("tls/none,tls/s2n").acts_by(nullptr).needs_restart(),
    key("TmpFS", K::kText, "/tmp").acts<&C::tmp_fs>(),
    key("TopologyParam", K::kOptions)
        .allow(
            "Dragonfly,TopoOptional,RoutePart,BlockAsNodeRank,SwitchAsNodeRank,RouteTree,"
            "TopoMaxSizeUnroll").keeps<&C::topology_param>(),
    key("TopologyPlugin", K::kEnum, "topology/flat")
        .allow(
            "topology/flat,topology/none,topology/default,topology/tree,topology/block,"
            "topology/3d_torus,topology/hypercube")
        .only("topology/flat,topology/none,topology/default,topology/tree,topology/block").acts<&C::topology_plugin>().needs_restart(),
    key("TrackWCKey", K::kBool, "NO").acts<&C::track_wckey>(),
    key("TreeWidth", K::kNumber, "16").range(1, kMax16).acts<&C::tree_width>(),
    key("UsePAM", K::kBool, "NO").acts<&C::use_pam>().shown("UsePam", "no"),
    key("UnkillableStepProgram", K::kText).acts<&C::unkillable_step_program>(),
    key("UnkillableStepTimeout", K::kSeconds, "60").range(0, kMax16)
        .acts<&C::unkillable_step_timeout>(),
    key("UrlParserType", K::kEnum).allow("url_parser/libhttp_parser,url_parser/internal"),
    key("VSizeFactor", K::kNumber, "0").range(0, kMax16).in(" percent").acts<&C::v_size_factor>(),
    key("WaitTime", K::kSeconds, "0").range(0, kMax16).acts<&C::wait_time>(),
    key("X11Parameters", K::kOptions).allow("home_xauthority").acts<&C::x11_parameters>(),
};
// clang-format on

}  // namespace

std::span<const GlobalKey> global_keys_p_to_z() { return kRows; }

}  // namespace sluice::tables
