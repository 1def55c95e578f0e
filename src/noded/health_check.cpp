#include "noded/health_check.hpp"

#include <utility>

namespace sluice::noded {

void HealthCheck::run(std::function<void()> done) {
  const ClusterConfig& config = *node_.config;
  const bool wanted = !config.health_check_program.empty() && config.health_check_interval > Duration(0);
  if (!wanted || running_) {
    if (done) done();
    return;
  }
  running_ = true;
  Environment env;
  env.set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  env.set("SLURM_CONF", node_.config_path);
  env.set("SLURMD_NODENAME", node_.name);
  scripts_.run({.patterns = {config.health_check_program},
                .environment = std::move(env),
                .limit = config.health_check_timeout,
                .done = [this, done = std::move(done)](int) {
                  running_ = false;
                  if (done) done();
                }});
}

}  // namespace sluice::noded
