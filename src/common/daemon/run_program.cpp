#include "common/daemon/run_program.hpp"

#include <cerrno>
#include <csignal>
#include <optional>
#include <span>
#include <string_view>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/daemon/program_said.hpp"
#include "common/os/processes.hpp"
#include "common/os/close_on_exec.hpp"
#include "common/base/errno_text.hpp"
#include "common/base/text.hpp"
#include "common/os/exec_pointers.hpp"
#include "common/os/group_list.hpp"
#include "common/os/proc_stat.hpp"
#include "common/os/read_file.hpp"
#include "common/os/wait_status.hpp"
#include "common/log/log.hpp"

namespace sluice::daemon {
namespace {

constexpr std::chrono::milliseconds kLook{100};

// False when it runs still after that time; 0: it has all the time. Meanwhile what it prints is
// kept within bounds.
bool ends_within(pid_t pid, std::chrono::milliseconds most, ProgramOutput* output) {
  if (most.count() == 0 && output == nullptr) return true;
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;  // an old kernel: it is waited for
  const auto until = std::chrono::steady_clock::now() + most;
  pollfd wait{process, POLLIN, 0};
  int ended = 0;
  bool late = false;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    const auto round = most.count() == 0 ? kLook : output == nullptr ? left : std::min(left, kLook);
    ended = ::poll(&wait, 1, std::max(static_cast<int>(round.count()), 0));
    late = most.count() != 0 && std::chrono::steady_clock::now() >= until;
    if (output != nullptr && ended == 0) output->bound(kMostProgramOutput);
  } while (ended < 0 ? errno == EINTR : ended == 0 && !late);
  ::close(process);
  return ended != 0;
}

constexpr int kMostRounds = 20;  // a process may be born while others are killed

// Whether it runs still, in that session.
bool is_in_session(pid_t pid, pid_t session) {
  const std::vector<std::string> fields =
      stat_fields(read_file(fmt::format("/proc/{}/stat", pid)).value_or(""));
  return fields.size() > 3 && fields[0] != "Z" && fields[0] != "X" &&
         fields[3] == std::to_string(session);
}

// A child that has not been waited for, its process group, and what left that but not the session.
// The child began both.
void kill_session(pid_t child) {
  ::kill(-child, SIGKILL);
  bool any = true;
  for (int round = 0; any && round < kMostRounds; ++round) {
    any = false;
    for (const pid_t pid : other_processes()) {
      if (signal_if(pid, SIGKILL, [&] { return is_in_session(pid, child); })) any = true;
    }
  }
}

constexpr rlim_t kUserMemory = rlim_t{1} << 30;  // bytes of address space of each process
constexpr rlim_t kUserThreads = 64;              // at once, beside those that run already
constexpr int kUserNice = 10;

// The user's threads on this host, which RLIMIT_NPROC counts.
rlim_t threads_of(uid_t uid) {
  constexpr size_t kThreads = 17;  // after the name: num_threads of proc(5)
  rlim_t count = 0;
  for (const pid_t pid : other_processes()) {
    struct stat owner {};
    const std::string folder = fmt::format("/proc/{}", pid);
    if (::stat(folder.c_str(), &owner) != 0 || owner.st_uid != uid) continue;
    const std::vector<std::string> fields = stat_fields(read_file(folder + "/stat").value_or(""));
    if (fields.size() > kThreads) count += to_number<rlim_t>(fields[kThreads]).value_or(1);
  }
  return count;
}

// A user's program runs in the daemon's control group: where that has no memory or no room for
// threads any more, it is the program that goes without. Safe between fork and exec.
bool bound_user(rlim_t threads) {
  constexpr std::string_view kFirstToGo = "1000";
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    (void)!::write(score, kFirstToGo.data(), kFirstToGo.size());
    ::close(score);
  }
  (void)::setpriority(PRIO_PROCESS, 0, kUserNice);
  const rlimit memory{kUserMemory, kUserMemory}, processes{threads, threads}, none{0, 0};
  return ::setrlimit(RLIMIT_AS, &memory) == 0 && ::setrlimit(RLIMIT_NPROC, &processes) == 0 &&
         ::setrlimit(RLIMIT_CORE, &none) == 0;
}

// Between fork and exec: nothing that is not safe there. Gives the error, or does not return.
int become_program(const ProgramUser* user, std::span<const gid_t> groups, rlim_t threads,
                   char* const* argv, char* const* envp, int output) {
  sigset_t none;
  sigemptyset(&none);
  // NOLINTNEXTLINE(bugprone-signal-handler): the default
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  close_on_exec_from(STDERR_FILENO + 1);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(fd > 0 && output >= 0 ? output : null, fd);
  if (user != nullptr) {
    const bool changed = bound_user(threads) && ::setgroups(groups.size(), groups.data()) == 0 &&
                         ::setgid(user->gid) == 0 && ::setuid(user->uid) == 0;
    if (!changed) return errno;
  }
  ::execve(argv[0], argv, envp);
  return errno;
}

}  // namespace

int run_program(const std::vector<std::string>& words,
                const std::map<std::string, std::string>& environment, const ProgramUser& user,
                std::chrono::milliseconds most, const std::string& of) {
  std::vector<std::string> pairs;
  pairs.reserve(environment.size());
  for (const auto& [name, value] : environment) pairs.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> argv = exec_pointers(words);
  const std::vector<char*> envp = exec_pointers(pairs);
  const bool changes = !user.name.empty() && ::geteuid() == 0 && user.uid != 0;
  const std::vector<gid_t> groups =
      changes ? groups_of_user(user.name, user.gid, user.gid) : std::vector<gid_t>();
  const rlim_t threads = changes ? threads_of(user.uid) + kUserThreads : 0;
  // what a user's program says is none of the log's
  std::optional<ProgramOutput> output;
  if (!changes) output.emplace();
  int told[2];  // the error of a program that could not be started
  if (::pipe2(told, O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int error = become_program(changes ? &user : nullptr, groups, threads, argv.data(),
                                     envp.data(), output ? output->fd() : -1);
    const ssize_t written = ::write(told[1], &error, sizeof(error));
    ::_exit(written > 0 ? 127 : 126);
  }
  ::close(told[1]);
  int error = 0;
  if (pid < 0) error = errno;
  else if (::read(told[0], &error, sizeof(error)) <= 0) error = 0;
  ::close(told[0]);
  if (pid > 0 && error == 0 && !ends_within(pid, most, output ? &*output : nullptr)) {
    log::error("{}{} is killed: it took longer than {} s", of, words[0], most.count() / 1000);
    kill_session(pid);
  }
  const int status = pid > 0 ? wait_for_child(pid).value_or(-1) : -1;
  if (error == 0) {
    log::flag(log::DebugFlag::kScript, "{}process {} ran {}, status {:#x}", of, pid, words[0],
              static_cast<uint32_t>(status));
    if (output) log_what_it_said(*output, of + words[0], status);
    return status;
  }
  log::error("{}{}: {}", of, words[0], errno_text(error));
  return -1;
}

}  // namespace sluice::daemon
