#include "system/stepd_driver.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/step/step_spool.hpp"
#include "common/step/io_proof.hpp"
#include "common/wire/codec.hpp"

namespace sluice::testing {

using protocol::FrameType;

FramePeer& FramePeer::operator=(FramePeer&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  reader_ = other.reader_;
  return *this;
}

void FramePeer::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void FramePeer::send(FrameType type, std::string_view body, uint32_t task) {
  std::string bytes;
  append_frame(bytes, type, task, body);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    ASSERT_GT(n, 0);
    sent += static_cast<size_t>(n);
  }
}

std::optional<Frame> FramePeer::next() {
  for (;;) {
    auto frame = reader_.next();
    if (!frame) return std::nullopt;
    if (frame->has_value()) return **frame;
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, 20000) <= 0) return std::nullopt;
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) return std::nullopt;
    reader_.feed(std::string_view(buffer, static_cast<size_t>(n)));
  }
}

std::optional<Frame> FramePeer::wait_for(FrameType type) {
  for (auto frame = next(); frame; frame = next()) {
    if (frame->type == type) return frame;
  }
  return std::nullopt;
}

StepdDriver::StepdDriver() {
  char name[] = "/tmp/sluice-stepd-XXXXXX";
  folder = ::mkdtemp(name);
  ::chmod(folder.c_str(), 0755);
  EXPECT_TRUE(StepSpool(folder).prepare());
  start.node_name = "n1";
  start.spool_dir = folder;
  start.kill_wait = std::chrono::milliseconds(300);
  launch.key.id = {5, kBatchStep};
  launch.uid = ::geteuid();
  launch.gid = ::getegid();
  launch.user_name = "tester";
  launch.partition = "debug";
  launch.allocation_cpus = {2};
  launch.allocation_nodes = {{"n1", "127.0.0.1", 1}};
  launch.environment = std::string("PATH=/usr/bin:/bin\0FROM=submit\0", 32);
  job.name = "demo";
  job.work_dir = folder;
}

StepdDriver::~StepdDriver() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    wait_exit();
  }
  if (listening_ >= 0) ::close(listening_);
  std::filesystem::remove_all(folder);
}

void StepdDriver::make_step(uint32_t tasks, const std::vector<std::string>& arguments) {
  is_batch = false;
  launch.key.id.step = 0;
  for (const std::string& argument : arguments) step.arguments.emplace_back(argument);
  step.work_dir = folder;
  StepNode here;
  here.name = "n1";
  for (uint32_t task = 0; task < tasks; ++task) here.tasks.push_back(task);
  launch.layout.nodes = {here};
  launch.layout.num_tasks = tasks;
  launch.layout.node_list = "n1";
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listening_, 4), 0);
  socklen_t length = sizeof address;
  ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &length);
  step.io = {"127.0.0.1", ntohs(address.sin_port), "secret"};
}

FramePeer& StepdDriver::run() {
  const int daemons_end = connect_agent();
  start_daemon(daemons_end);
  agent_.send(FrameType::kAgentStart, wire::encode(start));
  return agent_;
}

void StepdDriver::run_orphaned() {
  const int daemons_end = connect_agent();
  agent_.send(FrameType::kAgentStart, wire::encode(start));
  agent_.close();
  start_daemon(daemons_end);
}

int StepdDriver::connect_agent() {
  launch.job_spec = std::make_shared<const JobSpec>(job);
  if (!is_batch) launch.step = std::make_shared<const StepSpec>(step);
  start.launch = wire::encode(launch);
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  agent_ = FramePeer(ends[0]);
  return ends[1];
}

void StepdDriver::start_daemon(int end) {
  pid_ = ::fork();
  if (pid_ == 0) {
    if (end == protocol::kStartDescriptor) ::fcntl(end, F_SETFD, 0);
    else ::dup2(end, protocol::kStartDescriptor);
    ::execl(STEPD_PATH, "slurmstepd: test", nullptr);
    ::_exit(127);
  }
  ::close(end);
}

FramePeer& StepdDriver::srun() {
  pollfd ready{listening_, POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 20000), 1);
  srun_ = FramePeer(::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
  const auto frame = srun_.wait_for(FrameType::kHello);
  EXPECT_TRUE(frame);
  if (!frame) return srun_;
  const auto hello = wire::decode<protocol::StepHello>(frame->body);
  EXPECT_EQ(frame->body.find("secret"), std::string::npos) << "the key is never sent";
  EXPECT_EQ(hello->node, "n1");
  const std::string nonce(kIoNonceBytes, 'n');
  srun_.send(FrameType::kChallenge,
             wire::encode(protocol::IoChallenge{
                 nonce, io_proof(IoSide::kSrun, "secret", frame->body, nonce)}));
  const auto proof = srun_.wait_for(FrameType::kProof);
  EXPECT_TRUE(proof && is_io_proof(proof->body, IoSide::kDaemon, "secret", frame->body, nonce));
  return srun_;
}

protocol::StepEnded StepdDriver::ended() {
  const auto frame = agent_.wait_for(FrameType::kAgentEnded);
  EXPECT_TRUE(frame) << "no report";
  if (!frame) return {};
  return wire::decode<protocol::StepEnded>(frame->body).value();
}

int StepdDriver::wait_exit() {
  int status = -1;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

StepdDriver::Output StepdDriver::collect() {
  Output output;
  for (auto frame = srun_.next(); frame; frame = srun_.next()) {
    if (frame->type == FrameType::kStdout) output.out[frame->task] += frame->body;
    if (frame->type == FrameType::kStderr) output.err[frame->task] += frame->body;
    if (frame->type == FrameType::kMessage) output.messages += frame->body;
    if (frame->type == FrameType::kLaunchFailed) output.launch_failure = frame->body;
    if (frame->type == FrameType::kExited) {
      const auto exit = wire::decode<protocol::TaskExit>(frame->body).value();
      output.exits[exit.task] = exit.status;
    }
    if (frame->type == FrameType::kNodeDone) return output;
  }
  ADD_FAILURE() << "the connection broke off";
  return output;
}

std::string StepdDriver::read(const std::string& name) const {
  std::ifstream file(folder + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void StepdDriver::write(const std::string& name, const std::string& text, int mode) const {
  std::ofstream(folder + "/" + name) << text;
  ::chmod((folder + "/" + name).c_str(), static_cast<mode_t>(mode));
}

}  // namespace sluice::testing
