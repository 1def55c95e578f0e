#include "stepd/process/task_child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/os/exec_pointers.hpp"
#include "common/os/replace_file.hpp"
#include "common/base/text.hpp"
#include "common/cgroup/group_files.hpp"
#include "common/environment/output_env.hpp"
#include "stepd/process/mount_namespace.hpp"
#include "stepd/process/resource_limits.hpp"
#include "stepd/process/task_prolog.hpp"

namespace sluice::stepd {
namespace {

constexpr int kUserEnvSeconds = 10;
constexpr int kEpilogMilliseconds = 5000;  // that one has, as with Slurm
constexpr const char* kUserEnvMark = "SLUICE-ENVIRONMENT-FOLLOWS";

// nobody is left to hear why not
void say(int fd, std::string_view text) { (void)write_all(fd, text); }
void complain(const std::string& text) {
  say(STDERR_FILENO, fmt::format("slurmstepd: error: {}\n", text));
}

void clean_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  // the C library keeps two signals to itself, and its posix_spawn() leaves them ignored
  const unsigned long default_action[4] = {};
  for (int signal = 32; signal < SIGRTMIN; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, default_action, nullptr, sizeof(unsigned long));
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// This process ends when its parent does, whatever it executes. Before it is a program of the
// step's nothing tells it from the daemon: whoever ends what a dead daemon left would not find it.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::raise(SIGKILL);
}

pid_t fork_child() {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) end_with(parent);
  return pid;
}

// A fork whose child hears of no signal until clean_signals(). Until then it has the daemon's
// handlers, and what they write into the daemon's own pipe would tell the daemon of a signal that
// was meant for the task.
pid_t fork_with_signals_blocked() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork_child();
  if (pid != 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

bool names_missing_interpreter(const std::string& path, std::string& interpreter) {
  char line[256];
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = ::read(fd, line, sizeof line);
  ::close(fd);
  const std::string_view head(line, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (!head.starts_with("#!")) return false;
  std::string_view name = trim(head.substr(2, head.find('\n') - 2));
  interpreter = name.substr(0, name.find(' '));
  return true;
}

// A program that is called by its own name sees as that the path where it was found.
void try_to_execute(const std::string& program, std::string path, char* const* arguments,
                    char* const* env) {
  std::vector<char*> words;
  for (char* const* word = arguments; *word != nullptr; ++word) words.push_back(*word);
  if (!words.empty() && program == words[0]) words[0] = path.data();
  words.push_back(nullptr);
  ::execve(path.c_str(), words.data(), env);
}

// Like execvpe(), except that a script without an interpreter line is not run, that a path that
// begins with a dot is made a whole one (a script finds it in $0), and that a program that no
// folder of the path has may lie in this folder: without a path, as --export=NONE leaves it, only
// there. Returns the errno.
int execute(const std::string& program, char* const* arguments, char* const* env,
            std::string_view path) {
  if (program.empty()) return ENOENT;
  if (program.find('/') != std::string::npos) {
    std::error_code unknown;
    const std::string folder =
        program[0] == '.' ? std::filesystem::current_path(unknown).string() : "";
    try_to_execute(program, folder.empty() ? program : folder + "/" + program, arguments, env);
    return errno;
  }
  int worst = ENOENT;
  for (const std::string& folder : split(path, ':')) {
    try_to_execute(program, folder.empty() ? program : fmt::format("{}/{}", folder, program),
                   arguments, env);
    if (errno == EACCES) worst = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR) return errno;
  }
  if (worst != ENOENT) return worst;
  ::execve(program.c_str(), arguments, env);
  return errno;
}

enum class Errors : uint8_t { kShown, kDropped };

void drop_errors() {
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDERR_FILENO);
}

