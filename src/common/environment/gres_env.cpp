#include "common/environment/gres_env.hpp"

#include <algorithm>
#include <map>

#include "common/syntax/licenses.hpp"

namespace sluice {
namespace {

struct Vendor {
  std::string_view flag;
  std::string_view variable;
};
constexpr Vendor kVendors[] = {{"nvidia_gpu_env", "CUDA_VISIBLE_DEVICES"},
                               {"amd_gpu_env", "ROCR_VISIBLE_DEVICES"},
                               {"opencl_env", "GPU_DEVICE_ORDINAL"},
                               {"intel_gpu_env", "ZE_AFFINITY_MASK"}};

bool has_flag(const std::vector<std::string>& flags, std::string_view flag) {
  return std::ranges::find(flags, flag) != flags.end();
}

// Without a flag all variables are set.
bool tells_of(const std::vector<std::string>& flags, std::string_view wanted) {
  if (has_flag(flags, "no_gpu_env")) return false;
  const bool any = std::ranges::any_of(
      kVendors, [&](const Vendor& vendor) { return has_flag(flags, vendor.flag); });
  return !any || has_flag(flags, wanted);
}

// How many parts each GPU has for MPS, by unit.
std::vector<uint32_t> mps_parts(std::string_view configured,
                                const std::vector<GresDevices>& found) {
  std::vector<uint32_t> out;
  const auto inventory = make_inventory(configured, found);
  if (inventory == nullptr) return out;
  for (const GresKind& kind : inventory->kinds) {
    if (kind.name != "mps") continue;
    size_t at = 0;
    kind.units.for_each([&](size_t unit) {
      out.resize(std::max(out.size(), unit + 1));
      out[unit] = kind.parts[at++];
    });
  }
  return out;
}

Bitmap units_of(const GresShares& shares, std::string_view name) {
  Bitmap units;
  for (const GresShare& share : shares) {
    const bool parts = name == "gpu" && is_shared_gres(share.name);
    if (share.name == name || parts) units |= share.units;
  }
  return units;
}

}  // namespace

std::string gres_tres(const GresShares& shares, const std::vector<std::string>& accounting) {
  std::string out;
  for (const std::string& tres : accounting) {
    if (!tres.starts_with("gres/")) continue;
    const std::string_view name = std::string_view(tres).substr(5);
    const size_t colon = name.find(':');
    const std::string_view type =
        colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
    const uint64_t count = count_of(shares, name.substr(0, colon), type);
    if (count > 0) out.append(",").append(tres).append("=").append(std::to_string(count));
  }
  return out;
}

std::string license_tres(std::string_view licenses, const std::vector<std::string>& accounting) {
  std::string out;
  if (licenses.empty()) return out;
  const LicenseCounts counts = parse_licenses(licenses).value_or(LicenseCounts());
  for (const std::string& tres : accounting) {
    if (!tres.starts_with(kLicenseKind)) continue;
    const auto at = counts.find(std::string_view(tres).substr(kLicenseKind.size()));
    if (at == counts.end() || at->second == 0) continue;
    out.append(",").append(tres).append("=").append(std::to_string(at->second));
  }
  return out;
}

Bitmap gpu_units(const GresShares& shares) { return units_of(shares, "gpu"); }

std::string number_list(const Bitmap& numbers) {
  std::string out;
  numbers.for_each(
      [&](size_t number) { out.append(out.empty() ? "" : ",").append(std::to_string(number)); });
  return out;
}

void set_visible_gpus(const Bitmap& units, std::span<const protocol::GresDevice> devices,
                      Environment& out) {
  for (const Vendor& vendor : kVendors) {
    Bitmap told;
    units.for_each([&](size_t unit) {
      const auto at = std::ranges::find_if(devices, [&](const protocol::GresDevice& device) {
        return device.name == "gpu" && device.unit == unit;
      });
      if (at == devices.end() || tells_of(at->flags, vendor.flag)) told.set(unit);
    });
    if (told.any()) out.set(vendor.variable, number_list(told));
    else out.unset(vendor.variable);
  }
}

void set_gres_counts(const GresShares& shares, Environment& out) {
  const size_t gpus =
      gpu_units(shares).count() + (gpu_units(shares).none() ? count_of(shares, "gpu") : 0);
  if (gpus > 0) out.set("SLURM_GPUS_ON_NODE", std::to_string(gpus));
  else out.unset("SLURM_GPUS_ON_NODE");
  const uint64_t shards = count_of(shares, "shard");
  if (shards > 0) out.set("SLURM_SHARDS_ON_NODE", std::to_string(shards));
  else out.unset("SLURM_SHARDS_ON_NODE");
}

GresShares gres_of_job(const protocol::StepLaunch& launch, const StepNode& here) {
  if (launch.allocation == nullptr) return {};
  for (const NodeAllocation& part : launch.allocation->nodes) {
    if (part.node == here.node) return part.gres;
  }
  return {};
}

void set_mps_percentage(const GresShares& shares, std::span<const protocol::GresDevice> devices,
                        Environment& out) {
  constexpr const char* kPercentage = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";
  for (const GresShare& share : shares) {
    if (share.name != "mps" || share.units.none()) continue;
    const size_t unit = share.units.find_first();  // the one variable is for all GPUs
    const uint64_t held = share.parts.empty() ? share.count : share.parts.front();
    for (const protocol::GresDevice& device : devices) {
      if (device.name != "gpu" || device.unit != unit || device.mps_parts == 0) continue;
      return out.set(kPercentage, std::to_string(held * 100 / device.mps_parts));
    }
  }
  out.unset(kPercentage);
}

std::vector<protocol::GresDevice> list_devices(std::string_view configured,
                                               const std::vector<GresDevices>& found,
                                               const GresShares& of_job,
                                               const GresShares& of_step) {
  const auto parts = mps_parts(configured, found);
  std::vector<protocol::GresDevice> out;
  std::map<std::string, uint32_t> next;
  for (const GresDevices& devices : found) {
    if (is_shared_gres(devices.name)) continue;
    for (const std::string& file : devices.files) {
      protocol::GresDevice device;
      device.name = devices.name;
      device.type = devices.type;
      device.unit = next[devices.name]++;
      device.file = file;
      device.cores = devices.cores;
      device.flags = devices.flags;
      if (device.name == "gpu" && device.unit < parts.size()) device.mps_parts = parts[device.unit];
      device.of_job = units_of(of_job, devices.name).test(device.unit);
      device.of_step = units_of(of_step, devices.name).test(device.unit);
      out.push_back(std::move(device));
    }
  }
  return out;
}

}  // namespace sluice
