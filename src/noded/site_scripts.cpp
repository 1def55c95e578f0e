#include "noded/site_scripts.hpp"

#include <csignal>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>
#include <glob.h>

#include "common/log/log.hpp"
#include "common/model/cluster_config.hpp"

namespace sluice::noded {
namespace {

constexpr int kNotFoundStatus = 127 << 8;  // as a shell says it

std::vector<std::string> matching(const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i)
        paths.emplace_back(found.gl_pathv[i]);
    } else if (pattern.find_first_of("*?[") == std::string::npos) {
      paths.push_back(pattern);  // it is missing: running it says so
    }
    ::globfree(&found);
  }
  return paths;
}

}  // namespace

struct SiteScripts::Row {
  std::vector<std::string> paths;
  size_t at = 0;
  std::vector<std::string> environment;
  std::optional<Duration> limit;
  std::function<void(int)> done;
  std::unique_ptr<boost::asio::steady_timer> timer;
};

void SiteScripts::run(const std::vector<std::string>& patterns,
                      const Environment& env,
                      std::optional<Duration> limit,
                      std::function<void(int)> done) {
  if (patterns.empty()) return done(0);
  auto row = std::make_shared<Row>();
  row->paths = matching(patterns);
  row->environment = env.entries();
  row->limit = limit && *limit < kNoLimit ? limit : std::nullopt;
  row->done = std::move(done);
  row->timer = std::make_unique<boost::asio::steady_timer>(io_);
  next(row);
}

void SiteScripts::run_in_turn(const std::vector<std::string>& patterns,
                              const Environment& env,
                              std::optional<Duration> limit,
                              std::function<void(int)> done) {
  if (patterns.empty()) return done(0);
  turns_.emplace_back([this, patterns, env, limit, done = std::move(done)] {
    run(patterns, env, limit, [this, done](int status) {
      next_turn();
      done(status);
    });
  });
  if (turns_.size() == 1) turns_.front()();
}

// Not before the caller is back: the turn that is over must not be gone while it ends.
void SiteScripts::next_turn() {
  boost::asio::post(io_, [this] {
    turns_.pop_front();
    if (!turns_.empty()) turns_.front()();
  });
}

void SiteScripts::next(const std::shared_ptr<Row>& row) {
  if (row->at == row->paths.size()) return row->done(0);
  const std::string& path = row->paths[row->at++];
  const auto pid =
      children_.spawn({path, {path}, row->environment, {}}, [this, row, path](int status) {
        row->timer->cancel();
        if (status == 0) return next(row);
        log::error("{} failed with status {:#x}", path, status);
        row->done(status);
      });
  if (!pid) {
    log::error("{}", pid.error().text);
    return row->done(kNotFoundStatus);
  }
  if (!row->limit) return;
  row->timer->expires_after(*row->limit);
  row->timer->async_wait([pid = *pid, path](const boost::system::error_code& error) {
    if (error) return;
    log::error("{} takes too long and is killed", path);
    ::kill(-pid, SIGKILL);
  });
}

}  // namespace sluice::noded
