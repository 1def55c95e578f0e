// The fields of sstat, in the order of --helpformat.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/protocol/usage.hpp"

namespace sluice {

struct UsageField {
  std::string_view name;  // also the heading
  int width;              // negative: justified left
  // `convert`: sizes with the largest unit that loses nothing.
  std::string (*render)(const protocol::StepUsageRecord& record, bool convert);
};

[[nodiscard]] std::span<const UsageField> usage_fields();
// By name or its beginning, whatever the case; null when there is none.
[[nodiscard]] const UsageField* find_usage_field(std::string_view name);

inline constexpr std::string_view kUsageLayout =
    "JobID,AllocTRES,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,"
    "AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,"
    "AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,"
    "MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,"
    "AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,"
    "TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,"
    "TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,"
    "TRESUsageOutMinTask,TRESUsageOutTot";
inline constexpr std::string_view kUsagePidLayout = "JobID,Nodelist,Pids";

// "9208K", "1G", "1023"; the bytes as they are without `convert`.
[[nodiscard]] std::string exact_size(uint64_t bytes, bool convert);

}  // namespace sluice
