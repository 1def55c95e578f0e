// Bytes and messages that make no sense, by seeds: the daemons neither crash nor hang, and what
// they took in can be read back by the next controller.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/os/clock.hpp"
#include "common/protocol/config_query.hpp"
#include "common/protocol/noded.hpp"
#include "common/protocol/stepd.hpp"
#include "common/step/frame.hpp"
#include "system/wire/rows.hpp"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

uint64_t rounds() {
  const char* given = std::getenv("SLUICE_FUZZ_ROUNDS");  // NOLINT(concurrency-mt-unsafe)
  return given == nullptr ? 12 : std::strtoull(given, nullptr, 10);
}

class Fuzz : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: acts as users";
    controller = cluster.pid(Server::kController);
    agent = cluster.pid(Server::kAgent);
    job = cluster.running_job();
  }
  // Both are the same processes still, and answer.
  void expect_alive() const {
    ASSERT_EQ(cluster.pid(Server::kController), controller);
    ASSERT_EQ(cluster.pid(Server::kAgent), agent);
    ASSERT_EQ(::kill(controller, 0), 0);
    ASSERT_EQ(::kill(agent, 0), 0);
    const auto config =
        cluster.call_as<protocol::QueryConfigReply>(kBob, protocol::QueryConfigRequest{});
    ASSERT_TRUE(config) << config.error().text;
    const auto shown = cluster.call_as<protocol::ShowAgentReply>(kBob, protocol::ShowAgentRequest{},
                                                                 Server::kAgent);
    ASSERT_TRUE(shown) << shown.error().text;
  }
  WireCluster cluster;
  pid_t controller = -1;
  pid_t agent = -1;
  JobId job = kNoJob;
};

