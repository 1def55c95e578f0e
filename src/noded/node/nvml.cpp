// GPUs by NVIDIA's management library.
#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>

#include "common/base/bitmap.hpp"
#include "common/step/nvml_library.hpp"
#include "noded/node/gres_devices.hpp"

namespace sluice::noded {
namespace {

using Device = NvmlLibrary::Device;
constexpr int kSuccess = NvmlLibrary::kSuccess;
constexpr size_t kMaskWords = 64;  // of 64 CPUs each

constexpr unsigned kMaxNvLinks = 18;  // of a GPU

// nvmlPciInfo_t
struct PciInfo {
  std::array<char, 16> old_bus_id{};
  unsigned domain = 0, bus = 0, device = 0, device_id = 0, subsystem_id = 0;
  std::array<char, 32> bus_id{};
};

// The calls that this needs of the library; null where it does not have one.
struct Nvml {
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*affinity)(Device, unsigned, unsigned long*) = nullptr;
  int (*pci)(Device, PciInfo*) = nullptr;
  int (*link_state)(Device, unsigned, unsigned*) = nullptr;
  int (*link_end)(Device, unsigned, PciInfo*) = nullptr;

  explicit Nvml(const NvmlLibrary& library) {
    library.find(name, "nvmlDeviceGetName");
    library.find(affinity, "nvmlDeviceGetCpuAffinity");
    library.find(pci, "nvmlDeviceGetPciInfo_v3");
    library.find(link_state, "nvmlDeviceGetNvLinkState");
    library.find(link_end, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  }
  [[nodiscard]] bool knows_links() const {
    return pci != nullptr && link_state != nullptr && link_end != nullptr;
  }
};

// "NVIDIA A100-SXM4-40GB" as a type: "nvidia_a100-sxm4-40gb".
std::string type_of(std::string_view name) {
  std::string type;
  for (const char c : name) {
    type += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return type;
}

struct TopologyCloser {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyCloser>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

// The cores that have one of these CPUs; where the host tells of no cores, the CPUs themselves.
Bitmap cores_of(const Topology& topology, const Bitmap& cpus) {
  const int count =
      topology == nullptr ? 0 : hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
  if (count <= 0) return cpus;
  Bitmap cores;
  for (int core = 0; core < count; ++core) {
    const hwloc_obj_t about =
        hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_CORE, static_cast<unsigned>(core));
    bool near = false;
    cpus.for_each([&](size_t cpu) {
      near = near || hwloc_bitmap_isset(about->cpuset, static_cast<unsigned>(cpu)) == 1;
    });
    if (near) cores.set(static_cast<size_t>(core));
  }
  return cores;
}

std::string near_cores(const Nvml& nvml, Device device, const Topology& topology) {
  std::array<unsigned long, kMaskWords> words{};
  if (nvml.affinity == nullptr || nvml.affinity(device, kMaskWords, words.data()) != kSuccess)
    return {};
  Bitmap cpus;
  for (size_t word = 0; word < words.size(); ++word) {
    for (size_t bit = 0; bit < 64; ++bit) {
      if ((words[word] >> bit & 1) != 0) cpus.set(word * 64 + bit);
    }
  }
  return cores_of(topology, cpus).to_text();
}

// How many NVLinks each GPU has to each other one, as Links= of gres.conf; nothing where there are
// none.
void add_links(const Nvml& nvml, const std::vector<Device>& devices,
               std::vector<GresDevices>& gpus) {
  if (!nvml.knows_links()) return;
  std::vector<std::string> bus_ids;
  for (Device device : devices) {
    PciInfo own;
    bus_ids.emplace_back(nvml.pci(device, &own) == kSuccess ? own.bus_id.data() : "");
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    std::vector<int> links(devices.size());
    for (unsigned link = 0; link < kMaxNvLinks; ++link) {
      unsigned active = 0;
      PciInfo end;
      if (nvml.link_state(devices[i], link, &active) != kSuccess || active == 0) continue;
      if (nvml.link_end(devices[i], link, &end) != kSuccess) continue;
      for (size_t other = 0; other < devices.size(); ++other)
        links[other] += bus_ids[other] == end.bus_id.data() ? 1 : 0;
    }
    if (std::ranges::all_of(links, [](int count) { return count == 0; })) continue;
    links[i] = -1;
    gpus[i].links = fmt::format("{}", fmt::join(links, ","));
  }
}

}  // namespace

std::vector<GresDevices> nvml_gpus(std::vector<std::string>& problems) {
  const auto library = NvmlLibrary::open();
  if (!library) {
    problems.push_back("AutoDetect=nvml: " + library.error().text);
    return {};
  }
  const Nvml nvml(*library);
  std::vector<GresDevices> gpus;
  std::vector<Device> devices;  // of each of `gpus`
  const Topology topology = load_topology();
  const unsigned count = library->count();
  for (unsigned index = 0; index < count; ++index) {
    const auto device = library->device(index);
    const auto minor = device ? library->minor_of(*device) : std::nullopt;
    std::array<char, 96> name{};
    if (!minor || nvml.name == nullptr ||
        nvml.name(*device, name.data(), name.size()) != kSuccess) {
      problems.push_back(fmt::format("AutoDetect=nvml: GPU {} tells nothing of itself", index));
      continue;
    }
    GresDevices gpu;
    gpu.name = "gpu";
    gpu.type = type_of(name.data());
    gpu.count = 1;
    gpu.files = {fmt::format("/dev/nvidia{}", *minor)};
    gpu.cores = near_cores(nvml, *device, topology);
    gpu.flags = {"nvidia_gpu_env"};
    gpus.push_back(std::move(gpu));
    devices.push_back(*device);
  }
  add_links(nvml, devices, gpus);
  return gpus;
}

}  // namespace sluice::noded