// Runs a program as this process is (user, folder) and returns what it wrote; false when there is
// no process for it. It has `seconds` for that (0: as long as it likes). Its errors go where the
// task's go, or nowhere.
bool capture(std::vector<std::string> arguments, const Environment& env, int seconds,
             std::string& output, int& status, Errors errors) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t pid = fork_child();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    if (errors == Errors::kDropped) drop_errors();
    const auto argv = exec_pointers(arguments);
    const auto envp = env.exec_pointers();
    ::_exit(execute(arguments[0], argv.data(), envp.data(), env.get("PATH")));
  }
  ::close(ends[1]);
  pollfd ready{ends[0], POLLIN, 0};
  char buffer[4096];
  while (pid > 0 && ::poll(&ready, 1, seconds == 0 ? -1 : seconds * 1000) > 0) {
    const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    output.append(buffer, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  if (pid > 0 && seconds != 0) ::kill(pid, SIGKILL);
  return pid > 0 && ::waitpid(pid, &status, 0) == pid;
}

// --get-user-env: the variables of a login shell, under those of the job.
void add_user_env(TaskSetup& setup) {
  const passwd* entry = ::getpwuid(setup.user.uid);
  const std::string shell =
      entry != nullptr && entry->pw_shell[0] != '\0' ? entry->pw_shell : "/bin/sh";
  Environment bare;
  bare.set("HOME", entry != nullptr ? entry->pw_dir : "/");
  bare.set("SHELL", shell);
  bare.set("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (entry != nullptr) {
    bare.set("MAIL", fmt::format("/var/mail/{}", entry->pw_name));  // as `su -` does
    bare.set("USER", entry->pw_name);
    bare.set("LOGNAME", entry->pw_name);
  }
  std::string output;
  int status = 0;
  // not as the shell's last command, for which it would count itself out of SHLVL
  capture({shell, "-l", "-c", fmt::format("echo {}; /usr/bin/env -0; :", kUserEnvMark)}, bare,
          kUserEnvSeconds, output, status, Errors::kShown);
  const size_t mark = output.find(kUserEnvMark);
  const Environment found = mark == std::string::npos
                                ? bare
                                : Environment::from_block(std::string_view(output).substr(
                                      mark + std::strlen(kUserEnvMark) + 1));
  for (const std::string& text : found.entries()) {
    const size_t equals = text.find('=');
    setup.env.set_default(std::string_view(text).substr(0, equals),
                          std::string_view(text).substr(equals + 1));
  }
}

// What a program of the site or the user's that goes before or after a task finds: it is not the
// task's.
Environment program_environment(const TaskSetup& setup, std::string_view context) {
  Environment env = setup.env;
  set_limit_variables(setup.sent_limits, env);
  env.set("SLURM_SCRIPT_CONTEXT", context);
  return env;
}

// A prolog's exit status; whatever else becomes of it counts as 1. `kind` names it in complaints.
int status_of_prolog(TaskSetup& setup, const std::string& prolog, std::string_view kind) {
  const auto abnormal = [&](std::string_view reason) {
    complain(fmt::format("{} did not exit normally. reason: {}", kind, reason));
    return 1;
  };
  if (::access(prolog.c_str(), X_OK) != 0) {
    complain(fmt::format("run_command: {} can not be executed ({}) {}", kind, prolog,
                         errno_text(errno)));
    return abnormal("Run command failed - configuration error");
  }
  std::string output;
  int status = 0;
  if (!capture({prolog}, program_environment(setup, "prolog_task"), 0, output, status,
               Errors::kDropped))
    return abnormal(errno_text(errno));
  say(STDOUT_FILENO, apply_task_prolog(output, setup.env));
  return WIFEXITED(status) ? WEXITSTATUS(status) : abnormal("");
}

// The task of a prolog that fails does not run: what it would find is not prepared.
void run_prologs(TaskSetup& setup) {
  const auto run = [&setup](const std::string& prolog, std::string_view kind,
                            std::string_view name) {
    const int status = prolog.empty() ? 0 : status_of_prolog(setup, prolog, kind);
    if (status == 0) return;
    complain(fmt::format("{} failed status={}", name, status));
    ::_exit(status);
  };
  run(setup.site_prolog, "slurm task_prolog", "TaskProlog");
  run(setup.user_prolog, "user task_prolog", "--task-prolog");
}

bool ends_in_time(pid_t pid, int milliseconds) {
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;  // an old kernel: it is waited for
  pollfd ended{process, POLLIN, 0};
  const int seen = ::poll(&ended, 1, milliseconds);
  ::close(process);
  return seen != 0;
}

// As waitpid() tells it; -1 when it could not run.
int status_of_epilog(const std::string& epilog, const Environment& env) {
  if (::access(epilog.c_str(), X_OK) != 0) {
    complain(fmt::format("Could not run user task_epilog [{}]: access denied", epilog));
    return -1;
  }
  const pid_t pid = fork_child();
  if (pid == 0) {
    ::setpgid(0, 0);
    std::vector<std::string> arguments = {epilog};
    const auto argv = exec_pointers(arguments);
    const auto envp = env.exec_pointers();
    ::_exit(execute(epilog, argv.data(), envp.data(), env.get("PATH")));
  }
  if (pid > 0 && !ends_in_time(pid, kEpilogMilliseconds)) {
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);  // one that has no group of its own yet
  }
  int status = 0;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid ? status : -1;
}

