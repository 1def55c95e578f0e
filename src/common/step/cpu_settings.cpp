#include "common/step/cpu_settings.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "common/base/text.hpp"
#include "common/step/folder_lock.hpp"
#include "common/step/step_spool.hpp"

namespace sluice {
namespace {

constexpr size_t kMostBytes = 64U << 10;
constexpr std::string_view kNone = "-";
constexpr size_t kWords = 4;  // of settings in a line

std::string read_value(const std::string& folder, std::string_view file) {
  return std::string(trim(read_file(fmt::format("{}/{}", folder, file), kMostBytes).value_or("")));
}
uint32_t read_number(const std::string& folder, std::string_view file) {
  return to_number<uint32_t>(read_value(folder, file)).value_or(0);
}

Status write_value(const std::string& path, std::string_view value) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  const bool good =
      fd >= 0 && ::write(fd, value.data(), value.size()) == static_cast<ssize_t>(value.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (good) return {};
  return failure(fmt::format("cannot write {} to {}: {}", value, path, errno_text(error)));
}

CpuSettings read_settings(const std::string& folder) {
  return {read_value(folder, "scaling_governor"), read_number(folder, "scaling_min_freq"),
          read_number(folder, "scaling_max_freq"), read_number(folder, "scaling_setspeed")};
}

Status write_settings(const std::string& folder, const CpuSettings& wanted) {
  Status all;
  for (const auto& [file, value] : cpu_writes(read_settings(folder), wanted)) {
    Status done = write_value(fmt::format("{}/{}", folder, file), value);
    if (!done && all) all = std::move(done);
  }
  return all;
}

// "ondemand 1000000 3000000 0"
std::string settings_text(const CpuSettings& settings) {
  const std::string_view governor =
      settings.governor.empty() ? kNone : std::string_view(settings.governor);
  return fmt::format("{} {} {} {}", governor, settings.min, settings.max, settings.speed);
}
std::optional<CpuSettings> parse_settings(const std::vector<std::string>& words, size_t first) {
  if (words.size() != first + kWords) return std::nullopt;
  const auto min = to_number<uint32_t>(words[first + 1]),
             max = to_number<uint32_t>(words[first + 2]);
  const auto speed = to_number<uint32_t>(words[first + 3]);
  if (!min || !max || !speed) return std::nullopt;
  return CpuSettings{words[first] == kNone ? "" : words[first], *min, *max, *speed};
}

// What is remembered of one CPU.
struct Memory {
  std::string cpu_folder;  // of its files
  CpuSettings before;
  std::vector<std::pair<std::string, CpuSettings>> steps;  // the latest one last

