// The keys of cgroup.conf, gres.conf, mpi.conf, job_container.conf and helpers.conf.
#include "common/base/hostlist.hpp"
#include "common/tables/conf_keys.hpp"

namespace sluice::tables {
namespace {

using K = ConfKind;
using C = CgroupConfig;
using G = GresLine;
using H = HelpersConfig;
using J = ContainerLine;
using M = MpiConfig;

constexpr ConfKey<C> key(std::string_view name, ConfKind kind, std::string_view fallback = {}) {
  return ConfKey<C>{.name = name, .kind = kind, .fallback = fallback};
}
constexpr ConfKey<G> gres(std::string_view name, ConfKind kind) {
  return ConfKey<G>{.name = name, .kind = kind};
}
constexpr ConfKey<M> mpi(std::string_view name, ConfKind kind, std::string_view fallback = {}) {
  return ConfKey<M>{.name = name, .kind = kind, .fallback = fallback};
}

constexpr ConfKey<J> container(std::string_view name, ConfKind kind, std::string_view fallback = {}) {
  return ConfKey<J>{.name = name, .kind = kind, .fallback = fallback};
}

constexpr ConfKey<H> helpers(std::string_view name, ConfKind kind, std::string_view fallback = {}) {
  return ConfKey<H>{.name = name, .kind = kind, .fallback = fallback};
}
constexpr ConfKey<HelperLine> helper(std::string_view name, ConfKind kind) {
  return ConfKey<HelperLine>{.name = name, .kind = kind};
}

constexpr ConfKey<C> kCgroupKeys[] = {
    key("AllowedDevicesFile", K::kText).obsolete(),
    key("AllowedKmemSpace", K::kPercent).obsolete(),
    key("AllowedRAMSpace", K::kPercent, "100").acts<&C::allowed_ram_percent>(),
    key("AllowedSwapSpace", K::kPercent, "0").acts<&C::allowed_swap_percent>(),
    key("CgroupAutomount", K::kBool).obsolete(),
    key("CgroupJobIdPaths", K::kBool, "no"),
    key("CgroupMountpoint", K::kAbsolutePath, "/sys/fs/cgroup").acts<&C::mountpoint>(),
    key("CgroupPlugin", K::kEnum, "autodetect")
        .allow("autodetect,cgroup/v1,cgroup/v2,disabled")
        .acts<&C::plugin>(),
    key("CgroupReleaseAgentDir", K::kText).obsolete(),
    key("CgroupSlice", K::kText, "system.slice"),
    key("ConstrainCores", K::kBool, "no").acts<&C::constrain_cores>(),
    key("ConstrainDevices", K::kBool, "no").acts<&C::constrain_devices>(),
    key("ConstrainKmemSpace", K::kBool).obsolete(),
    key("ConstrainRAMSpace", K::kBool, "no").acts<&C::constrain_ram_space>(),
    key("ConstrainSwapSpace", K::kBool, "no").acts<&C::constrain_swap_space>(),
    key("EnableControllers", K::kBool, "no").keeps<&C::enable_controllers>(),
    key("EnableExtraControllers", K::kWords),
    key("IgnoreSystemd", K::kBool, "no").keeps<&C::ignore_systemd>(),
    key("IgnoreSystemdOnFailure", K::kBool, "no"),
    key("MaxKmemPercent", K::kPercent).obsolete(),
    key("MaxPids", K::kNumber, "0").range(0, kMax32).acts<&C::max_pids>(),  // Sluice's own
    key("MaxRAMPercent", K::kPercent, "100").acts<&C::max_ram_percent>(),
    key("MaxSwapPercent", K::kPercent, "100").acts<&C::max_swap_percent>(),
    key("MemoryLimitEnforcement", K::kBool).obsolete(),
    key("MemoryLimitThreshold", K::kPercent).obsolete(),
    key("MemorySwappiness", K::kNumber).range(0, 100).acts<&C::memory_swappiness>(),
    key("MinKmemSpace", K::kMemory).obsolete(),
    key("MinRAMSpace", K::kMemory, "30").range(0, kMax64).acts<&C::min_ram_mib>(),
    key("SignalChildrenProcesses", K::kBool, "no"),
    key("SystemdTimeout", K::kMilliseconds, "1000").keeps<&C::systemd_timeout>(),
};

constexpr ConfKey<G> kGresKeys[] = {
    gres("Name", K::kName).acts<&G::name>(),
    gres("AutoDetect", K::kEnum)
        .allow("off,nvml,nvidia,rsmi,oneapi,nrt,full")
        .only("off,nvml,nvidia,full")
        .acts<&G::auto_detect>(),
    gres("Count", K::kText).acts<&G::count_text>(),
    gres("Cores", K::kText).acts<&G::cores>(),
    gres("CPUs", K::kText).acts<&G::cores>(),
    gres("File", K::kHosts).acts<&G::file_names>(),
    gres("Files", K::kHosts).acts<&G::file_names>(),
    gres("Flags", K::kFlags)
        .allow("CountOnly,explicit,one_sharing,all_sharing,nvidia_gpu_env,amd_gpu_env,"
               "intel_gpu_env,opencl_env,no_gpu_env")
        .only("CountOnly,one_sharing,all_sharing,nvidia_gpu_env,amd_gpu_env,intel_gpu_env,opencl_env,no_gpu_env")
        .acts<&G::flags>(),
    gres("Links", K::kText).acts<&G::links>(),
    gres("Link", K::kText).acts<&G::links>(),
    gres("MultipleFiles", K::kHosts).acts<&G::multiple_file_names>(),
    gres("NodeName", K::kHosts).acts<&G::node_names>(),
    gres("Type", K::kText).acts<&G::type>(),
};

constexpr ConfKey<M> kMpiKeys[] = {
    mpi("PMIxCliTmpDirBase", K::kText).acts<&M::pmix_tmp_base>(),
    mpi("PMIxCollFence", K::kText),
    mpi("PMIxDebug", K::kNumber, "0").acts<&M::pmix_debug>(),
    mpi("PMIxDirectConn", K::kBool, "yes"),
    mpi("PMIxDirectConnEarly", K::kBool, "no"),
    mpi("PMIxDirectConnUCX", K::kBool, "no"),
    mpi("PMIxDirectSameArch", K::kBool, "no"),
    mpi("PMIxEnv", K::kText).acts<&M::pmix_environment>(),
    mpi("PMIxFenceBarrier", K::kBool, "no"),
    mpi("PMIxNetDevicesUCX", K::kText),
    mpi("PMIxShareServerTopology", K::kBool, "no"),
    mpi("PMIxTimeout", K::kNumber, "300").acts<&M::pmix_timeout_s>(),
    mpi("PMIxTlsUCX", K::kText),
};

constexpr ConfKey<J> kContainerKeys[] = {
    container("NodeName", K::kHosts).acts<&J::node_names>(),
    container("AutoBasePath", K::kBool, "no").acts<&J::auto_base_path>(),
    container("BasePath", K::kText).acts<&J::base_path>(),
    container("CloneNSEpilog", K::kText),
    container("CloneNSEpilog_Wait", K::kNumber, "10"),
    container("CloneNSScript", K::kText),
    container("CloneNSScript_Wait", K::kNumber, "10"),
    container("Dirs", K::kWords, "/tmp,/dev/shm").acts<&J::folders>(),
    container("EntireStepInNS", K::kBool, "no"),
    container("InitScript", K::kText).acts<&J::init_script>(),
    container("Shared", K::kBool, "no"),
};

constexpr ConfKey<H> kHelpersKeys[] = {
    helpers("AllowUserBoot", K::kWords).acts<&H::allow_user_boot>(),
    helpers("BootTime", K::kSeconds, "300").acts<&H::boot_time>(),
    helpers("ExecTime", K::kSeconds, "10").acts<&H::exec_time>(),
    helpers("MutuallyExclusive", K::kText).adds<&H::exclusive>(),
    helpers("NodeRebootWeight", K::kNumber).obsolete(),
};

constexpr ConfKey<HelperLine> kHelperLineKeys[] = {
    helper("Feature", K::kWords).acts<&HelperLine::features>(),
    helper("Flags", K::kFlags).allow("rebootless").acts<&HelperLine::flags>(),
    helper("Helper", K::kAbsolutePath).acts<&HelperLine::program>(),
    helper("NodeName", K::kHosts).acts<&HelperLine::node_names>(),
};

}  // namespace

std::span<const ConfKey<CgroupConfig>> cgroup_keys() {
  return kCgroupKeys;
}
std::span<const ConfKey<GresLine>> gres_keys() {
  return kGresKeys;
}
std::span<const ConfKey<MpiConfig>> mpi_keys() {
  return kMpiKeys;
}

std::span<const ConfKey<ContainerLine>> container_keys() {
  return kContainerKeys;
}

std::span<const ConfKey<HelpersConfig>> helpers_keys() {
  return kHelpersKeys;
}
std::span<const ConfKey<HelperLine>> helper_line_keys() {
  return kHelperLineKeys;
}

}  // namespace sluice::tables
