// A controller played by a test, and the node agent that it starts as a process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/auth/auth.hpp"
#include "common/net/rpc_client.hpp"
#include "common/auth/signer.hpp"
#include "common/protocol/noded.hpp"
#include "common/rpc/rpc_server.hpp"
#include "common/wire/codec.hpp"
#include "support/test_port.hpp"
#include "system/launches.hpp"

namespace sluice::testing {

using namespace std::chrono_literals;
using net::CallContext;
using net::Responder;
using protocol::Empty;

// Takes registrations and reports; orders are sent to the agent directly.
class FakeController {
 public:
  FakeController() {
    char name[] = "/tmp/sluice-noded-XXXXXX";
    folder = ::mkdtemp(name);
    ::chmod(folder.c_str(), 0755);
    std::ofstream(folder + "/slurm.key") << std::string(64, 'k');
    ::chmod((folder + "/slurm.key").c_str(), 0600);
    auth = net::make_auth({.type = "auth/slurm",
                           .cluster = "test",
                           .key_file = folder + "/slurm.key",
                           .token_socket = folder + "/sack.socket",
                           .munge_socket = {}})
               .value();
    start_server();
  }
  ~FakeController() {
    stop_agent(SIGTERM);
    server.reset();
    std::filesystem::remove_all(folder);
  }

  void start_server() {
    server = std::make_unique<net::RpcServer>(
        net::ServerOptions{.addresses = {fmt::format("127.0.0.1:{}", port.number())},
                           .receiver = std::string(net::kController),
                           .auth = auth,
                           .knows_nobody = auth == nullptr,
                           .slurm_user = ::geteuid()});
    server->handle<protocol::RegisterNodeRequest, protocol::RegisterNodeReply>(
        [this](const CallContext&, protocol::RegisterNodeRequest request, auto responder) {
          protocol::RegisterNodeReply reply;
          note([&] {
            reply.cluster_id = cluster_id;
            reply.removed = removed;
            if (removed) reply.forget = request.running;
            if (removed) reply.clean = request.jobs;
            else reply.credential_key = signer.public_key();
            registrations.push_back(std::move(request));
          });
          responder.reply(reply);
        });
    server->handle<protocol::ReportStepsRequest, Empty>(
        [this](const CallContext&, protocol::ReportStepsRequest request, auto responder) {
          if (refuse_reports) return responder.fail(ErrorCode::kStorageFull);
          note([&] { ended.insert(ended.end(), request.ended.begin(), request.ended.end()); });
          responder.reply({});
        });
    server->handle<protocol::ReportCleanedRequest, Empty>(
        [this](const CallContext&, protocol::ReportCleanedRequest request, auto responder) {
          if (refuse_reports) return responder.fail(ErrorCode::kStorageFull);
          note([&] {
            cleaned.insert(cleaned.end(), request.cleaned.begin(), request.cleaned.end());
          });
          responder.reply({});
        });
    server->handle<protocol::ReportPrologsRequest, Empty>(
        [this](const CallContext&, protocol::ReportPrologsRequest request, auto responder) {
          if (refuse_reports) return responder.fail(ErrorCode::kStorageFull);
          note([&] { prologs.insert(prologs.end(), request.ended.begin(), request.ended.end()); });
          responder.reply({});
        });
    ASSERT_TRUE(server->start());
  }

  void start_agent(const std::string& more_conf = {}) {
    std::ofstream(folder + "/slurm.conf") << fmt::format(
        "ClusterName=test\nSlurmctldHost=here(127.0.0.1)\nSlurmctldPort={}\nSlurmUser={}\n"
        "SlurmdUser={}\nAuthType=auth/slurm\nAuthInfo=socket={}/sack.socket\n"
        "StateSaveLocation={}\nSlurmdSpoolDir={}/spool\nSlurmdPidFile={}/pid\n"
        "SlurmdLogFile={}/log\nSlurmdDebug=debug\nKillWait=1\nSlurmdParameters=config_overrides\n"
        "ProctrackType=proctrack/linuxproc\n"
        "NodeName=n1 NodeAddr=127.0.0.1 Port={} CPUs=4 RealMemory=1000\n"
        "PartitionName=debug Nodes=ALL Default=YES\n{}",
        port.number(), user(), user(), folder, folder, folder, folder, folder, node_port.number(),
        more_conf);
    pid = ::fork();
    if (pid == 0) {
      const int log = ::open((folder + "/stderr").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      ::dup2(log, 2);
      ::execl(NODED_PATH, NODED_PATH, "-D", "-f", (folder + "/slurm.conf").c_str(), "-N", "n1",
              nullptr);
      ::_exit(127);
    }
    agent = std::make_unique<net::RpcClient>(
        net::ClientOptions{.addresses = {fmt::format("127.0.0.1:{}", node_port.number())},
                           .receiver = "n1",
                           .auth = auth});
  }
  void stop_agent(int signal) {
    if (pid <= 0) return;
    ::kill(pid, signal);
    ::waitpid(std::exchange(pid, -1), nullptr, 0);
  }

  // Whether it became true in time; if not, the test's output has what the agent said.
  template <class Ready>
  [[nodiscard]] bool wait(Ready ready) {
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, 20s, ready)) return true;
    int status = 0;
    if (pid > 0 && ::waitpid(pid, &status, WNOHANG) == pid) {
      pid = -1;
      ADD_FAILURE() << "the agent has ended, status " << status;
    }
    ADD_FAILURE() << "the agent said:\n" << read("stderr") << read("log");
    return false;
  }
  template <class Change>
  void note(Change change) {
    const std::lock_guard lock(mutex);
    change();
    changed.notify_all();
  }

  protocol::StepLaunch batch_launch(JobId job, const std::string& script) {
    JobSpec spec;
    spec.name = "demo";
    spec.work_dir = folder;
    protocol::StepLaunch launch = batch_launch_of(job, cluster_id, std::move(spec), script);
    launch.user_name = user();
    return launch;
  }
  Status launch_once(const protocol::StepLaunch& launch) {
    protocol::LaunchStepRequest request;
    request.launch = wire::encode(launch);
    request.signature = signer.sign(request.launch);
    return send(request);
  }
  Status launch(const protocol::StepLaunch& launch) {
    // the agent may not have taken in the answer to its registration yet
    for (;;) {
      const Status sent = launch_once(launch);
      if (sent || sent.error().code != ErrorCode::kRetry) return sent;
      ::usleep(5000);
    }
  }
  template <class Request>
  Status send(const Request& request) {
    const auto reply = agent->call<Empty>(request, 10s);
    return reply ? Status{} : tl::unexpected<Error>(reply.error());
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static std::string user() { return ::geteuid() == 0 ? "root" : std::to_string(::geteuid()); }

  std::string folder;
  // an agent ends what runs of its node and cluster elsewhere
  std::string cluster_id = "cluster-" + std::to_string(::getpid());
  std::shared_ptr<net::AuthProvider> auth;
  net::CredentialSigner signer = net::CredentialSigner::generate();
  std::unique_ptr<net::RpcServer> server;
  std::unique_ptr<net::RpcClient> agent;
  TestPort port;       // the controller's
  TestPort node_port;  // the agent's
  TestPort dead_port;  // of a node that is not there
  pid_t pid = -1;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> refuse_reports = false;
  bool removed = false;  // the cluster has the node no more
  std::vector<protocol::RegisterNodeRequest> registrations;
  std::vector<protocol::StepEnded> ended;
  std::vector<protocol::JobCleaned> cleaned;
  std::vector<protocol::PrologEnded> prologs;
};

}  // namespace sluice::testing
