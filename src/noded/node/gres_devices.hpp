// The generic resources of this host, as gres.conf says and as they are found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/model/cluster_config.hpp"
#include "common/model/gres.hpp"

namespace sluice::noded {

// What the node registers. Files that are missing do not count; `detect` finds GPUs where gres.conf
// says AutoDetect=nvml. Problems are for the log.
using DetectGpus = std::function<std::vector<GresDevices>(std::vector<std::string>& problems)>;
[[nodiscard]] std::vector<GresDevices> find_gres(const ClusterConfig& config,
                                                 const NodeConfig& node, const DetectGpus& detect,
                                                 std::vector<std::string>& problems);

// Whether gres.conf says for this node that NVIDIA's library tells of its GPUs.
[[nodiscard]] bool detects_by_nvml(const ClusterConfig& config, const NodeConfig& node);

// `slurmd -G`: a line for each GPU and its parts of what is shared, and for each other resource of
// the node. `cores`: of the host.
[[nodiscard]] std::vector<std::string> gres_lines(const NodeConfig& node,
                                                  const std::vector<GresDevices>& found,
                                                  uint32_t cores);

// GPUs that NVIDIA's management library knows of, one entry a GPU; empty when the library is not
// there, cannot be started or finds none.
[[nodiscard]] std::vector<GresDevices> nvml_gpus(std::vector<std::string>& problems);

}  // namespace sluice::noded
