#include "noded/node/reboot.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>

#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/daemon/program_said.hpp"
#include "common/os/ending_text.hpp"
#include "common/os/read_file.hpp"
#include "common/base/text.hpp"
#include "common/os/wait_status.hpp"
#include "common/log/log.hpp"

namespace sluice::noded {

void Reboot::run(const protocol::RebootNodeRequest& order) {
  if (order.issued <= std::max(last_, last_started()) || node_.hardware.boot_time > order.issued)
    return;
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
  std::string command = node_.config->reboot_program;
  const std::vector<std::string> words = split_list(command, ' ');
  last_ = order.issued;
  if (words.empty()) {
    log::error("told to reboot: RebootProgram isn't defined in config");
    return failed(-1);
  }
  std::ofstream(file()) << last_.time_since_epoch().count() << '\n';
  const std::string& path = words[0];
  if (path.starts_with('/') && ::access(path.c_str(), X_OK) != 0) {
    log::error("told to reboot: Cannot run RebootProgram [{}]: {}", path, errno_text(errno));
    return failed(-1);
  }
  log::info("rebooting ({}): {}", order.reason, command);
  if (!order.features.empty()) command += " " + shell_quote(order.features);
  const auto output = std::make_shared<ProgramOutput>();
  SpawnRequest shell{"/bin/sh", {"sh", "-c", command}, helper_environment(node_).entries(), {}};
  if (output->fd() >= 0)
    shell.descriptors = {{output->fd(), STDOUT_FILENO}, {output->fd(), STDERR_FILENO}};
  // by a shell, as in Slurm: its arguments may be in quotes
  const auto pid = children_.spawn(shell, [this, path, output](int status) {
    daemon::log_what_it_said(*output, path, status);
    ended(path, status);
  });
  if (!pid) {
    log::error("{}", pid.error().text);
    return failed(-1);
  }
  if (has_option(node_.config->slurmd_parameters, "shutdown_on_reboot")) handlers_.end_process();
}

// One that a signal ends may have begun the reboot: what goes down ends it.
void Reboot::ended(const std::string& program, int status) {
  if (status == 0) return;
  log::error("RebootProgram {} {}: this node may not reboot", program, ending_text(status));
  // a shell tells of signals so
  constexpr int kFirstOfSignals = 129, kLastOfSignals = 192;
  const int code = shell_code(status);
  if (code < kFirstOfSignals || code > kLastOfSignals) failed(status);
}

void Reboot::failed(int status) {
  node_.reboot_failed = last_;
  node_.reboot_status = status;
  handlers_.changed();
}

}  // namespace sluice::noded
