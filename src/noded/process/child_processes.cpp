#include "noded/process/child_processes.hpp"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include "common/base/errno_text.hpp"
#include "common/os/exec_pointers.hpp"

namespace sluice::noded {
ChildProcesses::ChildProcesses(boost::asio::io_context& io) : signal_(io, SIGCHLD) { wait(); }

void ChildProcesses::wait() {
  signal_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    wait();
    reap();
  });
}

void ChildProcesses::reap() {
  std::vector<std::pair<OnExit, int>> ended;
  for (auto child = children_.begin(); child != children_.end();) {
    int status = 0;
    if (::waitpid(child->first, &status, WNOHANG) == child->first) {
      ended.emplace_back(std::move(child->second), status);
      child = children_.erase(child);
    } else {
      ++child;
    }
  }
  for (const auto& [on_exit, status] : ended) on_exit(status);
}

Result<pid_t> ChildProcesses::spawn(const SpawnRequest& request, OnExit on_exit) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (int fd = 0; fd <= 2; ++fd) {
    const auto named = std::any_of(request.descriptors.begin(), request.descriptors.end(),
                                   [fd](const auto& pair) { return pair.second == fd; });
    if (!named) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  for (const auto& [ours, its] : request.descriptors) {
    ::posix_spawn_file_actions_adddup2(&actions, ours, its);
  }
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  const auto argv = exec_pointers(request.arguments);
  const auto envp = exec_pointers(request.environment);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, request.program.c_str(), &actions, &attributes, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return failure(fmt::format("cannot run {}: {}", request.program, errno_text(error)));
  }
  children_.emplace(pid, std::move(on_exit));
  return pid;
}

}  // namespace sluice::noded
