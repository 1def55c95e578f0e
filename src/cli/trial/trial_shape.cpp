#include "cli/trial/trial_shape.hpp"

#include <nlohmann/json.hpp>

#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"

namespace sluice::cli {
namespace {

using nlohmann::json;

std::string shape_file(const TrialOptions& options) { return options.dir + "/run/sluice_up.json"; }

}  // namespace

Status save_shape(const TrialOptions& options) {
  const json shape = {{"nodes", options.nodes},
                      {"cpus", options.cpus},
                      {"memory_mib", options.memory_mib},
                      {"conf", options.extra_conf},
                      {"accounting", options.accounting}};
  const std::string text = shape.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
  return replace_file(shape_file(options), text, {.mode = 0644});
}

Status recall_shape(TrialOptions& options) {
  const std::string file = shape_file(options);
  const auto text = read_file(file);
  if (!text) return {};
  const json shape = json::parse(*text, nullptr, false);
  try {
    options.nodes = shape.at("nodes").get<uint32_t>();
    options.cpus = shape.at("cpus").get<uint32_t>();
    options.memory_mib = shape.at("memory_mib").get<uint64_t>();
    options.extra_conf = shape.at("conf").get<std::string>();
    options.accounting = shape.at("accounting").get<bool>();
  } catch (const json::exception&) {
    return failure(file + " is damaged: remove it, and say how large the cluster is to be");
  }
  return {};
}

}  // namespace sluice::cli