  [[nodiscard]] CpuSettings wanted() const {
    CpuSettings all = before;
    for (const auto& [name, own] : steps) {
      if (!own.governor.empty()) all.governor = own.governor;
      if (own.min != 0) all.min = own.min;
      if (own.max != 0) all.max = own.max;
      if (own.speed != 0) all.speed = own.speed;
    }
    return all;
  }
  bool forget(const std::function<bool(std::string_view)>& is_over) {
    return std::erase_if(steps, [&](const auto& entry) { return is_over(entry.first); }) > 0;
  }
};

// Nothing: there is no such file, or its host crashed while it was written.
std::optional<Memory> read_memory(const std::string& path) {
  const auto text = read_file(path, kMostBytes);
  if (!text) return std::nullopt;
  const std::vector<std::string> lines = split(*text, '\n');
  if (lines.size() < 2) return std::nullopt;
  Memory memory;
  memory.cpu_folder = lines[0];
  const auto before = parse_settings(split(lines[1], ' '), 0);
  if (!before) return std::nullopt;
  memory.before = *before;
  for (size_t i = 2; i < lines.size(); ++i) {
    const std::vector<std::string> words = split(lines[i], ' ');
    if (const auto own = parse_settings(words, 1)) memory.steps.emplace_back(words[0], *own);
  }
  return memory;
}

Status write_memory(const std::string& path, const Memory& memory) {
  std::string text = memory.cpu_folder + '\n' + settings_text(memory.before) + '\n';
  for (const auto& [name, own] : memory.steps) text += name + ' ' + settings_text(own) + '\n';
  return replace_file(path, text);
}

}  // namespace

std::optional<CpuOffer> read_cpu_offer(const std::string& cpu_folder, size_t cpu) {
  const std::string folder = fmt::format("{}/cpu{}/cpufreq", cpu_folder, cpu);
  CpuOffer offer;
  offer.now = read_settings(folder);
  if (offer.now.governor.empty()) return std::nullopt;
  offer.lowest = read_number(folder, "cpuinfo_min_freq");
  offer.highest = read_number(folder, "cpuinfo_max_freq");
  for (const std::string& word : split(read_value(folder, "scaling_available_frequencies"), ' ')) {
    if (const auto number = to_number<uint32_t>(word)) offer.frequencies.push_back(*number);
  }
  std::ranges::sort(offer.frequencies);
  for (const std::string& word : split(read_value(folder, "scaling_available_governors"), ' ')) {
    if (!word.empty()) offer.governors.push_back(word);
  }
  return offer;
}

std::vector<std::pair<std::string_view, std::string>> cpu_writes(const CpuSettings& now,
                                                                 const CpuSettings& wanted) {
  std::vector<std::pair<std::string_view, std::string>> writes;
  const auto add = [&](std::string_view file, uint32_t before, uint32_t value) {
    if (value != 0 && value != before) writes.emplace_back(file, std::to_string(value));
  };
  const bool max_first = wanted.min > now.max;
  if (max_first) add("scaling_max_freq", now.max, wanted.max);
  add("scaling_min_freq", now.min, wanted.min);
  if (!max_first) add("scaling_max_freq", now.max, wanted.max);
  if (!wanted.governor.empty() && wanted.governor != now.governor)
    writes.emplace_back("scaling_governor", wanted.governor);
  if (wanted.governor == "userspace") add("scaling_setspeed", 0, wanted.speed);
  return writes;
}

Status ChangedCpus::set(const protocol::StepKey& step, size_t cpu,
                        const CpuSettings& wanted) const {
  std::error_code error;
  // cpu1/cpufreq may be a link to cpufreq/policy0, which other CPUs have, too
  const auto real =
      std::filesystem::canonical(fmt::format("{}/cpu{}/cpufreq", cpu_folder_, cpu), error);
  if (error) return failure(fmt::format("CPU {} has no settings: {}", cpu, error.message()));
  const FolderLock lock(folder_, FolderLock::kMake);
  if (Status there = lock.there(); !there) return there;
  const std::string name = real.filename() == "cpufreq" ? real.parent_path().filename().string()
                                                        : real.filename().string();
  const std::string path = folder_ + "/" + name;
  Memory memory =
      read_memory(path).value_or(Memory{real.string(), read_settings(real.string()), {}});
  const std::string own = step_file_name(step);
  memory.forget([&](std::string_view one) { return one == own; });
  memory.steps.emplace_back(own, wanted);
  if (Status kept = write_memory(path, memory); !kept) return kept;
  return write_settings(memory.cpu_folder, memory.wanted());
}

Status ChangedCpus::give_back(const protocol::StepKey& step) const {
  return give_back_where(
      [name = step_file_name(step)](std::string_view one) { return one == name; });
}

Status ChangedCpus::give_all_back() const {
  return give_back_where([](std::string_view) { return true; });
}

Status ChangedCpus::give_back_where(const std::function<bool(std::string_view)>& is_over) const {
  const FolderLock lock(folder_);
  Status all;
  for (const std::string& path : lock.files()) {
    auto memory = read_memory(path);
    if (!memory || !memory->forget(is_over)) continue;
    Status done = write_settings(memory->cpu_folder, memory->wanted());
    if (memory->steps.empty()) ::unlink(path.c_str());
    else if (Status kept = write_memory(path, *memory); !kept && done) done = std::move(kept);
    if (!done && all) all = std::move(done);
  }
  return all;
}

}  // namespace sluice
