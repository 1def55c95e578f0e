#include "noded/steps/step_queries.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace sluice::noded {
namespace {

constexpr auto kQueryTime = std::chrono::seconds(1);

}  // namespace

struct StepQueries::Pids {
  explicit Pids(boost::asio::io_context& io) : timer(io, kQueryTime) {}
  std::set<protocol::StepKey> waiting;
  protocol::ListPidsReply reply;
  OnPids done;
  boost::asio::steady_timer timer;
  void finish() {
    timer.cancel();
    if (done) std::exchange(done, nullptr)(std::move(reply));
  }
};

struct StepQueries::Stats {
  explicit Stats(boost::asio::io_context& io) : timer(io, kQueryTime) {}
  protocol::StepKey key;
  OnStats done;
  boost::asio::steady_timer timer;
};

void StepQueries::wait_for_pids(std::set<protocol::StepKey> steps, OnPids done) {
  auto query = std::make_shared<Pids>(io_);
  query->waiting = std::move(steps);
  query->done = std::move(done);
  if (query->waiting.empty()) return query->finish();
  pids_.push_back(query);
  query->timer.async_wait([this, query](const boost::system::error_code& error) {
    if (error) return;
    std::erase(pids_, query);
    query->finish();
  });
}

void StepQueries::wait_for_stats(const protocol::StepKey& step, OnStats done) {
  auto query = std::make_shared<Stats>(io_);
  query->key = step;
  query->done = std::move(done);
  stats_.push_back(query);
  query->timer.async_wait([this, query](const boost::system::error_code& error) {
    if (error) return;
    std::erase(stats_, query);
    query->done(failure(ErrorCode::kTimedOut));
  });
}

void StepQueries::came(const protocol::StepKey& step, const protocol::ListPidsReply& pids) {
  for (const auto& query : std::exchange(pids_, {})) {
    if (query->waiting.erase(step) > 0)
      query->reply.pids.insert(query->reply.pids.end(), pids.pids.begin(), pids.pids.end());
    if (query->waiting.empty()) query->finish();
    else pids_.push_back(query);
  }
}

void StepQueries::came(const protocol::StepKey& step, const protocol::StatStepReply& stats) {
  for (const auto& query : std::exchange(stats_, {})) {
    if (query->key != step) {
      stats_.push_back(query);
      continue;
    }
    query->timer.cancel();
    query->done(stats);
  }
}

}  // namespace sluice::noded
