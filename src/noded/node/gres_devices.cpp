#include "noded/node/gres_devices.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "common/base/errno_text.hpp"
#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"

namespace sluice::noded {
namespace {

bool is_for(const GresConfigLine& line, const NodeConfig& node) {
  return line.nodes.empty() || std::ranges::find(line.nodes, node.name) != line.nodes.end();
}

bool exists(const std::string& file, std::vector<std::string>& problems) {
  struct stat about {};
  if (::stat(file.c_str(), &about) == 0) return true;
  problems.push_back(fmt::format("can't stat gres.conf file {}: {}", file, errno_text(errno)));
  return false;
}

GresDevices devices_of(const GresConfigLine& line, std::vector<std::string>& problems) {
  GresDevices devices;
  devices.name = line.name;
  devices.type = line.type;
  devices.cores = line.cores;
  devices.links = line.links;
  for (const std::string& flag : line.flags) devices.flags.push_back(to_lower(flag));
  devices.count = line.count;
  if (contains(devices.flags, "countonly")) return devices;  // whatever its files
  const auto& files = line.files.empty() ? line.multiple_files : line.files;
  for (const std::string& file : files) {
    if (exists(file, problems)) devices.files.push_back(file);
  }
  if (files.empty()) return devices;
  if (!line.multiple_files.empty()) {  // several files make one unit
    devices.files.resize(std::min<size_t>(1, devices.files.size()));
    devices.count = devices.files.size();
  } else if (!is_shared_gres(line.name)) {
    devices.count = devices.files.size();
  }
  return devices;
}

// Whether a job may have parts of several units is said for all nodes, whichever line says it.
void add_sharing(const ClusterConfig& config, GresDevices& devices) {
  if (!is_shared_gres(devices.name)) return;
  for (const GresConfigLine& line : config.gres_lines) {
    if (line.name != devices.name) continue;
    for (const std::string& text : line.flags) {
      const std::string flag = to_lower(text);
      if (flag.ends_with("_sharing") && !contains(devices.flags, flag))
        devices.flags.push_back(flag);
    }
  }
}

// The last line about this node decides; one for all counts where none names it.
std::string auto_detection(const ClusterConfig& config, const NodeConfig& node) {
  std::string general, own;
  for (const GresConfigLine& line : config.gres_lines) {
    if (!line.auto_detect.empty() && is_for(line, node))
      (line.nodes.empty() ? general : own) = line.auto_detect;
  }
  return own.empty() ? general : own;
}

// A line of gres.conf stands for the found GPU of its file, with what it says of it.
void add_found(const std::vector<GresDevices>& found, std::vector<GresDevices>& devices) {
  std::set<std::string> known;
  for (GresDevices& mine : devices) {
    if (mine.name != "gpu") continue;
    known.insert(mine.files.begin(), mine.files.end());
    for (const GresDevices& gpu : found) {
      const bool same = mine.files.size() == 1 && mine.files == gpu.files;
      if (same && mine.cores.empty()) mine.cores = gpu.cores;
      if (same && mine.links.empty()) mine.links = gpu.links;
    }
  }
  for (const GresDevices& gpu : found) {
    if (!known.contains(gpu.files.front())) devices.push_back(gpu);
  }
}

// "a100" of Gres= stands for the type "nvidia_a100-sxm4-40gb" that was found.
void shorten_types(const std::vector<GresItem>& wanted, std::vector<GresDevices>& found) {
  for (GresDevices& gpu : found) {
    for (const GresItem& item : wanted) {
      const bool part = item.name == "gpu" && !item.type.empty() &&
                        gpu.type.find(to_lower(item.type.view())) != std::string::npos;
      if (part) {
        gpu.type = item.type.str();
        break;
      }
    }
  }
}

// As Slurm numbers the names of resources.
uint32_t name_number(std::string_view name) {
  uint32_t number = 0;
  for (size_t i = 0; i < name.size(); ++i)
    number += uint32_t{static_cast<uint8_t>(name[i])} << i % 4 * 8;
  return number;
}

std::string gres_line(std::string_view name, uint64_t count, const std::vector<std::string>& files,
                      const GresDevices& devices, uint32_t cores) {
  std::string line = fmt::format("Gres Name={} Type={} Count={}", name,
                                 devices.type.empty() ? "(null)" : devices.type, count);
  if (!files.empty()) {
    const std::string& file = files.front();
    const std::string digits = file.substr(file.find_last_not_of("0123456789") + 1);
    line += fmt::format(" Index={}", to_number<uint32_t>(digits).value_or(0));
  }
  line += fmt::format(" ID={}", name_number(name));
  if (!files.empty()) line += " File=" + fold_hosts(files);
  if (!devices.cores.empty()) line += fmt::format(" Cores={} CoreCnt={}", devices.cores, cores);
  if (!devices.links.empty() && name == "gpu") line += " Links=" + devices.links;
  return line;
}

// The parts of a GPU that this kind of resource has, 0: none.
uint32_t parts_of(const GresKind& kind, size_t unit) {
  if (!is_shared_gres(kind.name) || !kind.units.test(unit)) return 0;
  size_t at = 0, place = 0;
  kind.units.for_each([&](size_t one) {
    if (one == unit) place = at;
    ++at;
  });
  return place < kind.parts.size() ? kind.parts[place] : 0;
}

}  // namespace

std::vector<std::string> gres_lines(const NodeConfig& node, const std::vector<GresDevices>& found,
                                    uint32_t cores) {
  const auto inventory = make_inventory(node.gres, found);
  std::vector<std::string> lines;
  size_t unit = 0;
  for (const GresDevices& devices : found) {
    if (is_shared_gres(devices.name)) continue;  // with its GPUs
    if (devices.name != "gpu" || devices.files.empty()) {
      lines.push_back(gres_line(devices.name, devices.count, devices.files, devices, cores));
      continue;
    }
    for (const std::string& file : devices.files) {
      lines.push_back(gres_line(devices.name, 1, {file}, devices, cores));
      for (size_t at = 0; inventory != nullptr && at < inventory->kinds.size(); ++at) {
        const GresKind& kind = inventory->kinds[at];
        if (const uint32_t parts = parts_of(kind, unit); parts > 0)
          lines.push_back(gres_line(kind.name.view(), parts, {file}, devices, cores));
      }
      ++unit;
    }
  }
  return lines;
}

bool detects_by_nvml(const ClusterConfig& config, const NodeConfig& node) {
  const std::string detection = to_lower(auto_detection(config, node));
  return detection == "nvml" || detection == "nvidia" || detection == "full";
}

std::vector<GresDevices> find_gres(const ClusterConfig& config, const NodeConfig& node,
                                   const DetectGpus& detect, std::vector<std::string>& problems) {
  const std::vector<GresItem> wanted = gres_items(node.gres).value_or(std::vector<GresItem>());
  std::vector<GresDevices> devices;
  for (const GresConfigLine& line : config.gres_lines) {
    const bool known = std::ranges::find(config.gres_types, line.name) != config.gres_types.end();
    const bool only_detects =
        !line.auto_detect.empty() && line.files.empty() && line.multiple_files.empty();
    if (only_detects || !known || !is_for(line, node)) continue;
    devices.push_back(devices_of(line, problems));
  }
  const bool wants_gpus =
      std::ranges::any_of(wanted, [](const GresItem& item) { return item.name == "gpu"; });
  if (wants_gpus && detects_by_nvml(config, node)) {
    std::vector<GresDevices> found = detect(problems);
    shorten_types(wanted, found);
    add_found(found, devices);
  }
  for (const GresItem& item : wanted) {  // what is only counted needs no line
    const bool there = std::ranges::any_of(
        devices, [&](const GresDevices& mine) { return mine.name == item.name.view(); });
    if (there || item.name == "gpu") continue;
    GresDevices counted;
    counted.name = item.name.str();
    counted.type = item.type.str();
    counted.count = item.count;
    devices.push_back(std::move(counted));
  }
  for (GresDevices& mine : devices) add_sharing(config, mine);
  return devices;
}

}  // namespace sluice::noded
