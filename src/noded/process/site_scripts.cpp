#include "noded/process/site_scripts.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/daemon/program_said.hpp"
#include "common/os/ending_text.hpp"
#include "common/os/matching_paths.hpp"
#include "common/log/log.hpp"
#include "common/model/cluster_config.hpp"
#include "common/protocol/stepd_start.hpp"

namespace sluice::noded {
namespace {

constexpr int kNotFoundStatus = 127 << 8;  // as a shell says it
constexpr auto kLook = std::chrono::milliseconds(100);
constexpr std::chrono::minutes kSlow(1);

std::optional<Duration> real_limit(std::optional<Duration> limit) {
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

std::vector<std::string> matching(const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    // a missing one: running it says so
    for (std::string& path : matching_paths(pattern)) paths.push_back(std::move(path));
  }
  return paths;
}

SpawnRequest request_of(const std::vector<std::string>& words,
                        const std::vector<std::string>& environment, int output) {
  SpawnRequest request{words.front(), words, environment, {}};
  if (output >= 0) request.descriptors = {{output, STDOUT_FILENO}, {output, STDERR_FILENO}};
  return request;
}

}  // namespace

struct SiteScripts::Row {
  explicit Row(boost::asio::io_context& io) : timer(io), bounding(io), telling(io) {}
  ScriptRow asked;
  std::vector<std::string> paths;
  size_t at = 0;
  std::vector<std::string> environment;
  boost::asio::steady_timer timer, bounding, telling;
  std::unique_ptr<ProgramOutput> output;  // of the program that runs; null: none does
};

struct SiteScripts::Left {
  explicit Left(boost::asio::io_context& io) : timer(io) {}
  ProcessMark mark;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::function<void()> done;
  boost::asio::steady_timer timer;
};

void SiteScripts::run(ScriptRow asked) {
  if (asked.patterns.empty()) return asked.done(0);
  auto row = std::make_shared<Row>(io_);
  row->paths = matching(asked.patterns);
  row->environment = asked.environment.entries();
  asked.limit = real_limit(asked.limit);
  row->asked = std::move(asked);
  next(row);
}

void SiteScripts::run_in_turn(ScriptRow asked) {
  if (asked.patterns.empty()) return asked.done(0);
  in_turn([this, asked = std::move(asked)](const Over& over) {
    ScriptRow row = asked;
    row.done = [over, done = asked.done](int status) {
      over();
      done(status);
    };
    run(std::move(row));
  });
}

void SiteScripts::await(const ProcessMark& mark, std::optional<Duration> limit,
                        std::function<void()> done) {
  auto left = std::make_shared<Left>(io_);
  left->mark = mark;
  left->done = std::move(done);
  if (const auto real = real_limit(limit))
    left->deadline = std::chrono::steady_clock::now() + *real;
  look(left);
}

void SiteScripts::await_in_turn(const ProcessMark& mark, std::optional<Duration> limit,
                                std::function<void()> done) {
  in_turn([this, mark, limit, done = std::move(done)](const Over& over) {
    await(mark, limit, [over, done] {
      over();
      done();
    });
  });
}

// It is no child of ours: nothing tells of its end.
void SiteScripts::look(const std::shared_ptr<Left>& left) {
  if (!runs(left->mark)) return left->done();
  if (std::chrono::steady_clock::now() > left->deadline) {
    log::error("process {} of a script takes too long and is killed", left->mark.pid);
    ::kill(-static_cast<pid_t>(left->mark.pid), SIGKILL);
    // it ends when the kernel lets it
    left->deadline = std::chrono::steady_clock::time_point::max();
  }
  left->timer.expires_after(kLook);
  left->timer.async_wait([this, left](const boost::system::error_code& error) {
    if (!error) look(left);
  });
}

void SiteScripts::in_turn(std::function<void(const Over&)> begin) {
  turns_.emplace_back([this, begin = std::move(begin)] { begin([this] { next_turn(); }); });
  if (turns_.size() == 1) turns_.front()();
}

// Not before the caller is back: the turn that is over must not be gone while it ends.
void SiteScripts::next_turn() {
  boost::asio::post(io_, [this] {
    turns_.pop_front();
    if (!turns_.empty()) turns_.front()();
  });
}

Result<pid_t> SiteScripts::start(const std::shared_ptr<Row>& row, const std::string& path) {
  const auto on_exit = [this, row, path](int status) {
    row->timer.cancel();
    ended(*row, path, status);
    if (status == 0) return next(row);
    row->asked.done(status);
  };
  row->output = std::make_unique<ProgramOutput>();
  if (!row->asked.before)
    return children_.spawn(request_of({path}, row->environment, row->output->fd()), on_exit);
  if (::access(path.c_str(), X_OK) != 0)
    return failure(fmt::format("cannot run {}: {}", path, errno_text(errno)));
  std::vector<std::string> words = row->asked.through;
  words.push_back(path);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return failure(fmt::format("no socket to run {}: {}", path, errno_text(errno)));
  }
  SpawnRequest request = request_of(words, row->environment, row->output->fd());
  request.descriptors.emplace_back(ends[1], protocol::kStartDescriptor);
  auto pid = children_.spawn(request, on_exit);
  ::close(ends[1]);
  if (pid) {
    row->asked.before(*pid);
    // the byte; of one that was killed meanwhile, the exit tells
    (void)::send(ends[0], "", 1, MSG_NOSIGNAL);
  }
  ::close(ends[0]);
  return pid;
}

void SiteScripts::ended(Row& row, const std::string& path, int status) {
  row.bounding.cancel();
  row.telling.cancel();
  if (status != 0) log::error("{}{} {}", row.asked.of, path, ending_text(status));
  daemon::log_what_it_said(*row.output, row.asked.of + path, status);
  row.output.reset();
}

void SiteScripts::bound_output(const std::shared_ptr<Row>& row) {
  row->bounding.expires_after(kLook);
  row->bounding.async_wait([this, row](const boost::system::error_code& error) {
    // it may have been on its way when the program ended
    if (error || row->output == nullptr) return;
    row->output->bound(daemon::kMostProgramOutput);
    bound_output(row);
  });
}

void SiteScripts::tell_how_long(const std::shared_ptr<Row>& row, const std::string& path,
                                std::chrono::minutes told) {
  const auto wait = std::max(told, kSlow);
  row->telling.expires_after(wait);
  row->telling.async_wait([this, row, path,
                           elapsed = told + wait](const boost::system::error_code& error) {
    if (error || row->output == nullptr) return;
    log::warning("{}{} has run for {} min and is waited for", row->asked.of, path, elapsed.count());
    tell_how_long(row, path, elapsed);
  });
}

void SiteScripts::next(const std::shared_ptr<Row>& row) {
  if (row->at == row->paths.size()) return row->asked.done(0);
  const std::string& path = row->paths[row->at++];
  const auto pid = start(row, path);
  if (!pid) {
    log::error("{}{}", row->asked.of, pid.error().text);
    return row->asked.done(kNotFoundStatus);
  }
  log::flag(log::DebugFlag::kScript, "{}process {} runs {}", row->asked.of, *pid, path);
  bound_output(row);
  tell_how_long(row, path, std::chrono::minutes(0));
  if (!row->asked.limit) return;
  row->timer.expires_after(*row->asked.limit);
  row->timer.async_wait(
      [pid = *pid, of = row->asked.of, path](const boost::system::error_code& error) {
        if (error) return;
        log::error("{}{} takes too long and is killed", of, path);
        ::kill(-pid, SIGKILL);
      });
}

}  // namespace sluice::noded