[[noreturn]] void run_program(TaskSetup& setup) {
  const std::string program = setup.program.empty() ? setup.arguments[0].str() : setup.program;
  const auto argv = exec_pointers(setup.arguments);
  const auto envp = setup.env.exec_pointers();
  if (setup.stops_in_program && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
    const int error = errno;
    complain(fmt::format("cannot stop the task for a debugger: {}", errno_text(error)));
    ::_exit(error);
  }
  const int error = execute(program, argv.data(), envp.data(), setup.env.get("PATH"));
  std::string interpreter;
  if (error == ENOENT && names_missing_interpreter(program, interpreter)) {
    complain(fmt::format("execve(): bad interpreter({}): {}", interpreter, errno_text(error)));
  } else {
    const bool relative = program.starts_with('.') && program.find('/') != std::string::npos;
    std::error_code unknown;
    const std::string folder =
        relative ? std::filesystem::current_path(unknown).string() + "/" : "";
    complain(fmt::format("execve(): {}{}: {}", folder, program, errno_text(error)));
  }
  ::_exit(error);
}

// Puts this process into its control groups; without one of them it would not be held to anything.
void join_groups(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    const bool joined = fd >= 0 && ::write(fd, "0", 1) == 1;
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (joined) continue;
    complain(fmt::format("cannot join the control group {}: {}", file, errno_text(error)));
    ::_exit(error);
  }
}

// The daemon's own is not for what it starts: the kernel would look for others first.
void set_oom_score(const std::string& score) {
  if (score.empty()) return;
  const Status written = cgroup::write_group_file("/proc/self/oom_score_adj", score);
  if (written) return;
  complain(written.error().text);
  ::_exit(EACCES);
}

// Closes everything but the standard streams and the connection to MPI's server.
void keep_descriptors(int mpi_socket) {
  if (mpi_socket < 0) {
    ::close_range(3, ~0U, 0);
    return;
  }
  if (mpi_socket == kMpiDescriptor) {
    ::fcntl(kMpiDescriptor, F_SETFD, 0);
  } else if (::dup2(mpi_socket, kMpiDescriptor) < 0) {
    ::_exit(errno);
  }
  ::close_range(3, kMpiDescriptor - 1, 0);
  ::close_range(kMpiDescriptor + 1, ~0U, 0);
}

// --mem-bind. Without the nodes that were asked for nothing runs.
void bind_memory(const TaskSetup& setup) {
  if (!setup.memory_complaint.empty()) complain(setup.memory_complaint);
  if (!setup.memory_report.empty()) {
    say(STDERR_FILENO, fmt::format(fmt::runtime(setup.memory_report), ::getpid()));
  }
  bool bound = setup.memory_complaint.empty();
  if (bound && setup.memory_policy >= 0) {
    constexpr unsigned long kBits = 64 + 1;  // the kernel reads one fewer
    bound = ::syscall(SYS_set_mempolicy, setup.memory_policy, &setup.memory_nodes, kBits) == 0;
    if (!bound) complain(fmt::format("cannot bind memory: {}", errno_text(errno)));
  }
  if (bound) return;
  complain("Failed to invoke task plugins: task_p_pre_launch error");
  ::_exit(1);
}

