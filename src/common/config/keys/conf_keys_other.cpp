// The keys of cgroup.conf, gres.conf, mpi.conf, job_container.conf and helpers.conf.
#include "common/base/hostlist.hpp"
#include "common/config/keys/conf_rows.hpp"

namespace sluice::tables {
namespace {

using K = ConfKind;
using C = CgroupConfig;
using G = GresLine;
using H = HelpersConfig;
using J = ContainerLine;
using M = MpiConfig;

constexpr ConfKey<C> kCgroupKeys[] = {
    key<C>("AllowedDevicesFile", K::kText).obsolete(),
    key<C>("AllowedKmemSpace", K::kPercent).obsolete(),
    key<C>("AllowedRAMSpace", K::kPercent, "100").acts<&C::allowed_ram_percent>(),
    key<C>("AllowedSwapSpace", K::kPercent, "0").acts<&C::allowed_swap_percent>(),
    key<C>("CgroupAutomount", K::kBool).obsolete(),
    key<C>("CgroupJobIdPaths", K::kBool, "no"),
    key<C>("CgroupMountpoint", K::kAbsolutePath, "/sys/fs/cgroup").acts<&C::mountpoint>(),
    key<C>("CgroupPlugin", K::kEnum, "autodetect")
        .allow("autodetect,cgroup/v1,cgroup/v2,disabled")
        .acts<&C::plugin>(),
    key<C>("CgroupReleaseAgentDir", K::kText).obsolete(),
    key<C>("CgroupSlice", K::kText, "system.slice"),
    key<C>("ConstrainCores", K::kBool, "no").acts<&C::constrain_cores>(),
    key<C>("ConstrainDevices", K::kBool, "no").acts<&C::constrain_devices>(),
    key<C>("ConstrainKmemSpace", K::kBool).obsolete(),
    key<C>("ConstrainRAMSpace", K::kBool, "no").acts<&C::constrain_ram_space>(),
    key<C>("ConstrainSwapSpace", K::kBool, "no").acts<&C::constrain_swap_space>(),
    key<C>("EnableControllers", K::kBool, "no").acts<&C::enable_controllers>(),
    key<C>("EnableExtraControllers", K::kWords),
    key<C>("IgnoreSystemd", K::kBool, "no").keeps<&C::ignore_systemd>(),
    key<C>("IgnoreSystemdOnFailure", K::kBool, "no"),
    key<C>("MaxKmemPercent", K::kPercent).obsolete(),
    key<C>("MaxPids", K::kNumber, "0").range(0, kMax32).acts<&C::max_pids>(),  // Sluice's own
    key<C>("MaxRAMPercent", K::kPercent, "100").acts<&C::max_ram_percent>(),
    key<C>("MaxSwapPercent", K::kPercent, "100").acts<&C::max_swap_percent>(),
    key<C>("MemoryLimitEnforcement", K::kBool).obsolete(),
    key<C>("MemoryLimitThreshold", K::kPercent).obsolete(),
    key<C>("MemorySwappiness", K::kNumber).range(0, 100).acts<&C::memory_swappiness>(),
    key<C>("MinKmemSpace", K::kMemory).obsolete(),
    key<C>("MinRAMSpace", K::kMemory, "30").range(0, kMax64).acts<&C::min_ram_mib>(),
    key<C>("SignalChildrenProcesses", K::kBool, "no"),
    key<C>("SystemdTimeout", K::kMilliseconds, "1000").keeps<&C::systemd_timeout>(),
};

constexpr ConfKey<G> kGresKeys[] = {
    key<G>("Name", K::kName).acts<&G::name>(),
    key<G>("AutoDetect", K::kEnum)
        .allow("off,nvml,nvidia,rsmi,oneapi,nrt,full")
        .only("off,nvml,nvidia,full")
        .acts<&G::auto_detect>(),
    key<G>("Count", K::kText).acts<&G::count_text>(),
    key<G>("Cores", K::kText).acts<&G::cores>(),
    key<G>("CPUs", K::kText).acts<&G::cores>(),
    key<G>("File", K::kHosts).acts<&G::file_names>(),
    key<G>("Files", K::kHosts).acts<&G::file_names>(),
    key<G>("Flags", K::kFlags)
        .allow("CountOnly,explicit,one_sharing,all_sharing,nvidia_gpu_env,amd_gpu_env,"
               "intel_gpu_env,opencl_env,no_gpu_env")
        .only(
            "CountOnly,one_sharing,all_sharing,nvidia_gpu_env,amd_gpu_env,intel_gpu_env,opencl_env,no_gpu_env")
        .acts<&G::flags>(),
    key<G>("Links", K::kText).acts<&G::links>(),
    key<G>("Link", K::kText).acts<&G::links>(),
    key<G>("MultipleFiles", K::kHosts).acts<&G::multiple_file_names>(),
    key<G>("NodeName", K::kHosts).acts<&G::node_names>(),
    key<G>("Type", K::kText).acts<&G::type>(),
};

constexpr ConfKey<M> kMpiKeys[] = {
    key<M>("PMIxCliTmpDirBase", K::kText).acts<&M::pmix_tmp_base>(),
    key<M>("PMIxCollFence", K::kText),
    key<M>("PMIxDebug", K::kNumber, "0").acts<&M::pmix_debug>(),
    key<M>("PMIxDirectConn", K::kBool, "yes"),
    key<M>("PMIxDirectConnEarly", K::kBool, "no"),
    key<M>("PMIxDirectConnUCX", K::kBool, "no"),
    key<M>("PMIxDirectSameArch", K::kBool, "no"),
    key<M>("PMIxEnv", K::kText).acts<&M::pmix_environment>(),
    key<M>("PMIxFenceBarrier", K::kBool, "no"),
    key<M>("PMIxNetDevicesUCX", K::kText),
    key<M>("PMIxShareServerTopology", K::kBool, "no"),
    key<M>("PMIxTimeout", K::kNumber, "300").acts<&M::pmix_timeout_s>(),
    key<M>("PMIxTlsUCX", K::kText),
};

constexpr ConfKey<J> kContainerKeys[] = {
    key<J>("NodeName", K::kHosts).acts<&J::node_names>(),
    key<J>("AutoBasePath", K::kBool, "no").acts<&J::auto_base_path>(),
    key<J>("BasePath", K::kText).acts<&J::base_path>(),
    key<J>("CloneNSEpilog", K::kText),
    key<J>("CloneNSEpilog_Wait", K::kNumber, "10"),
    key<J>("CloneNSScript", K::kText),
    key<J>("CloneNSScript_Wait", K::kNumber, "10"),
    key<J>("Dirs", K::kWords, "/tmp,/dev/shm").acts<&J::folders>(),
    key<J>("EntireStepInNS", K::kBool, "no"),
    key<J>("InitScript", K::kText).acts<&J::init_script>(),
    key<J>("Shared", K::kBool, "no").acts<&J::shared>(),
};

constexpr ConfKey<H> kHelpersKeys[] = {
    key<H>("AllowUserBoot", K::kWords).acts<&H::allow_user_boot>(),
    key<H>("BootTime", K::kSeconds, "300").acts<&H::boot_time>(),
    key<H>("ExecTime", K::kSeconds, "10").acts<&H::exec_time>(),
    key<H>("MutuallyExclusive", K::kText).adds<&H::exclusive>(),
    key<H>("NodeRebootWeight", K::kNumber).obsolete(),
};

constexpr ConfKey<HelperLine> kHelperLineKeys[] = {
    key<HelperLine>("Feature", K::kWords).acts<&HelperLine::features>(),
    key<HelperLine>("Flags", K::kFlags).allow("rebootless").acts<&HelperLine::flags>(),
    key<HelperLine>("Helper", K::kAbsolutePath).acts<&HelperLine::program>(),
    key<HelperLine>("NodeName", K::kHosts).acts<&HelperLine::node_names>(),
};

}  // namespace

std::span<const ConfKey<CgroupConfig>> cgroup_keys() { return kCgroupKeys; }
std::span<const ConfKey<GresLine>> gres_keys() { return kGresKeys; }
std::span<const ConfKey<MpiConfig>> mpi_keys() { return kMpiKeys; }

std::span<const ConfKey<ContainerLine>> container_keys() { return kContainerKeys; }

std::span<const ConfKey<HelpersConfig>> helpers_keys() { return kHelpersKeys; }
std::span<const ConfKey<HelperLine>> helper_line_keys() { return kHelperLineKeys; }

}  // namespace sluice::tables
