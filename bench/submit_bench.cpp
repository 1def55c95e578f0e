// Durable submissions per second over gRPC: 16 connections, each with a number of requests under
// way.
//
//   submit_bench SLURM_CONF JOBS [CONNECTIONS [UNDER_WAY]]
//
// Every reply means that the job is in the journal. Prints the rate and the controller's memory per
// job.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/config_files/load.hpp"
#include "common/auth/auth_config.hpp"
#include "common/protocol/ctld.hpp"
#include "common/rpc/async_client.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file

// Resident memory of the controller in KiB, by its PID file.
long controller_kib(const ClusterConfig& config) {
  std::ifstream pid_file(config.slurmctld_pid_file);
  long pid = 0;
  pid_file >> pid;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    long kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

class Load {
 public:
  Load(const ClusterConfig& config, uint32_t jobs, uint32_t connections) : left_(jobs) {
    auto auth = net::make_auth(net::auth_options(config));
    if (!auth) throw std::runtime_error(auth.error().text);
    const std::string address =
        config.controllers[0].address + ":" + std::to_string(config.slurmctld_port);
    for (uint32_t i = 0; i < connections; ++i) {
      clients_.push_back(std::make_unique<net::AsyncClient>(net::ClientOptions{
          .addresses = {address}, .receiver = std::string(net::kController), .auth = *auth}));
    }
    request_.spec.batch = true;
    request_.spec.hold = true;
    request_.spec.name = "bench";
    request_.spec.work_dir = "/tmp";
    request_.spec.std_out = "/dev/null";
    request_.script = "#!/bin/sh\ntrue\n";
    request_.environment = std::string("PATH=/usr/bin:/bin\0", 19);
    request_.spec.min_nodes = 1;
  }

  void run(uint32_t under_way) {
    under_way_ = static_cast<uint32_t>(clients_.size()) * under_way;
    for (auto& client : clients_) {
      for (uint32_t i = 0; i < under_way; ++i) next(*client);
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return under_way_ == 0; });
  }
  [[nodiscard]] uint32_t failed() const { return failed_; }

 private:
  void next(net::AsyncClient& client) {
    uint32_t left = left_.load();
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {}
    if (left == 0) {
      const std::lock_guard lock(mutex_);
      if (--under_way_ == 0) done_.notify_one();
      return;
    }
    client.call<protocol::SubmitJobReply>(
        request_, std::chrono::seconds(60), [this, &client](const auto& reply) {
          if (!reply && failed_++ == 0)
            std::fprintf(stderr, "submission failed: %s\n", reply.error().text.c_str());
          next(client);
        });
  }

  std::vector<std::unique_ptr<net::AsyncClient>> clients_;
  protocol::SubmitJobRequest request_;
  std::atomic<uint32_t> left_;
  std::atomic<uint32_t> failed_ = 0;
  std::mutex mutex_;
  std::condition_variable done_;
  uint32_t under_way_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: submit_bench SLURM_CONF JOBS [CONNECTIONS [UNDER_WAY]]\n");
    return 2;
  }
  const auto config = load_config(argv[1]);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().text.c_str());
    return 1;
  }
  const auto jobs = static_cast<uint32_t>(std::atoi(argv[2]));
  const auto connections = static_cast<uint32_t>(argc > 3 ? std::atoi(argv[3]) : 16);
  const auto under_way = static_cast<uint32_t>(argc > 4 ? std::atoi(argv[4]) : 32);
  const long before = controller_kib(*config);
  Load load(*config, jobs, connections);
  const auto start = std::chrono::steady_clock::now();
  load.run(under_way);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const long after = controller_kib(*config);
  std::printf(
      "%u jobs in %.2f s: %.0f submissions/s, %u failed; controller %ld -> %ld KiB, %.0f bytes a job\n",
      jobs, seconds, jobs / seconds, load.failed(), before, after,
      1024.0 * static_cast<double>(after - before) / jobs);
  return load.failed() == 0 ? 0 : 1;
}
