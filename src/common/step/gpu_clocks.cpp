#include "common/step/gpu_clocks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/base/text.hpp"
#include "common/step/folder_lock.hpp"
#include "common/step/step_spool.hpp"

namespace sluice {
namespace {

constexpr size_t kMostBytes = 64U << 10;
constexpr unsigned kMostClocks = 4096;  // of one list
constexpr int kGraphicsClock = 0;       // nvmlClockType_t
constexpr int kMemoryClock = 2;

// What the call writes into a list, ascending; empty where it fails.
template <class Call>
std::vector<uint32_t> list_of(const Call& call) {
  std::vector<unsigned> clocks(kMostClocks);
  unsigned count = kMostClocks;
  if (call(&count, clocks.data()) != NvmlLibrary::kSuccess) return {};
  clocks.resize(std::min(count, kMostClocks));
  std::ranges::sort(clocks);
  return clocks;
}

Status done_or(int code, uint32_t gpu, std::string_view what) {
  if (code == NvmlLibrary::kSuccess) return {};
  return failure(
      fmt::format("the clocks of GPU {} cannot be {}: NVML's error {}", gpu, what, code));
}

// What is remembered of one GPU: the steps that have changed it, the latest one last.
using Memory = std::vector<std::pair<std::string, GpuClocks>>;

// A line that its host's crash left unfinished does not count.
Memory read_memory(const std::string& path) {
  Memory steps;
  for (const std::string& line : split(read_file(path, kMostBytes).value_or(""), '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() != 3) continue;
    const auto memory = to_number<uint32_t>(words[1]), graphics = to_number<uint32_t>(words[2]);
    if (memory && graphics) steps.emplace_back(words[0], GpuClocks{*memory, *graphics});
  }
  return steps;
}

Status write_memory(const std::string& path, const Memory& steps) {
  std::string text;
  for (const auto& [name, clocks] : steps)
    text += fmt::format("{} {} {}\n", name, clocks.memory, clocks.graphics);
  return replace_file(path, text);
}

}  // namespace

NvmlClocks::NvmlClocks(NvmlLibrary library) : library_(std::move(library)) {
  library_.find(memory_clocks_, "nvmlDeviceGetSupportedMemoryClocks");
  library_.find(graphics_clocks_, "nvmlDeviceGetSupportedGraphicsClocks");
  library_.find(set_clocks_, "nvmlDeviceSetApplicationsClocks");
  library_.find(reset_clocks_, "nvmlDeviceResetApplicationsClocks");
  library_.find(clock_, "nvmlDeviceGetApplicationsClock");
}

Result<NvmlClocks> NvmlClocks::open() {
  auto library = NvmlLibrary::open();
  if (!library) return tl::unexpected<Error>(library.error());
  NvmlClocks nvml(std::move(*library));
  const bool usable = nvml.memory_clocks_ != nullptr && nvml.graphics_clocks_ != nullptr &&
                      nvml.set_clocks_ != nullptr && nvml.reset_clocks_ != nullptr &&
                      nvml.clock_ != nullptr;
  if (!usable) return failure("the library does not set clocks");
  const unsigned count = nvml.library_.count();
  for (unsigned index = 0; index < count; ++index) {
    const auto device = nvml.library_.device(index);
    const auto minor = device ? nvml.library_.minor_of(*device) : std::nullopt;
    if (minor) nvml.gpus_.emplace(*minor, *device);
  }
  return nvml;
}

GpuOffer NvmlClocks::offer(uint32_t gpu) const {
  GpuOffer offer;
  const auto place = gpus_.find(gpu);
  if (place == gpus_.end()) return offer;
  const Device device = place->second;
  for (const uint32_t memory : list_of([&](unsigned*count, unsigned*clocks) {
         return memory_clocks_(device, count, clocks);
       })) {
    auto graphics = list_of([&](unsigned* count, unsigned* clocks) {
      return graphics_clocks_(device, memory, count, clocks);
    });
    if (!graphics.empty()) offer.emplace(memory, std::move(graphics));
  }
  return offer;
}

Status NvmlClocks::set(uint32_t gpu, GpuClocks clocks) const {
  const auto place = gpus_.find(gpu);
  if (place == gpus_.end()) return failure(fmt::format("NVML knows of no GPU {}", gpu));
  return done_or(set_clocks_(place->second, clocks.memory, clocks.graphics), gpu, "set");
}

Status NvmlClocks::reset(uint32_t gpu) const {
  const auto place = gpus_.find(gpu);
  if (place == gpus_.end()) return failure(fmt::format("NVML knows of no GPU {}", gpu));
  return done_or(reset_clocks_(place->second), gpu, "reset");
}

GpuClocks NvmlClocks::now(uint32_t gpu) const {
  GpuClocks clocks;
  const auto place = gpus_.find(gpu);
  if (place == gpus_.end()) return clocks;
  if (clock_(place->second, kMemoryClock, &clocks.memory) != NvmlLibrary::kSuccess)
    clocks.memory = 0;
  if (clock_(place->second, kGraphicsClock, &clocks.graphics) != NvmlLibrary::kSuccess)
    clocks.graphics = 0;
  return clocks;
}

std::optional<uint32_t> gpu_of_file(std::string_view file) {
  constexpr std::string_view kStart = "/dev/nvidia";
  if (!file.starts_with(kStart)) return std::nullopt;
  return to_number<uint32_t>(file.substr(kStart.size()));
}

Status ChangedGpus::set(const NvmlClocks& nvml, const protocol::StepKey& step, uint32_t gpu,
                        GpuClocks wanted) const {
  const FolderLock lock(folder_, FolderLock::kMake);
  if (Status there = lock.there(); !there) return there;
  const std::string path = fmt::format("{}/{}", folder_, gpu);
  Memory steps = read_memory(path);
  const std::string own = step_file_name(step);
  std::erase_if(steps, [&](const auto& entry) { return entry.first == own; });
  steps.emplace_back(own, wanted);
  // first: what is not remembered would stay
  if (Status kept = write_memory(path, steps); !kept) return kept;
  return nvml.set(gpu, wanted);
}

Status ChangedGpus::give_back(const protocol::StepKey& step) const {
  return give_back_where(
      [name = step_file_name(step)](std::string_view one) { return one == name; });
}

Status ChangedGpus::give_all_back() const {
  return give_back_where([](std::string_view) { return true; });
}

Status ChangedGpus::give_back_where(const std::function<bool(std::string_view)>& is_over) const {
  const FolderLock lock(folder_);
  std::optional<Result<NvmlClocks>> nvml;
  Status all;
  for (const std::string& path : lock.files()) {
    Memory steps = read_memory(path);
    const auto gpu = to_number<uint32_t>(std::string_view(path).substr(path.rfind('/') + 1));
    if (!gpu || std::erase_if(steps, [&](const auto& entry) { return is_over(entry.first); }) == 0)
      continue;
    if (!nvml) nvml.emplace(NvmlClocks::open());
    Status done;
    if (!*nvml) done = tl::unexpected<Error>(nvml->error());
    else done = steps.empty() ? (*nvml)->reset(*gpu) : (*nvml)->set(*gpu, steps.back().second);
    if (steps.empty()) ::unlink(path.c_str());
    else if (Status kept = write_memory(path, steps); !kept && done) done = std::move(kept);
    if (!done && all) all = std::move(done);
  }
  return all;
}

}  // namespace sluice
