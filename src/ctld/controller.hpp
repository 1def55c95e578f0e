// The controller: builds the object graph, starts it from the journal, and takes it down.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::ctld {

struct ControllerOptions {
  std::string config_path;
  bool keep_partitions = false;  // -R: as scontrol left them, if slurm.conf is the same
  bool clean = false;           // -c: forget jobs and changes, keep the cluster's and the jobs' ids
  JobId first_job_id = kNoJob;  // --first-job-id
  bool new_key = false;         // --new-credential-key: another credential.key than before is meant
  std::function<void()> end_process;  // asked by scontrol shutdown
};

class Controller {
 public:
  // Opens the journal, replays it, starts to serve. Errors are for the administrator.
  [[nodiscard]] static Result<std::unique_ptr<Controller>> start(ClusterConfig config,
                                                                 ControllerOptions options);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller();  // stops serving, then makes everything durable

  // Reads the configuration again; on an error the old one goes on. Waits until it is in force.
  [[nodiscard]] Status reconfigure();

  // After rotation: the log and the scheduler's.
  void reopen_logs();

 private:
  struct Graph;
  explicit Controller(std::unique_ptr<Graph> graph);
  std::unique_ptr<Graph> graph_;
};

}  // namespace sluice::ctld
