// Stands for libnvidia-ml.so.1: four GPUs, of which 0 and 1, and 2 and 3, are connected by four links and all others by
// one. Their device files are numbered backwards. FAKE_NVML=broken: a library that finds no driver.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kGpus = 4;
constexpr int kSuccess = 0, kInvalid = 2, kNoDriver = 9;

struct PciInfo {
  char old_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

unsigned index_of(const void* device) { return static_cast<unsigned>(reinterpret_cast<size_t>(device)) - 1; }

void fill(unsigned gpu, PciInfo* out) {
  std::memset(out, 0, sizeof *out);
  out->bus = gpu + 1;
  std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", gpu + 1);
}

// What is at the other end: four links to the partner, then one to each of the other two; kGpus: nothing.
unsigned end_of(unsigned gpu, unsigned link) {
  const unsigned partner = gpu ^ 1U;
  if (link < 4) return partner;
  if (link == 4) return gpu ^ 2U;
  return link == 5 ? gpu ^ 3U : kGpus;
}

}  // namespace

extern "C" {

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
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) { return *minor = kGpus - 1 - index_of(device), kSuccess; }
int nvmlDeviceGetCpuAffinity(void* /*device*/, unsigned words, unsigned long* mask) {
  std::memset(mask, 0, words * sizeof *mask);
  mask[0] = 1;
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* out) { return fill(index_of(device), out), kSuccess; }
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  return *active = end_of(index_of(device), link) < kGpus ? 1 : 0, kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* out) {
  const unsigned end = end_of(index_of(device), link);
  if (end >= kGpus) return kInvalid;
  return fill(end, out), kSuccess;
}

}  // extern "C"
