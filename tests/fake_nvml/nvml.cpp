// Stands for libnvidia-ml.so.1: four GPUs, of which 0 and 1, and 2 and 3, are connected by four
// links and all others by one. Their device files are numbered backwards. FAKE_NVML=broken: a
// library that finds no driver. Clocks that are set lie in the folder "clocks" beside the library,
// where there is one: a file for each GPU, by the number of its device file, with "MEMORY GRAPHICS"
// in MHz; it goes when they are reset.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace {

constexpr unsigned kGpus = 4;
constexpr int kSuccess = 0, kInvalid = 2, kNoDriver = 9;

struct PciInfo {
  char old_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

unsigned index_of(const void* device) {
  return static_cast<unsigned>(reinterpret_cast<size_t>(device)) - 1;
}

void fill(unsigned gpu, PciInfo* out) {
  std::memset(out, 0, sizeof *out);
  out->bus = gpu + 1;
  std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", gpu + 1);
}

// What is at the other end: four links to the partner, then one to each of the other two; kGpus:
// nothing.
unsigned end_of(unsigned gpu, unsigned link) {
  const unsigned partner = gpu ^ 1U;
  if (link < 4) return partner;
  if (link == 4) return gpu ^ 2U;
  return link == 5 ? gpu ^ 3U : kGpus;
}

struct Clocks {
  unsigned memory, graphics;
};
constexpr Clocks kUsual = {1215, 1095};
constexpr int kTooSmall = 7;
constexpr int kMemoryClock = 2;
Clocks set_here[kGpus] = {kUsual, kUsual, kUsual, kUsual};  // by index

// Highest first, as the real one lists them.
const std::vector<unsigned> kMemoryClocks = {1215, 810, 405};
std::vector<unsigned> graphics_clocks(unsigned memory) {
  if (memory == 1215) return {1410, 1110, 810, 510, 210};
  if (memory == 810) return {810, 510, 210};
  return memory == 405 ? std::vector<unsigned>{210} : std::vector<unsigned>();
}

int fill_list(const std::vector<unsigned>& all, unsigned* count, unsigned* out) {
  const bool fits = *count >= all.size();
  *count = static_cast<unsigned>(all.size());
  if (!fits) return kTooSmall;
  std::copy(all.begin(), all.end(), out);
  return kSuccess;
}

std::string file_of(unsigned gpu) {
  Dl_info self;
  if (::dladdr(&set_here, &self) == 0) return {};
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/')) + "/clocks/" + std::to_string(kGpus - 1 - gpu);
}

}  // namespace

extern "C" {

int nvmlDeviceGetSupportedMemoryClocks(void* /*device*/, unsigned* count, unsigned* clocks) {
  return fill_list(kMemoryClocks, count, clocks);
}
int nvmlDeviceGetSupportedGraphicsClocks(void* /*device*/, unsigned memory, unsigned* count,
                                         unsigned* clocks) {
  return graphics_clocks(memory).empty() ? kInvalid
                                         : fill_list(graphics_clocks(memory), count, clocks);
}
int nvmlDeviceSetApplicationsClocks(void* device, unsigned memory, unsigned graphics) {
  const std::vector<unsigned> all = graphics_clocks(memory);
  if (std::find(all.begin(), all.end(), graphics) == all.end()) return kInvalid;
  set_here[index_of(device)] = {memory, graphics};
  if (std::FILE* file = std::fopen(file_of(index_of(device)).c_str(), "w")) {
    std::fprintf(file, "%u %u\n", memory, graphics);
    std::fclose(file);
  }
  return kSuccess;
}
int nvmlDeviceResetApplicationsClocks(void* device) {
  set_here[index_of(device)] = kUsual;
  std::remove(file_of(index_of(device)).c_str());
  return kSuccess;
}
int nvmlDeviceGetApplicationsClock(void* device, int type, unsigned* clock) {
  const Clocks& now = set_here[index_of(device)];
  return *clock = type == kMemoryClock ? now.memory : now.graphics, kSuccess;
}

int nvmlInit_v2() {
  const char* kind = std::getenv("FAKE_NVML");
  return kind != nullptr && std::strcmp(kind, "broken") == 0 ? kNoDriver : kSuccess;
}
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = kGpus, kSuccess; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= kGpus) return kInvalid;
  *device = reinterpret_cast<void*>(static_cast<size_t>(index) + 1);
  return kSuccess;
}
int nvmlDeviceGetName(void* /*device*/, char* name, unsigned size) {
  std::snprintf(name, size, "NVIDIA A100-SXM4-40GB");
  return kSuccess;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  return *minor = kGpus - 1 - index_of(device), kSuccess;
}
int nvmlDeviceGetCpuAffinity(void* /*device*/, unsigned words, unsigned long* mask) {
  std::memset(mask, 0, words * sizeof *mask);
  mask[0] = 1;
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* out) {
  return fill(index_of(device), out), kSuccess;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  return *active = end_of(index_of(device), link) < kGpus ? 1 : 0, kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* out) {
  const unsigned end = end_of(index_of(device), link);
  if (end >= kGpus) return kInvalid;
  return fill(end, out), kSuccess;
}

}  // extern "C"
