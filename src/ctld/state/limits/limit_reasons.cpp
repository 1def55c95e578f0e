#include "ctld/state/limits/limit_reasons.hpp"

#include <algorithm>
#include <array>

namespace sluice::state {
namespace {

using enum JobReason;

// In the order of these columns.
constexpr size_t kTypes = 9;
enum Type : uint8_t { kCpu, kMem, kEnergy, kNode, kBilling, kGres, kLicense, kBB, kUnknown };
using Row = std::array<JobReason, kTypes>;

constexpr Row kQosRows[] = {
    {kQOSGrpCpuLimit, kQOSGrpMemLimit, kQOSGrpEnergy, kQOSGrpNodeLimit, kQOSGrpBilling, kQOSGrpGRES,
     kQOSGrpLicense, kQOSGrpBB, kQOSGrpUnknown},
    {kQOSGrpCPUMinutesLimit, kQOSGrpMemoryMinutes, kQOSGrpEnergyMinutes, kQOSGrpNodeMinutes,
     kQOSGrpBillingMinutes, kQOSGrpGRESMinutes, kQOSGrpLicenseMinutes, kQOSGrpBBMinutes,
     kQOSGrpUnknownMinutes},
    {kQOSGrpCPURunMinutesLimit, kQOSGrpMemoryRunMinutes, kQOSGrpEnergyRunMinutes,
     kQOSGrpNodeRunMinutes, kQOSGrpBillingRunMinutes, kQOSGrpGRESRunMinutes,
     kQOSGrpLicenseRunMinutes, kQOSGrpBBRunMinutes, kQOSGrpUnknownRunMinutes},
    {kQOSMaxCpuPerJobLimit, kQOSMaxMemoryPerJob, kQOSMaxEnergyPerJob, kQOSMaxNodePerJobLimit,
     kQOSMaxBillingPerJob, kQOSMaxGRESPerJob, kQOSMaxLicensePerJob, kQOSMaxBBPerJob,
     kQOSMaxUnknownPerJob},
    {kQOSMaxCpuPerNode, kQOSMaxMemoryPerNode, kQOSMaxEnergyPerNode, kQOSMaxUnknownPerNode,
     kQOSMaxBillingPerNode, kQOSMaxGRESPerNode, kQOSMaxUnknownPerNode, kQOSMaxBBPerNode,
     kQOSMaxUnknownPerNode},
    {kQOSMaxCpuMinutesPerJobLimit, kQOSMaxMemoryMinutesPerJob, kQOSMaxEnergyMinutesPerJob,
     kQOSMaxNodeMinutesPerJob, kQOSMaxBillingMinutesPerJob, kQOSMaxGRESMinutesPerJob,
     kQOSMaxLicenseMinutesPerJob, kQOSMaxUnknownMinutesPerJob, kQOSMaxUnknownMinutesPerJob},
    {kQOSMaxCpuPerUserLimit, kQOSMaxMemoryPerUser, kQOSMaxEnergyPerUser, kQOSMaxNodePerUserLimit,
     kQOSMaxBillingPerUser, kQOSMaxGRESPerUser, kQOSMaxLicensePerUser, kQOSMaxBBPerUser,
     kQOSMaxUnknownPerUser},
    {kMaxCpuPerAccount, kMaxMemoryPerAccount, kMaxEnergyPerAccount, kMaxNodePerAccount,
     kMaxBillingPerAccount, kMaxGRESPerAccount, kMaxLicensePerAccount, kMaxBBPerAccount,
     kMaxUnknownPerAccount},
    {kMaxCpuRunMinsPerUser, kMaxMemoryRunMinsPerUser, kMaxEnergyRunMinsPerUser,
     kMaxNodeRunMinsPerUser, kMaxBillingRunMinsPerUser, kMaxGRESRunMinsPerUser,
     kMaxLicenseRunMinsPerUser, kMaxBBRunMinsPerUser, kMaxUnknownRunMinsPerUser},
    {kMaxCpuRunMinsPerAccount, kMaxMemoryRunMinsPerAccount, kMaxEnergyRunMinsPerAccount,
     kMaxNodeRunMinsPerAccount, kMaxBillingRunMinsPerAccount, kMaxGRESRunMinsPerAccount,
     kMaxLicenseRunMinsPerAccount, kMaxBBRunMinsPerAccount, kMaxUnknownRunMinsPerAccount},
    {kQOSMinCpuNotSatisfied, kQOSMinMemory, kQOSMinEnergy, kQOSMinNode, kQOSMinBilling, kQOSMinGRES,
     kQOSMinLicense, kQOSMinBB, kQOSMinUnknown},
};

constexpr Row kAssociationRows[] = {
    {kAssocGrpCpuLimit, kAssocGrpMemLimit, kAssocGrpEnergy, kAssocGrpNodeLimit, kAssocGrpBilling,
     kAssocGrpGRES, kAssocGrpLicense, kAssocGrpBB, kAssocGrpUnknown},
    {kAssocGrpCPUMinutesLimit, kAssocGrpMemMinutes, kAssocGrpEnergyMinutes, kAssocGrpNodeMinutes,
     kAssocGrpBillingMinutes, kAssocGrpGRESMinutes, kAssocGrpLicenseMinutes, kAssocGrpBBMinutes,
     kAssocGrpUnknownMinutes},
    {kAssocGrpCPURunMinutesLimit, kAssocGrpMemRunMinutes, kAssocGrpEnergyRunMinutes,
     kAssocGrpNodeRunMinutes, kAssocGrpBillingRunMinutes, kAssocGrpGRESRunMinutes,
     kAssocGrpLicenseRunMinutes, kAssocGrpBBRunMinutes, kAssocGrpUnknownRunMinutes},
    {kAssocMaxCpuPerJobLimit, kAssocMaxMemPerJob, kAssocMaxEnergyPerJob, kAssocMaxNodePerJobLimit,
     kAssocMaxBillingPerJob, kAssocMaxGRESPerJob, kAssocMaxLicensePerJob, kAssocMaxBBPerJob,
     kAssocMaxUnknownPerJob},
    {kAssocMaxCpuPerNode, kAssocMaxMemPerNode, kAssocMaxEnergyPerNode, kAssocMaxUnknownPerNode,
     kAssocMaxBillingPerNode, kAssocMaxGRESPerNode, kAssocMaxUnknownPerNode, kAssocMaxBBPerNode,
     kAssocMaxUnknownPerNode},
    {kAssocMaxCpuMinutesPerJobLimit, kAssocMaxMemMinutesPerJob, kAssocMaxEnergyMinutesPerJob,
     kAssocMaxNodeMinutesPerJob, kAssocMaxBillingMinutesPerJob, kAssocMaxGRESMinutesPerJob,
     kAssocMaxLicenseMinutesPerJob, kAssocMaxBBMinutesPerJob, kAssocMaxUnknownMinutesPerJob},
};

Type type_of(const Accounting& accounting, TresId tres) {
  switch (tres) {
    case kTresCpu: return Type::kCpu;
    case kTresMem: return Type::kMem;
    case kTresEnergy: return Type::kEnergy;
    case kTresNode: return Type::kNode;
    case kTresBilling: return Type::kBilling;
    default: break;
  }
  const auto at = std::ranges::lower_bound(*accounting.tres, tres, {}, &TresRecord::id);
  if (at == accounting.tres->end() || at->id != tres) return Type::kUnknown;
  if (at->type == "gres") return Type::kGres;
  if (at->type == "license") return Type::kLicense;
  return at->type == "bb" ? Type::kBB : Type::kUnknown;
}

}  // namespace

JobReason qos_reason(const Accounting& accounting, TresLimit limit, TresId tres) {
  return kQosRows[static_cast<size_t>(limit)][type_of(accounting, tres)];
}

JobReason association_reason(const Accounting& accounting, TresLimit limit, TresId tres) {
  return kAssociationRows[static_cast<size_t>(limit)][type_of(accounting, tres)];
}

bool is_least(JobReason reason) {
  const Row& row = kQosRows[static_cast<size_t>(TresLimit::kLeast)];
  return std::ranges::find(row, reason) != row.end();
}

}  // namespace sluice::state
