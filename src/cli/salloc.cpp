// salloc: gets a job and runs a command, or the user's shell, while it lasts.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/step/defined_options.hpp"
#include "cli/step/allocation.hpp"
#include "cli/shared/client.hpp"
#include "cli/options/find_in_path.hpp"
#include "cli/options/het_request.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/step/submit_call.hpp"
#include "cli/options/submit_env.hpp"
#include "cli/shared/user_environment.hpp"
#include "cli/step/x11_relay.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/exec_pointers.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

constexpr auto kBellAfter = std::chrono::seconds(10);  // who waited this long is not looking

std::string user_shell() {
  if (const char* shell = std::getenv("SHELL"); shell != nullptr && *shell != '\0') return shell;
  const passwd* user = getpwuid(getuid());
  return user != nullptr && *user->pw_shell != '\0' ? user->pw_shell : "/bin/sh";
}

// The srun that belongs to this salloc.
std::string srun_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / "srun";
  return !error && access(beside.c_str(), X_OK) == 0 ? beside.string() : "srun";
}

class CommandRun {
 public:
  // `specs`: of all components of a heterogeneous job, else of the job.
  // `login`: --get-user-env.
  CommandRun(Client& client, const Submission& submission, const std::vector<JobSpec>& specs,
             const Allocated& allocated, const std::optional<Environment>& login)
      : client_(client),
        submission_(submission),
        specs_(specs),
        allocated_(allocated),
        login_(login) {}

  // Runs it to its end; salloc's exit status.
  int run(boost::asio::io_context& io, JobWatch& watch, std::vector<std::string> words) {
    interactive_ = words.empty();
    if (interactive_) words = shell_words();
    const auto path = find_program(words[0], working_folder());
    if (!path) {
      print_error("salloc", fmt::format("_fork_command: Unable to find command \"{}\"", words[0]));
      relinquish(1 << 8);
      return 1;
    }
    boost::asio::signal_set children(io, SIGCHLD);
    boost::asio::signal_set signals(io, SIGTERM, SIGHUP, SIGUSR1);
    for (const int number : {SIGUSR2, SIGINT, SIGQUIT, SIGPIPE}) signals.add(number);
    watch.handle([this](const auto& update) { updated(update); },
                 [this](const Error&) { revoked(); });
    child_ = start(*path, words);
    if (child_ < 0) {
      relinquish(1 << 8);
      return error_exit();
    }
    wait_for_child(io, children);
    wait_for_signal(io, signals);
    auto guard = boost::asio::make_work_guard(io);
    io.restart();
    io.run();
    take_terminal_back();
    relinquish(status_);
    return hung_up_ ? error_exit() : exit_status();
  }

 private:
  [[nodiscard]] std::vector<std::string> shell_words() const {
    const ClusterConfig& config = client_.config();
    if (!has_option(config.launch_parameters, "use_interactive_step")) return {user_shell()};
    return {"/bin/sh", "-c",
            fmt::format("exec {} {}", srun_path(), config.interactive_step_options)};
  }