TEST_F(Fuzz, WildFieldsOfEveryRequest) {
  for (uint64_t seed = 1; seed <= rounds(); ++seed) {
    Mutator mutator(seed);
    const double chance = std::array{0.02, 0.1, 0.5}[seed % 3];
    for (const Row& row : all_rows()) {
      if (row.ends) continue;
      for (const uint32_t uid : {kAlice, uint32_t{0}}) {
        SCOPED_TRACE(fmt::format("seed {} {} as {}", seed, row.method, uid));
        const auto client = cluster.client_as(row.server, uid);
        (void)cluster.ask(row.server, *client, row.method, row.request(job, &mutator, chance));
        ASSERT_EQ(::kill(row.server == Server::kController ? controller : agent, 0), 0);
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_alive()) << "seed " << seed;
  }
  cluster.kill_and_restart(Server::kController);
  EXPECT_TRUE(WireCluster::eventually([&] {
    return cluster.call_as<protocol::QueryConfigReply>(0, protocol::QueryConfigRequest{})
        .has_value();
  }));
}

TEST_F(Fuzz, ChangedBytesOfEveryRequest) {
  for (uint64_t seed = 1; seed <= rounds(); ++seed) {
    Mutator mutator(seed);
    for (const Row& row : all_rows()) {
      if (row.ends) continue;
      SCOPED_TRACE(fmt::format("seed {} {}", seed, row.method));
      const auto client = cluster.client_as(row.server, kAlice);
      const std::string bytes = row.request(job, nullptr, 0);
      (void)cluster.ask(row.server, *client, row.method, mutator.change_bytes(bytes));
      (void)cluster.ask(row.server, *client, row.method, mutator.noise(mutator.below(300)));
      // tokens, too
      const auto unproved = cluster.client(row.server, [&](const net::RequestDigest& digest) {
        return mutator.change_bytes(cluster.maker().make(0, 0, digest.bytes, net::now()));
      });
      (void)cluster.ask(row.server, *unproved, row.method, bytes);
    }
    ASSERT_NO_FATAL_FAILURE(expect_alive()) << "seed " << seed;
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const { return fd_; }
  void send(const std::string& bytes) const {
    (void)!::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Reads until the peer closes, or for a moment.
  void drain(int limit_ms) const {
    char buffer[4096];
    pollfd watched{fd_, POLLIN, 0};
    while (::poll(&watched, 1, limit_ms) > 0 && ::recv(fd_, buffer, sizeof buffer, 0) > 0) {}
  }

 private:
  int fd_;
};

int tcp(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET,
                      .sin_port = htons(static_cast<uint16_t>(port)),
                      .sin_addr = {htonl(INADDR_LOOPBACK)},
                      .sin_zero = {}};
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

int local(const std::string& path, int type) {
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << path;
  return fd;
}

TEST_F(Fuzz, NoiseOnEverySocket) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (uint64_t seed = 1; seed <= rounds(); ++seed) {
    Mutator mutator(seed);
    for (const Server server : {Server::kController, Server::kAgent}) {
      const std::string address = cluster.address(server);
      const Descriptor peer(tcp(std::stoi(address.substr(address.rfind(':') + 1))));
      if (mutator.below(2) == 0) peer.send(preface);
      peer.send(mutator.noise(1 + mutator.below(5000)));
      if (mutator.below(2) == 0) peer.drain(5);
    }
    const Descriptor tokens(local(cluster.dir() + "/sack.socket", SOCK_SEQPACKET));
    for (int i = 0; i < 5; ++i) tokens.send(mutator.noise(1 + mutator.below(600)));
    tokens.drain(5);
  }
  expect_alive();
}

std::string wild_frame(Mutator& mutator, JobId job) {
  using protocol::FrameType;
  // all but what ends the step in earnest
  constexpr std::array kTypes{FrameType::kAgentSignal, FrameType::kAgentListPids,
                              FrameType::kAgentAttach, FrameType::kAgentStart,
                              FrameType::kStdin,       FrameType::kHello,
                              FrameType::kAgentEnded,  FrameType{0},
                              FrameType{255}};
  std::string body = mutator.noise(mutator.below(200));
  const FrameType type = kTypes[mutator.below(kTypes.size())];
  if (type == FrameType::kAgentAttach && mutator.below(2) == 0) {
    protocol::AttachRequest request{{{job, kBatchStep}, 0}, {"127.0.0.1", 9, "key"}, true};
    mutator.change(request, 0.4);
    body = wire::encode(request);
  }
  if (type == FrameType::kAgentSignal) {
    protocol::SignalStepRequest request;
    request.key.id = {job, kBatchStep};
    request.signal = 65 + mutator.below(1U << 30);
    body = wire::encode(request);
    if (mutator.below(3) == 0) body.resize(mutator.below(static_cast<uint32_t>(body.size())));
  }
  std::string frame;
  append_frame(frame, type, mutator.below(2) == 0 ? kNoTask : mutator.below(UINT32_MAX), body);
  return frame;
}

TEST_F(Fuzz, FramesToAStepDaemon) {
  const std::string socket =
      fmt::format("{}/spool/n1/steps/{}.4294967291.0.sock", cluster.dir(), job);
  const auto pids_of_job = [&] {
    protocol::ListPidsRequest request;
    request.job = job;
    const auto pids = cluster.call_as<protocol::ListPidsReply>(0, request, Server::kAgent);
    return pids ? pids->pids.size() : 0;
  };
  const size_t before = pids_of_job();
  ASSERT_GT(before, 0U);
  for (uint64_t seed = 1; seed <= 5 * rounds(); ++seed) {
    Mutator mutator(seed);
    const Descriptor peer(local(socket, SOCK_STREAM));
    for (uint32_t i = mutator.below(8); i > 0; --i) peer.send(wild_frame(mutator, job));
    if (mutator.below(2) == 0) peer.send(mutator.noise(1 + mutator.below(2000)));
    if (mutator.below(2) == 0) peer.drain(2);
  }
  // the agent takes its place again, and the job runs on
  EXPECT_TRUE(WireCluster::eventually([&] { return pids_of_job() == before; }));
  EXPECT_EQ(cluster.job(job).job.state, JobState::kRunning);
  expect_alive();
}

TEST_F(Fuzz, FramesToSrun) {
  const std::string output = cluster.dir() + "/srun.out";
  const pid_t srun = ::fork();
  if (srun == 0) {
    const std::string command = fmt::format(
        "cd {0}/work; exec env SLURM_CONF={0}/slurm.conf {1}/srun --jobid={2} --overlap --uid=0 -n1 sh -c "
        "'while [ ! -e go ]; do sleep 0.02; done; echo done' > {3} 2>&1",
        cluster.dir(), BIN_FOLDER, job, output);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int port = 0;
  std::string key;
  EXPECT_TRUE(WireCluster::eventually([&] {
    const auto step =
        cluster.call_as<protocol::DescribeStepReply>(0, protocol::DescribeStepRequest{{job, 0}});
    if (!step || step->step.spec == nullptr) return false;
    port = static_cast<int>(step->step.spec->io.port);
    return port != 0;
  })) << cluster.read("srun.out");
  for (uint64_t seed = 1; port != 0 && seed <= 5 * rounds(); ++seed) {
    Mutator mutator(seed);
    const Descriptor peer(tcp(port));
    protocol::StepHello hello;
    hello.key.id = {job, 0};
    hello.nonce = mutator.noise(32);
    mutator.change(hello, 0.1);
    std::string frame;
    append_frame(frame, protocol::FrameType::kHello, kNoTask, wire::encode(hello));
    peer.send(mutator.below(3) == 0 ? mutator.change_bytes(frame) : frame);
    peer.send(mutator.noise(1 + mutator.below(3000)));
    peer.drain(2);
  }
  std::ofstream(cluster.dir() + "/work/go") << "";
  int status = -1;
  ASSERT_EQ(::waitpid(srun, &status, 0), srun);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cluster.read("srun.out"), "done\n");
}

}  // namespace
}  // namespace sluice::testing
