// Generic resources outside the controller: the variables by which a job's processes find the GPUs
// that are theirs, and their sums as TRES.
#pragma once

#include <span>

#include "common/base/bitmap.hpp"
#include "common/model/gres.hpp"
#include "common/protocol/stepd_start.hpp"
#include "common/environment/environment.hpp"

namespace sluice {

// ",gres/gpu=2": those that AccountingStorageTRES names ("gres/gpu:a100" those of a type), each
// with a comma before it.
[[nodiscard]] std::string gres_tres(const GresShares& shares,
                                    const std::vector<std::string>& accounting);
// ",license/matlab=2" of "matlab:2", likewise.
[[nodiscard]] std::string license_tres(std::string_view licenses,
                                       const std::vector<std::string>& accounting);
[[nodiscard]] Bitmap gpu_units(const GresShares& shares);      // those of which parts are held, too
[[nodiscard]] std::string number_list(const Bitmap& numbers);  // "0,1,5"

// CUDA_VISIBLE_DEVICES and its likes, as the flags of these devices say; none of them without
// units.
void set_visible_gpus(const Bitmap& units, std::span<const protocol::GresDevice> devices,
                      Environment& out);
// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: which part of its GPU's MPS is held; not set without any.
void set_mps_percentage(const GresShares& shares, std::span<const protocol::GresDevice> devices,
                        Environment& out);
// SLURM_GPUS_ON_NODE, SLURM_SHARDS_ON_NODE: what a step (or batch script) has on its node.
void set_gres_counts(const GresShares& shares, Environment& out);

// What the job of a step holds on one of the step's nodes.
[[nodiscard]] GresShares gres_of_job(const protocol::StepLaunch& launch, const StepNode& here);
// This node's devices (`configured` is its Gres=), with marks on those of the job and of the step.
[[nodiscard]] std::vector<protocol::GresDevice> list_devices(std::string_view configured,
                                                             const std::vector<GresDevices>& found,
                                                             const GresShares& of_job,
                                                             const GresShares& of_step);

}  // namespace sluice