  pid_t start(const std::string& path, std::vector<std::string>& words) {
    Environment environment = current_environment();
    if (login_) {
      for (const std::string& entry : login_->entries()) {
        const size_t equals = entry.find('=');
        environment.set(std::string_view(entry).substr(0, equals),
                        std::string_view(entry).substr(equals + 1));
      }
    }
    forget_other_job(environment);
    set_caller_variables(environment);
    if (specs_.size() > 1) {
      set_het_job_variables(environment);
    } else {
      set_allocation_variables(facts_of(allocated_, submission_.job, client_.config()),
                               environment);
    }
    const std::string& gpus = submission_.settings.gpus_per_node;
    if (!gpus.empty()) environment.set("SLURM_GPUS_PER_NODE", gpus);
    set_request_variables(submission_.step, environment);
    environment.unset("SLURM_PRIO_PROCESS");  // srun and sbatch only
    environment.set_default("SHELL", user_shell());
    const std::vector<char*> argv = exec_pointers(words);
    const std::vector<char*> envp = environment.exec_pointers();
    has_terminal_ = isatty(STDIN_FILENO) != 0;
    in_front_ = has_terminal_ && tcgetpgrp(STDIN_FILENO) == getpgrp();
    const pid_t child = fork();
    if (child != 0) {
      if (child < 0) print_error("salloc", std::string("fork failed: ") + errno_text(errno));
      if (child > 0 && own_group()) setpgid(child, child);
      return child;
    }
    if (own_group()) setpgid(0, 0);
    if (in_front_) give_terminal(getpid());
    for (const int number :
         {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGTTOU, SIGPIPE}) {
      signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (!become_owner()) _exit(1);
    execve(path.c_str(), argv.data(), envp.data());
    _exit(127);
  }

  // Of a job around this one: what this job has otherwise, or not at all.
  static void forget_other_job(Environment& environment) {
    constexpr std::string_view kSizes[] = {"SLURM_HET_SIZE",
                                           "SLURM_PACK_SIZE",
                                           "SLURM_JOB_NODELIST",
                                           "SLURM_NODELIST",
                                           "SLURM_JOB_NUM_NODES",
                                           "SLURM_NNODES",
                                           "SLURM_JOB_CPUS_PER_NODE",
                                           "SLURM_TASKS_PER_NODE",
                                           "SLURM_NTASKS",
                                           "SLURM_NPROCS",
                                           "SLURM_CPUS_PER_TASK",
                                           "SLURM_NTASKS_PER_NODE",
                                           "SLURM_MEM_PER_CPU",
                                           "SLURM_MEM_PER_GPU",
                                           "SLURM_MEM_PER_NODE",
                                           "SLURM_JOB_PARTITION"};
    for (const std::string_view name : kSizes) environment.unset(name);
    const std::vector<std::string> entries = environment.entries();
    for (const std::string& entry : entries) {
      const std::string name = entry.substr(0, entry.find('='));
      const bool of_component = name.find("_HET_GROUP_") != std::string::npos ||
                                name.find("_PACK_GROUP_") != std::string::npos;
      if (of_component && name.starts_with("SLURM_")) environment.unset(name);
    }
  }

  // Sizes and nodes are each component's own; what is said of the whole is its id and its tasks.
  void set_het_job_variables(Environment& environment) const {
    set_het_variables(het_facts_of(allocated_, specs_, client_.config()), environment);
    environment.set("SLURM_JOB_ID", std::to_string(allocated_.job));
    environment.set("SLURM_JOBID", std::to_string(allocated_.job));
    environment.set("SLURM_CLUSTER_NAME", client_.config().cluster_name);
    uint32_t tasks = 0;
    for (const JobSpec& spec : specs_) {
      if (spec.num_tasks == 0) return;
      tasks += spec.num_tasks;
    }
    environment.set("SLURM_NTASKS", std::to_string(tasks));
    environment.set("SLURM_NPROCS", std::to_string(tasks));
  }

  // With --uid or --gid the command is the job's owner's, as all that runs in the job.
  [[nodiscard]] bool become_owner() const {
    const JobSpec& job = submission_.job;
    if (job.uid == getuid() && job.gid == getgid()) return true;
    const std::string user = job.user_name.str();
    const bool done =
        initgroups(user.c_str(), job.gid) == 0 && setgid(job.gid) == 0 && setuid(job.uid) == 0;
    if (!done)
      print_error("salloc", fmt::format("cannot become user {}: {}", user, errno_text(errno)));
    return done;
  }

  void wait_for_child(boost::asio::io_context& io, boost::asio::signal_set& children) {
    children.async_wait([&](const auto& error, int) {
      if (error) return;
      int status = 0;
      const pid_t ended = waitpid(child_, &status, WNOHANG | WUNTRACED);
      if (ended == child_ && WIFSTOPPED(status) && in_front_) stop_too();
      if (ended == child_ && !WIFSTOPPED(status)) {
        status_ = status;
        io.stop();
        return;
      }
      wait_for_child(io, children);
    });
    // It may have ended before the handler was there.
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) {
      status_ = status;
      boost::asio::post(io, [&io] { io.stop(); });
    }
  }

