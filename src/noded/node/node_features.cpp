#include "noded/node/node_features.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/log/log.hpp"
#include "common/os/ending_text.hpp"
#include "common/os/program_output.hpp"
#include "common/syntax/node_helpers.hpp"

namespace sluice::noded {
namespace {

constexpr int kNotFoundStatus = 127 << 8;  // as a shell says it
constexpr size_t kMostOutput = 65536;

}  // namespace

// One look at all helpers.
struct NodeFeatures::Question {
  std::vector<std::string> programs;
  size_t at = 0;
  std::vector<std::string> managed, active;
  std::function<void(std::optional<std::string>)> done;
};

void NodeFeatures::run(const std::string& program, const std::vector<std::string>& arguments,
                       std::function<void(int, std::string)> done) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto output = std::make_shared<ProgramOutput>();
  const auto timer = std::make_shared<boost::asio::steady_timer>(node_.io);
  const auto pid = children_.spawn(
      {program, std::move(words), helper_environment(node_).entries(), {{output->fd(), 1}}},
      [program, output, timer, done](int status) {
        timer->cancel();
        if (status != 0) log::error("{} {}", program, ending_text(status));
        const std::string said = output->text(kMostOutput);
        log::flag(log::DebugFlag::kNodeFeatures, "{} said \"{}\"", program,
                  join(split_list(said, '\n'), " "));
        done(status, said);
      });
  if (!pid) {
    log::error("{}", pid.error().text);
    return done(kNotFoundStatus, {});
  }
  timer->expires_after(node_.config->helpers.exec_time);
  timer->async_wait([pid = *pid, program](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    log::error("{} takes longer than ExecTime and is killed", program);
    ::kill(-pid, SIGKILL);
  });
}

void NodeFeatures::find(std::function<void(std::optional<std::string>)> done) {
  auto question = std::make_shared<Question>();
  question->managed = managed_features(node_.config->helpers, node_.name);
  for (const FeatureHelper* helper : helpers_of(node_.config->helpers, node_.name)) {
    if (!contains(question->programs, helper->program))
      question->programs.push_back(helper->program);
  }
  if (question->programs.empty()) return done(std::nullopt);
  question->done = std::move(done);
  ask_next(question);
}

void NodeFeatures::ask_next(const std::shared_ptr<Question>& question) {
  if (question->at == question->programs.size()) return question->done(join(question->active, ","));
  run(question->programs[question->at++], {},
      [this, question](int status, const std::string& output) {
        for (const std::string& line : split_list(output, '\n')) {
          const bool known = status == 0 && contains(question->managed, line);
          if (known && !contains(question->active, line)) question->active.push_back(line);
        }
        ask_next(question);
      });
}

void NodeFeatures::change(std::vector<std::string> features, std::function<void(Change)> done) {
  find([this, features = std::move(features),
        done = std::move(done)](const std::optional<std::string>& found) mutable {
    const std::vector<std::string> active = split_list(found.value_or(""));
    std::erase_if(features, [&](const std::string& one) { return contains(active, one); });
    set_next(std::move(features), Change::kDone, std::move(done));
  });
}

void NodeFeatures::set_next(std::vector<std::string> missing, Change so_far,
                            std::function<void(Change)> done) {
  if (missing.empty()) return done(so_far);
  const std::string feature = std::move(missing.front());
  missing.erase(missing.begin());
  for (const FeatureHelper* helper : helpers_of(node_.config->helpers, node_.name)) {
    if (!contains(helper->features, feature)) continue;
    log::info("{} is told to make {} active", helper->program, feature);
    const Change with_it = helper->rebootless ? so_far : Change::kNeedsReboot;
    return run(helper->program, {feature},
               [this, with_it, missing = std::move(missing), done = std::move(done)](
                   int status, const std::string&) mutable {
                 if (status != 0) return done(Change::kFailed);
                 set_next(std::move(missing), with_it, std::move(done));
               });
  }
  log::error("no helper manages {}", feature);
  done(Change::kFailed);
}

}  // namespace sluice::noded
