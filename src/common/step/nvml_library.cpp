#include "common/step/nvml_library.hpp"

#include <dlfcn.h>

namespace sluice {
namespace {

constexpr const char* kFile = "libnvidia-ml.so.1";

}  // namespace

void NvmlLibrary::Closer::operator()(void* library) const { ::dlclose(library); }

void* NvmlLibrary::address_of(const char* symbol) const { return ::dlsym(library_.get(), symbol); }

Result<NvmlLibrary> NvmlLibrary::open() {
  NvmlLibrary nvml(::dlopen(kFile, RTLD_LAZY | RTLD_LOCAL));
  if (nvml.library_ == nullptr) return failure("libnvidia-ml.so.1 is not there");
  int (*init)() = nullptr;
  nvml.find(init, "nvmlInit_v2");
  bool usable = init != nullptr;
  for (const char* symbol : {"nvmlShutdown", "nvmlDeviceGetCount_v2",
                             "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMinorNumber"}) {
    usable = usable && nvml.address_of(symbol) != nullptr;
  }
  if (!usable || init() != kSuccess) return failure("the library cannot be used");
  nvml.began_ = true;
  return nvml;
}

NvmlLibrary::~NvmlLibrary() {
  if (!began_) return;
  int (*shutdown)() = nullptr;
  find(shutdown, "nvmlShutdown");
  shutdown();
}

unsigned NvmlLibrary::count() const {
  int (*call)(unsigned*) = nullptr;
  find(call, "nvmlDeviceGetCount_v2");
  unsigned count = 0;
  return call(&count) == kSuccess ? count : 0;
}

std::optional<NvmlLibrary::Device> NvmlLibrary::device(unsigned index) const {
  int (*call)(unsigned, Device*) = nullptr;
  find(call, "nvmlDeviceGetHandleByIndex_v2");
  Device device = nullptr;
  if (call(index, &device) != kSuccess) return std::nullopt;
  return device;
}

std::optional<unsigned> NvmlLibrary::minor_of(Device device) const {
  int (*call)(Device, unsigned*) = nullptr;
  find(call, "nvmlDeviceGetMinorNumber");
  unsigned minor = 0;
  if (call(device, &minor) != kSuccess) return std::nullopt;
  return minor;
}

}  // namespace sluice