  void wait_for_signal(boost::asio::io_context& io, boost::asio::signal_set& signals) {
    signals.async_wait([&](const auto& error, int number) {
      if (error) return;
      // a terminal in front of us both has given these to the command already
      const bool typed = has_terminal_ && !own_group() && (number == SIGINT || number == SIGQUIT);
      if (number == SIGHUP) {
        hang_up();
        return io.stop();
      }
      if (!typed) cancel_job();
      wait_for_signal(io, signals);
    });
  }

  // The command is told and not waited for: nobody is there any more who would.
  void hang_up() {
    kill(whom(), SIGHUP);
    if (const auto asked = submission_.settings.kill_signal) kill(whom(), static_cast<int>(*asked));
    hung_up_ = true;
  }

  // The command hears of it as of any other end of the job.
  void cancel_job() {
    const auto told = cancel(client_, std::to_string(allocated_.job));
    if (!told && told.error().code != ErrorCode::kAlreadyDone)
      print_error("salloc", error_text(told.error()));
  }

  void updated(const protocol::JobWatchUpdate& update) {
    if (!update.message.empty()) say("salloc", update.message);
    if (is_terminal(update.state)) revoked(update.state == JobState::kTimeout);
  }

  void revoked(bool timed_out = false) {
    if (std::exchange(revoked_, true)) return;
    if (timed_out) {
      inform(fmt::format("Job {} has exceeded its time limit and its allocation has been revoked.",
                         allocated_.job));
    } else {
      inform(fmt::format("Job allocation {} has been revoked.", allocated_.job));
    }
    const auto asked = submission_.settings.kill_signal;
    if (asked) kill(whom(), static_cast<int>(*asked));
    else if (interactive_) kill(whom(), SIGHUP);
  }

  // The command and what it starts are a process group of their own. One that a shell put into the
  // background stays in salloc's, so that the shell can bring both to the front.
  [[nodiscard]] bool own_group() const { return !has_terminal_ || in_front_; }
  [[nodiscard]] pid_t whom() const { return own_group() ? -child_ : child_; }

  static void give_terminal(pid_t group) {
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, group);
  }
  void take_terminal_back() const {
    if (in_front_) give_terminal(getpgrp());
  }
  // The command was stopped from the terminal: so is salloc, until the shell lets both go on.
  void stop_too() const {
    take_terminal_back();
    raise(SIGSTOP);
    if (tcgetpgrp(STDIN_FILENO) == getpgrp()) give_terminal(child_);
    kill(-child_, SIGCONT);
  }

  // The words follow the controller's answer: that the job was ended may be still on its way when
  // its command is over.
  void relinquish(int status) const {
    if (revoked_) return;
    if (end_allocation(client_, allocated_.job, status)) {
      inform(fmt::format("Relinquishing job allocation {}", allocated_.job));
    } else {
      inform(fmt::format("Job allocation {} has been revoked.", allocated_.job));
    }
  }

  void inform(const std::string& text) const {
    if (!submission_.settings.quiet) say("salloc", text);
  }

  [[nodiscard]] int exit_status() const {
    if (WIFEXITED(status_)) return WEXITSTATUS(status_);
    switch (WTERMSIG(status_)) {
      case SIGHUP:
      case SIGINT:
      case SIGKILL:
      case SIGQUIT: return 0;
      default: return error_exit();
    }
  }

  Client& client_;
  const Submission& submission_;
  const std::vector<JobSpec>& specs_;
  const Allocated& allocated_;
  pid_t child_ = -1;
  int status_ = 0;
  bool interactive_ = false;
  bool has_terminal_ = false;
  bool in_front_ = false;  // of that terminal
  bool revoked_ = false;
  bool hung_up_ = false;
  const std::optional<Environment>& login_;
};

