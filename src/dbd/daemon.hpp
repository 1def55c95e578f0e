// The accounting daemon: builds the object graph, serves, and takes it down.
#pragma once

#include <memory>

#include "common/base/result.hpp"
#include "dbd/config/dbd_config.hpp"

namespace sluice::dbd {

class Daemon {
 public:
  // Opens the database and serves. Errors are for the administrator.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> start(DbdConfig config);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();  // stops serving; what was answered is durable

  // Reads slurmdbd.conf again and opens the log anew. With an error, which is logged, too, all
  // stays as it was. Any thread.
  Status reconfigure();

 private:
  struct Graph;
  explicit Daemon(std::unique_ptr<Graph> graph);
  std::unique_ptr<Graph> graph_;
};

}  // namespace sluice::dbd
