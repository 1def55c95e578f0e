// A storm of completions: an array whose tasks all end within a second, told to the controller as
// agents tell it.
//
//   storm_bench SLURM_CONF [TASKS]
//
// The controller of SLURM_CONF runs, and its nodes are up, but their agents are gone: this program
// takes their orders and reports the ends, of each node in one call at a time with all that ended
// meanwhile. bench/storm makes such a cluster. Prints how many frames the journal has of it, and
// when squeue is empty.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/config_files/load.hpp"
#include "common/auth/auth_config.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/noded.hpp"
#include "common/rpc/async_client.hpp"
#include "common/rpc/fanout.hpp"
#include "common/rpc/rpc_server.hpp"
#include "common/wire/codec.hpp"
#include "ctld/journal/sqlite_reader.hpp"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program's main file
using Clock = std::chrono::steady_clock;

constexpr auto kStorm = std::chrono::seconds(1);
constexpr size_t kMostInOneCall = 500;  // as noded/reports/gatherer.cpp
constexpr Duration kCallTime = std::chrono::seconds(60);
// at least, over the storm; the faster a disk commits, the fewer there are
constexpr uint32_t kTasksInAFrame = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

class Agents {
 public:
  Agents(const ClusterConfig& config, std::shared_ptr<net::AuthProvider> auth)
      : fanout_(net::Fanout::create(
            std::make_shared<net::NodeClients>(net::ClientOptions{.auth = auth}))) {
    const std::string controller =
        config.controllers[0].address + ":" + std::to_string(config.slurmctld_port);
    net::ServerOptions options;
    options.knows_nobody = true;  // one server is all the nodes
    for (const NodeConfig& node : config.nodes) {
      options.addresses.push_back(node.address + ":" + std::to_string(node.port));
      agents_[node.name].client = std::make_unique<net::AsyncClient>(net::ClientOptions{
          .addresses = {controller}, .receiver = std::string(net::kController), .auth = auth});
    }
    server_ = std::make_unique<net::RpcServer>(std::move(options));
    server_->handle<protocol::LaunchStepRequest, protocol::Empty>(
        [this](const net::CallContext&, const protocol::LaunchStepRequest& request,
               net::Responder<protocol::Empty> responder) {
          if (const auto launch = wire::decode<protocol::StepLaunch>(request.launch))
            note_launch(*launch);
          responder.reply({});
        });
    fanout_->serve(*server_);
    if (auto ok = server_->start(); !ok) throw std::runtime_error(ok.error().text);
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  ~Agents() { server_->shutdown(std::chrono::milliseconds(200)); }

  void wait_for_launches(size_t tasks) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return launched_ >= tasks; });
  }

  // All tasks end, at random within a second; comes back when the controller has acknowledged each.
  void end_all() {
    std::unique_lock lock(mutex_);
    const Clock::time_point start = Clock::now();
    std::mt19937 random(1);
    std::uniform_int_distribution<int64_t> moment(0, std::chrono::microseconds(kStorm).count());
    for (auto& [name, agent] : agents_) {
      for (Task& task : agent.tasks) task.ends = start + std::chrono::microseconds(moment(random));
      std::ranges::sort(agent.tasks, {}, &Task::ends);
    }
    while (acknowledged_ < launched_) {
      for (auto& [name, agent] : agents_) report(name, agent);
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
  }
  [[nodiscard]] size_t calls() const { return calls_; }
  [[nodiscard]] net::AsyncClient& any_client() { return *agents_.begin()->second.client; }

 private:
  struct Task {
    protocol::StepKey key;
    Clock::time_point ends;
  };
  struct Agent {
    std::unique_ptr<net::AsyncClient> client;
    std::vector<Task> tasks;
    size_t reported = 0;
    bool busy = false;
  };

  void note_launch(const protocol::StepLaunch& launch) {
    const std::lock_guard lock(mutex_);
    agents_.at(launch.layout.node_list).tasks.push_back({launch.key, {}});
    ++launched_;
    changed_.notify_one();
  }
  // With the mutex.
  void report(const std::string& name, Agent& agent) {
    if (agent.busy) return;
    protocol::ReportStepsRequest request;
    const Clock::time_point now = Clock::now();
    while (agent.reported < agent.tasks.size() && agent.tasks[agent.reported].ends <= now &&
           request.ended.size() < kMostInOneCall) {
      protocol::StepEnded ended;
      ended.key = agent.tasks[agent.reported++].key;
      ended.nodes = name;
      ended.node_clean = true;
      request.ended.push_back(std::move(ended));
    }
    if (request.ended.empty()) return;
    agent.busy = true;
    ++calls_;
    agent.client->call<protocol::Empty>(
        request, kCallTime, [this, &agent, count = request.ended.size()](const auto& reply) {
          if (!reply) std::fprintf(stderr, "report failed: %s\n", reply.error().text.c_str());
          const std::lock_guard lock(mutex_);
          agent.busy = false;
          acknowledged_ += count;
          changed_.notify_one();
        });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Agent> agents_;  // these are guarded by mutex_, but for clients
  size_t launched_ = 0;
  size_t acknowledged_ = 0;
  size_t calls_ = 0;
  std::shared_ptr<net::Fanout> fanout_;
  std::unique_ptr<net::RpcServer> server_;
};

void submit(net::AsyncClient& client, uint32_t tasks) {
  protocol::SubmitJobRequest request;
  request.spec.batch = true;
  request.spec.name = "storm";
  request.spec.array = "0-" + std::to_string(tasks - 1);
  request.spec.work_dir = "/tmp";
  request.spec.std_out = "/dev/null";
  request.spec.min_nodes = 1;
  request.script = "#!/bin/sh\ntrue\n";
  request.environment = std::string("PATH=/usr/bin:/bin\0", 19);
  std::promise<Result<protocol::SubmitJobReply>> done;
  client.call<protocol::SubmitJobReply>(request, kCallTime,
                                        [&](auto reply) { done.set_value(std::move(reply)); });
  value_of(done.get_future().get());
}

// As squeue sees it.
bool is_queue_empty(net::AsyncClient& client) {
  std::atomic<bool> any = false;
  std::promise<Status> ended;
  const net::StreamHandle stream = client.listen<protocol::JobChunk>(
      protocol::QueryJobsRequest{},
      [&](const protocol::JobChunk& chunk) { any = any || !chunk.jobs.empty(); },
      [&](Status status) { ended.set_value(std::move(status)); });
  if (const Status status = ended.get_future().get(); !status)
    throw std::runtime_error(status.error().text);
  return !any;
}

void run(const ClusterConfig& config, uint32_t tasks) {
  Agents agents(config, value_of(net::make_auth(net::auth_options(config))));
  const Clock::time_point submitted = Clock::now();
  submit(agents.any_client(), tasks);
  agents.wait_for_launches(tasks);
  std::printf("%u tasks on %zu nodes run after %.2f s\n", tasks, config.nodes.size(),
              seconds_since(submitted));

  const auto journal =
      value_of(journal::SqliteReader::open(config.state_save_location + "/journal"));
  const journal::Sequence before = value_of(journal->last_sequence());
  const Clock::time_point start = Clock::now();
  agents.end_all();
  const double acknowledged = seconds_since(start);
  while (!is_queue_empty(agents.any_client()))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const double empty = seconds_since(start);
  size_t frames = 0, bytes = 0;
  const Status read = journal->read(before + 1, [&](const journal::Frame& frame) {
    ++frames;
    bytes += frame.bytes.size();
    return true;
  });
  if (!read) throw std::runtime_error(read.error().text);
  std::printf(
      "ends within 1 s in %zu calls: %zu frames, %zu bytes of the journal (%.0f a task); acknowledged after %.2f s, "
      "squeue empty after %.2f s\n",
      agents.calls(), frames, bytes, static_cast<double>(bytes) / tasks, acknowledged, empty);
  const size_t most = std::max<size_t>(tasks / kTasksInAFrame, 10);
  if (frames > most)
    throw std::runtime_error("missed: at most " + std::to_string(most) + " frames were wanted");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: storm_bench SLURM_CONF [TASKS]\n");
    return 2;
  }
  try {
    run(value_of(load_config(argv[1])),
        argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 10'000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "storm_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