void ring_bell(const SubmitSettings& settings, const Allocated& allocated) {
  const bool wanted = settings.bell
                          ? *settings.bell
                          : allocated.wait_time > kBellAfter && isatty(STDOUT_FILENO) != 0;
  if (!wanted || isatty(STDOUT_FILENO) == 0) return;
  std::fputc('\a', stdout);
  std::fflush(stdout);
}

std::optional<int> read_request(OptionParser& parser, Submission& out) {
  parser.read_environment();
  out.job.name = "interactive";
  if (const auto status = parser.apply(out)) return status;
  const bool is_usual = !out.settings.name_given && out.job.name == "interactive";
  if (out.settings.no_shell && is_usual) out.job.name = "no-shell";
  if (out.settings.verbose > 0) parser.print_defined(out);
  if (const auto status = complete_request(out, kSalloc)) return status;
  const std::string folder = out.job.work_dir.str();
  // where it was called, whichever folder the command runs in
  if (char* here = getcwd(nullptr, 0)) {
    setenv("SLURM_SUBMIT_DIR", here, 0);
    std::free(here);  // NOLINT(cppcoreguidelines-no-malloc): getcwd's
  }
  if (!folder.empty() && chdir(folder.c_str()) != 0) {
    print_error("salloc", fmt::format("chdir({}): {}", folder, errno_text(errno)));
    return error_exit();
  }
  return std::nullopt;
}

}  // namespace

int salloc_main(int argc, char** argv) {
  (void)has_working_folder("salloc");  // its job does without one
  std::vector<OptionParser> parsers;
  if (const auto status = read_components(kSalloc, argc, argv, parsers)) return *status;
  std::vector<Submission> components(parsers.size());
  for (size_t i = 0; i < parsers.size(); ++i) {
    if (i > 0) parsers[i].inherit(parsers[i - 1]);
    if (const auto status = read_request(parsers[i], components[i])) return *status;
  }
  Result<Client> client = Client::open();
  if (!client) return report("salloc", client.error());
  std::vector<JobSpec> specs;
  for (Submission& component : components) {
    fill_caller(component, client->config(), argc, argv);
    say_plugins("salloc", component.settings.verbose, client->config());
    if (const auto status = complete_with_config(component, client->config(), "salloc"))
      return *status;
    component.job.interactive = parsers.back().operands().empty();
    specs.push_back(component.job);
  }
  const bool quiet =
      std::ranges::any_of(components, [](const Submission& one) { return one.settings.quiet; });
  components.front().settings.quiet = quiet;
  const Submission& submission = components.front();
  if (submission.step.x11 != X11Nodes::kNone) {
    // the sruns in the job do it; that they can is known now
    if (const auto target = find_x11_target(); !target) {
      print_error("salloc", target.error().text);
      return 255;
    }
  }
  std::optional<Environment> login;
  if (submission.job.get_user_env) {
    login = login_environment(submission.job.user_name.str());
    if (!login) {
      print_error("salloc", "Failed to get current user environment variables");
      return 1;
    }
  }
  boost::asio::io_context io;
  JobWatch watch(*client, io);
  const Allocated allocated = allocate(*client, io, watch, submission, kSalloc,
                                       std::vector<JobSpec>(specs.begin() + 1, specs.end()));
  if (allocated.exit_status) return *allocated.exit_status;
  if (allocated.grant.allocation) {
    say_debug("salloc", submission.settings.verbose,
              fmt::format("laying out the {} tasks on {} hosts {}",
                          std::max(1U, submission.job.num_tasks), allocated.grant.nodes.size(),
                          allocated.grant.allocation->node_list));
  }
  ring_bell(submission.settings, allocated);
  if (submission.settings.no_shell) return 0;
  return CommandRun(*client, submission, specs, allocated, login)
      .run(io, watch, parsers.back().operands());
}

}  // namespace sluice::cli
