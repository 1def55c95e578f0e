#include "noded/reboot.hpp"

#include <algorithm>
#include <fstream>

#include <sys/wait.h>

#include "common/base/read_file.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"

namespace sluice::noded {

void Reboot::run(const protocol::RebootNodeRequest& order) {
  if (order.issued <= std::max(last_, last_started()) || node_.hardware.boot_time > order.issued) return;
  if (order.features.empty()) return start_again(order);
  last_ = order.issued;
  features_.change(split_list(order.features), [this, order](NodeFeatures::Change change) {
    const bool reboot = change == NodeFeatures::Change::kNeedsReboot || !order.if_needed;
    if (reboot && change != NodeFeatures::Change::kFailed) return start_again(order);
    node_.features_changed = order.issued;
    handlers_.changed();
  });
}

std::string Reboot::file() const { return node_.spool_dir + "/reboot"; }

Time Reboot::last_started() const {
  const auto text = read_file(file());
  return Time(Duration(text ? to_number<int64_t>(trim(*text)).value_or(0) : 0));
}

void Reboot::start_again(const protocol::RebootNodeRequest& order) {
  const std::string& program = node_.config->reboot_program;
  std::vector<std::string> words = split_list(program, ' ');
  if (words.empty()) return log::error("told to reboot, but RebootProgram is not set");
  last_ = order.issued;
  std::ofstream(file()) << last_.time_since_epoch().count() << '\n';
  if (!order.features.empty()) words.push_back(order.features);
  log::info("rebooting ({}): {}", order.reason, program);
  const std::string path = words[0];
  const auto pid = children_.spawn({path, std::move(words), helper_environment(node_).entries(), {}}, [path](int status) {
    if (status != 0) log::error("{} failed with status {:#x}", path, status);
  });
  if (!pid) return log::error("{}", pid.error().text);
  if (has_option(node_.config->slurmd_parameters, "shutdown_on_reboot")) handlers_.end_process();
}

}  // namespace sluice::noded
