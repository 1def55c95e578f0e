#include "cli/step/mpi_spawner.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/options/submit_env.hpp"
#include "common/base/errno_text.hpp"
#include "common/os/exec_pointers.hpp"
#include "common/os/wait_status.hpp"
#include "common/step/mpi_spawned.hpp"
#include "common/wire/codec.hpp"

namespace sluice::cli {

using protocol::MpiMessage;
using protocol::MpiSpawnRequest;

namespace {

constexpr size_t kMaxChildren = 64;  // at a time: each is a process on this host

// Closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  void set(int number) { number_ = number; }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

// A file in memory.
Status write_programs(const std::string& text, Descriptor& file) {
  file.set(::memfd_create("programs", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(text.size());
  if (file.get() >= 0 && ::write(file.get(), text.data(), text.size()) == size) return {};
  return failure(errno_text(errno));
}

// What differs between us and a new srun.
class SpawnSetup {
 public:
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    // a group of its own: Ctrl-C is ours to pass on
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  // No-op for a descriptor that is none. What is given to itself stays open in the other program.
  void give(int ours, int theirs) {
    if (ours >= 0) ::posix_spawn_file_actions_adddup2(&actions_, ours, theirs);
  }
  [[nodiscard]] Result<pid_t> run(const std::vector<std::string>& words,
                                  const Environment& environment) const {
    const std::vector<char*> argv = exec_pointers(words);
    const std::vector<char*> envp = environment.exec_pointers();
    // sockets of asio would go along, and daemons would not see that we closed ours
    static_cast<void>(::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC));
    pid_t pid = -1;
    const int error =
        ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_, argv.data(), envp.data());
    if (error != 0) return failure(errno_text(error));
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

MpiSpawner::MpiSpawner(boost::asio::io_context& io, SpawnPlace place, int output, int error,
                       Handlers handlers)
    : io_(io),
      place_(std::move(place)),
      output_(output),
      error_(error),
      handlers_(std::move(handlers)) {}

MpiSpawner::~MpiSpawner() {
  end();
  boost::system::error_code ignored;
  for (const auto& child : children_) {
    child->abandoned = true;
    child->report.close(ignored);
  }
}

void MpiSpawner::start(const MpiMessage& question) {
  auto child = std::make_shared<Child>(io_);
  child->question = question;
  const auto request = wire::decode<MpiSpawnRequest>(question.data);
  Status started = failure("the request makes no sense");
  if (children_.size() >= kMaxChildren) {
    started = failure(fmt::format("{} steps that tasks spawned run already", kMaxChildren));
  } else if (request && !request->commands.empty()) {
    started = launch(*request, *child);
  }
  if (!started) {
    handlers_.on_error(started.error().text);
    return handlers_.on_answer(question, {});
  }
  children_.push_back(child);
  listen(child);
}

Status MpiSpawner::launch(const MpiSpawnRequest& request, Child& child) const {
  Descriptor programs;
  std::string file;
  if (needs_programs_file(request)) {
    const Result<std::string> text = programs_file(request);
    if (!text) return tl::unexpected<Error>(text.error());
    if (Status written = write_programs(*text, programs); !written) return written;
    file = fmt::format("/proc/self/fd/{}", programs.get());
  }
  Result<Environment> environment = spawn_environment(request, place_, current_environment());
  if (!environment) return tl::unexpected<Error>(environment.error());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure(errno_text(errno));
  boost::system::error_code ignored;
  child.report.assign(ends[0], ignored);
  const Descriptor theirs(ends[1]);
  environment->set(kMpiReportVariable, std::to_string(theirs.get()));
  SpawnSetup setup;
  setup.give(output_, STDOUT_FILENO);
  setup.give(error_, STDERR_FILENO);
  setup.give(theirs.get(), theirs.get());
  setup.give(programs.get(), programs.get());
  const Result<pid_t> pid = setup.run(spawn_words(request, place_, file), *environment);
  if (!pid) return tl::unexpected<Error>(pid.error());
  child.pid = *pid;
  return {};
}

void MpiSpawner::listen(const std::shared_ptr<Child>& child) {
  child->report.async_read_some(
      boost::asio::buffer(child->buffer),
      [this, child](const boost::system::error_code& error, size_t bytes) {
        if (child->abandoned) return;
        if (error) return over(child);
        child->heard.append(child->buffer.data(), bytes);
        heard(child);
        listen(child);
      });
}

void MpiSpawner::heard(const std::shared_ptr<Child>& child) {
  const size_t end = child->heard.find('\n');
  if (end == std::string::npos || std::exchange(child->answered, true)) return;
  handlers_.on_answer(child->question, child->heard.substr(0, end));
}

// Its end of the pipe is closed when it ends.
void MpiSpawner::over(const std::shared_ptr<Child>& child) {
  const int status = shell_code(wait_for_child(child->pid).value_or(0));
  std::erase(children_, child);
  if (!child->answered) {  // the task that asked knows what to make of it
    handlers_.on_answer(child->question, {});
    return handlers_.on_end(0);
  }
  exit_status_ = std::max(exit_status_, status);
  handlers_.on_end(status);
}

void MpiSpawner::signal(int number) const {
  for (const auto& child : children_) {
    if (child->answered) ::kill(child->pid, number);  // an earlier one might end by it
  }
}

void MpiSpawner::end() const {
  for (const auto& child : children_) ::kill(child->pid, SIGTERM);
}

void MpiSpawner::end_unanswered() const {
  for (const auto& child : children_) {
    if (!child->answered) ::kill(child->pid, SIGTERM);
  }
}

}  // namespace sluice::cli
