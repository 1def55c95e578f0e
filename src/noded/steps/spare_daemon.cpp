#include "noded/steps/spare_daemon.hpp"

#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log/log.hpp"
#include "common/net/tls_config.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::noded {
namespace {

// What the end of a step sets going comes first.
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr auto kPatience = std::chrono::minutes(1);

// Of a child; one that ended stays as it is for whoever waits for it.
bool lives(pid_t child) {
  siginfo_t over{};
  return ::waitid(P_PID, static_cast<id_t>(child), &over, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         over.si_pid == 0;
}

}  // namespace

SpareDaemon::SpareDaemon(NodeState& node, ChildProcesses& children)
    : node_(node), children_(children), timer_(node.io) {}

SpareDaemon::~SpareDaemon() { dismiss(); }

Result<std::shared_ptr<SpareDaemon::Daemon>> SpareDaemon::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failure("no socket for its step daemon");
  auto daemon = std::make_shared<Daemon>();
  std::string name = protocol::kSpareDaemon;
  name.resize(protocol::kDaemonNameRoom, ' ');
  Environment environment = daemon_environment(node_);
  if (net::uses_tls(*node_.config)) environment.set(protocol::kWillEncrypt, "1");
  const auto pid = children_.spawn({step_daemon(node_),
                                    {std::move(name), node_.spool_dir},
                                    environment.entries(),
                                    {{ends[1], protocol::kStartDescriptor}}},
                                   [this, daemon](int status) {
                                     if (daemon->on_exit) return daemon->on_exit(status);
                                     if (waiting_ == daemon) dismiss();
                                   });
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return tl::unexpected<Error>(pid.error());
  }
  daemon->taken = {*pid, ends[0]};
  return daemon;
}

Result<SpareDaemon::Taken> SpareDaemon::take(ChildProcesses::OnExit on_exit) {
  timer_.cancel();
  // of whose end on_exit() is to tell yet
  if (waiting_ != nullptr && !lives(waiting_->taken.pid)) dismiss();
  std::shared_ptr<Daemon> daemon = std::exchange(waiting_, nullptr);
  if (daemon == nullptr) {
    auto fresh = start();
    if (!fresh) return tl::unexpected<Error>(fresh.error());
    daemon = *fresh;
  }
  daemon->on_exit = std::move(on_exit);
  return daemon->taken;
}

void SpareDaemon::prepare() {
  timer_.expires_after(kPause);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (waiting_ == nullptr) {
      if (auto fresh = start()) waiting_ = *fresh;
      // the next step says it
      else log::debug("no step daemon was started ahead: {}", fresh.error().text);
    }
    timer_.expires_after(kPatience);
    timer_.async_wait([this](const boost::system::error_code& interrupted) {
      if (!interrupted) dismiss();
    });
  });
}

void SpareDaemon::dismiss() {
  if (const auto daemon = std::exchange(waiting_, nullptr)) ::close(daemon->taken.link);
}

}  // namespace sluice::noded
