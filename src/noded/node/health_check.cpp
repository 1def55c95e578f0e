#include "noded/node/health_check.hpp"

#include <utility>

namespace sluice::noded {

void HealthCheck::run(std::function<void()> done) {
  const ClusterConfig& config = *node_.config;
  const bool wanted =
      !config.health_check_program.empty() && config.health_check_interval > Duration(0);
  if (!wanted || running_) {
    if (done) done();
    return;
  }
  running_ = true;
  scripts_.run({.patterns = {config.health_check_program},
                .environment = helper_environment(node_),
                .limit = config.health_check_timeout,
                .done = [this, done = std::move(done)](int) {
                  running_ = false;
                  if (done) done();
                }});
}

}  // namespace sluice::noded
