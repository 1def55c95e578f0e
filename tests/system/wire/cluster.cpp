#include "system/wire/cluster.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/text.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/noded.hpp"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

class GivenToken final : public net::AuthProvider {
 public:
  explicit GivenToken(TokenOf token) : token_(std::move(token)) {}
  [[nodiscard]] std::string_view name() const override { return "auth/slurm"; }
  Result<std::string> create_token(const net::RequestDigest& digest) override {
    return token_(digest);
  }
  Result<net::Proof> open(std::string_view) override { return failure(ErrorCode::kAuthentication); }

 private:
  TokenOf token_;
};

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string conf_value(const std::string& conf, const std::string& key) {
  const size_t at = conf.find("\n" + key + "=");
  if (at == std::string::npos) return {};
  const size_t from = at + key.size() + 2;
  return conf.substr(from, conf.find_first_of(" \n", from) - from);
}

bool is_stream(const std::string& method) {
  return method == "Controller/QueryJobs" || method == "Controller/WatchJob" ||
         method == protocol::QueryHistoryRequest::kMethod;
}

}  // namespace

WireCluster::WireCluster(const std::string& conf) {
  char name[] = "/tmp/sluice-wire-XXXXXX";
  dir_ = ::mkdtemp(name);
  ::chmod(dir_.c_str(), 0755);
  std::filesystem::create_directory(dir_ + "/work");
  ::chmod((dir_ + "/work").c_str(), 01777);
  write(
      dir_ + "/extra.conf",
      "SlurmctldDebug=debug\nSlurmdDebug=debug\nKillWait=1\nSlurmctldParameters=enable_configless\n" +
          conf);
  const std::string up = fmt::format(
      "env -u SLURM_CONF {0}/sluice up --nodes 1 --cpus 64 --memory 20000 --dir {1} --conf {1}/extra.conf > {1}/up.out 2>&1",
      BIN_FOLDER, dir_);
  EXPECT_EQ(std::system(up.c_str()), 0) << read("up.out");  // NOLINT(concurrency-mt-unsafe)
  base_conf_ = read("slurm.conf");
  key_ = read("slurm.key");
  port_ = to_number<int>(conf_value(base_conf_, "SlurmctldPort")).value_or(0);
}