// Makes this process the user's: session, streams, signals, limits, CPUs, rights and folder.
void settle(const TaskSetup& setup) {
  const pid_t parent = ::getppid();
  ::setsid();
  if (setup.controlling_tty) ::ioctl(setup.std_in, TIOCSCTTY, 0);
  if (::dup2(setup.std_in, 0) < 0 || ::dup2(setup.std_out, 1) < 0 || ::dup2(setup.std_err, 2) < 0) {
    ::_exit(errno);
  }
  keep_descriptors(setup.mpi_socket);
  join_groups(setup.groups);
  set_oom_score(setup.oom_score);
  clean_signals();
  set_limits(setup.limits);
  if (setup.nice) ::setpriority(PRIO_PROCESS, 0, *setup.nice);
  if (setup.cpus) ::sched_setaffinity(0, sizeof(cpu_set_t), &*setup.cpus);
  if (!setup.binding_report.empty()) {
    say(STDERR_FILENO, fmt::format(fmt::runtime(setup.binding_report), ::getpid()));
  }
  if (!setup.gpu_complaint.empty()) say(STDERR_FILENO, setup.gpu_complaint);
  if (!setup.gpu_report.empty()) say(STDERR_FILENO, setup.gpu_report);
  bind_memory(setup);
  if (const int error = enter_mount_namespace(setup.mount_namespace); error != 0) {
    complain(fmt::format("cannot enter the job's mount namespace: {}", errno_text(error)));
    ::_exit(error);
  }
  if (!become(setup.user)) {
    const int error = errno;
    complain(fmt::format("cannot become user {}: {}", setup.user.uid, errno_text(error)));
    ::_exit(error);
  }
  end_with(parent);  // the kernel forgets it of a process that becomes another user's
  ::umask(setup.umask);
  if (::chdir(setup.work_dir.c_str()) != 0) {
    complain(fmt::format("couldn't chdir to `{}': {}: going to /tmp instead", setup.work_dir,
                         errno_text(errno)));
    if (::chdir("/tmp") != 0) complain(fmt::format("couldn't chdir to /tmp either. dying."));
  }
}

// Scripts rely on the folder where Slurm runs them.
void provide_tmpdir(TaskSetup& setup) {
  setup.env.set_default("TMPDIR", "/tmp");
  const std::string folder(setup.env.get("TMPDIR"));
  struct stat about {};
  if (::stat(folder.c_str(), &about) == 0 || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST)
    return;
  complain(fmt::format("Unable to create TMPDIR [{}]: {}", folder, errno_text(errno)));
  complain("Setting TMPDIR to /tmp");
  setup.env.set("TMPDIR", "/tmp");
}

[[noreturn]] void run_task(TaskSetup& setup) {
  settle(setup);
  setup.env.set("SLURM_TASK_PID", std::to_string(::getpid()));
  if (setup.user_env) add_user_env(setup);
  run_prologs(setup);
  provide_tmpdir(setup);
  run_program(setup);
}

}  // namespace

pid_t start_task(TaskSetup& setup) {
  const pid_t pid = fork_with_signals_blocked();
  if (pid == 0) run_task(setup);
  return pid;
}

void pass_stop(pid_t task, int status) {
  const long signal = WSTOPSIG(status);
  // NOLINTBEGIN(performance-no-int-to-ptr): it is how ptrace() takes a signal
  if (signal == SIGTRAP) {  // of execve()
    ::ptrace(PTRACE_DETACH, task, nullptr, reinterpret_cast<void*>(static_cast<long>(SIGSTOP)));
  } else {
    ::ptrace(PTRACE_CONT, task, nullptr, reinterpret_cast<void*>(signal));
  }
  // NOLINTEND(performance-no-int-to-ptr)
}

pid_t start_epilogs(TaskSetup& setup, const std::vector<std::string>& epilogs) {
  const pid_t pid = fork_with_signals_blocked();
  if (pid != 0) return pid;
  settle(setup);
  const Environment env = program_environment(setup, "epilog_task");
  for (const std::string& epilog : epilogs) {
    const int status = status_of_epilog(epilog, env);
    if (status != 0) complain(fmt::format("TaskEpilog failed status={}", status));
  }
  ::_exit(0);
}

}  // namespace sluice::stepd