WireCluster::~WireCluster() {
  const std::string down =
      fmt::format("{}/sluice down --dir {} > /dev/null 2>&1", BIN_FOLDER, dir_);
  EXPECT_EQ(std::system(down.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  const std::string left =
      fmt::format("grep -lsz '^SLURM_CONF={}/slurm.conf$' /proc/[0-9]*/environ", dir_);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  EXPECT_NE(std::system(left.c_str()), 0) << "these processes are left";
  std::filesystem::remove_all(dir_);
}

std::string WireCluster::address(Server server) const {
  const auto accounting = to_number<int>(conf_value(base_conf_, "AccountingStoragePort"));
  return fmt::format("127.0.0.1:{}", server == Server::kController   ? port_
                                     : server == Server::kAccounting ? accounting.value_or(0)
                                                                     : port_ + 1);
}

std::string WireCluster::receiver(Server server) {
  if (server == Server::kAccounting) return std::string(net::kAccountingDaemon);
  return server == Server::kController ? std::string(net::kController) : "n1";
}

std::unique_ptr<net::RpcClient> WireCluster::client(Server server, TokenOf token) const {
  std::shared_ptr<net::AuthProvider> auth;
  if (token) auth = std::make_shared<GivenToken>(std::move(token));
  return std::make_unique<net::RpcClient>(net::ClientOptions{
      .addresses = {address(server)}, .receiver = receiver(server), .auth = std::move(auth)});
}

std::unique_ptr<net::RpcClient> WireCluster::client_as(Server server, uint32_t uid) const {
  return client(server, [maker = std::make_shared<net::TokenMaker>(maker()),
                         uid](const net::RequestDigest& digest) {
    return maker->make(uid, uid, digest.bytes, net::now());
  });
}

net::TokenMaker WireCluster::maker() const {
  return {net::ClusterKey::from_bytes(key_), "trial", "here"};
}

Result<std::string> WireCluster::ask(Server, net::RpcClient& client, const std::string& method,
                                     const std::string& request) const {
  if (!is_stream(method)) return client.call_raw(method, request, 20s);
  auto stream = client.open_raw(method, request);
  if (!stream) return tl::unexpected<Error>(stream.error());
  std::string chunk;
  switch ((*stream)->read(chunk, 20s)) {
    case net::ReadState::kChunk: (*stream)->cancel(); return chunk;
    case net::ReadState::kEnd: return std::string();
    case net::ReadState::kFailed: return tl::unexpected<Error>((*stream)->error());
    default: return failure(ErrorCode::kTimedOut, "no chunk came");
  }
}

bool WireCluster::eventually(const std::function<bool()>& condition) {
  for (const auto end = std::chrono::steady_clock::now() + 30s;
       std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

protocol::SubmitJobRequest WireCluster::submission(const std::string& script) const {
  protocol::SubmitJobRequest request;
  request.spec.batch = true;
  request.spec.name = "wire";
  request.spec.work_dir = dir_ + "/work";
  request.spec.std_out = "/dev/null";
  request.spec.num_tasks = 1;
  request.spec.priority = UINT32_MAX;
  request.script = script;
  request.environment = std::string("PATH=/usr/bin:/bin\0", 19);
  return request;
}

JobId WireCluster::running_job() const {
  const auto reply =
      call_as<protocol::SubmitJobReply>(kAlice, submission("#!/bin/sh\nexec sleep 1000\n"));
  EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
  if (!reply) return kNoJob;
  EXPECT_TRUE(eventually([&] {
    const Job now = job(reply->job).job;
    return now.state == JobState::kRunning && !now.steps.empty();
  }));
  // its step daemon takes orders
  EXPECT_TRUE(eventually([&] {
    protocol::ListPidsRequest request;
    request.job = reply->job;
    const auto pids = call_as<protocol::ListPidsReply>(0, request, Server::kAgent);
    return pids && !pids->pids.empty();
  }));
  return reply->job;
}

JobId WireCluster::held_job() const {
  auto request = submission("#!/bin/sh\n# a secret\nsleep 1000\n");
  request.spec.hold = true;
  const auto reply = call_as<protocol::SubmitJobReply>(kAlice, request);
  EXPECT_TRUE(reply) << (reply ? "" : reply.error().text);
  return reply ? reply->job : kNoJob;
}

protocol::JobRecord WireCluster::job(JobId id) const {
  protocol::QueryJobsRequest request;
  request.ids = {std::to_string(id)};
  request.all_states = true;
  request.steps = true;
  const auto client = client_as(Server::kController, 0);
  const auto bytes =
      ask(Server::kController, *client, "Controller/QueryJobs", wire::encode(request));
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().text);
  auto chunk = wire::decode<protocol::JobChunk>(bytes ? *bytes : std::string());
  if (!chunk || chunk->jobs.empty()) return {};
  return std::move(chunk->jobs.front());
}

void WireCluster::set_conf(const std::string& conf) const {
  write(dir_ + "/slurm.conf", base_conf_ + conf);
  const auto done = call_as<protocol::Empty>(0, protocol::ReconfigureRequest{});
  EXPECT_TRUE(done) << (done ? "" : done.error().text);
}

std::string WireCluster::read(const std::string& name) const {
  std::ifstream file(dir_ + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

pid_t WireCluster::pid(Server server) const {
  const std::string text =
      read(server == Server::kController ? "run/sluicectld.pid" : "run/n1.pid");
  return to_number<pid_t>(trim(text)).value_or(-1);
}

void WireCluster::kill_and_restart(Server server) const {
  const pid_t old = pid(server);
  ::kill(old, SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::kill(old, 0) != 0; }));
  const std::string start =
      server == Server::kController
          ? fmt::format("{}/sluicectld -f {}/slurm.conf", SBIN_FOLDER, dir_)
          : fmt::format("{}/sluicenoded -f {}/slurm.conf -N n1", SBIN_FOLDER, dir_);
  EXPECT_EQ(std::system(start.c_str()), 0) << start;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace sluice::testing
