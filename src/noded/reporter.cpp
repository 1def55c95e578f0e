#include "noded/reporter.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::noded {
namespace {

constexpr Duration kCallTime = std::chrono::seconds(20);
constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(5);
constexpr size_t kMostInOneCall = 500;

template <class T>
std::vector<T> front_of(const std::vector<T>& list) {
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(list.size(), kMostInOneCall))};
}
template <class T>
void drop_front(std::vector<T>& list, size_t count) {
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

Reporter::Reporter(NodeState& node, net::RpcClient& controller, Handlers handlers)
    : node_(node), controller_(controller), handlers_(std::move(handlers)), timer_(node.io) {}

void Reporter::add(protocol::StepEnded report) {
  steps_.push_back(std::move(report));
  send();
}
void Reporter::add(protocol::JobCleaned report) {
  cleaned_.push_back(std::move(report));
  send();
}
void Reporter::add(protocol::PrologDoneRequest report) {
  prologs_.push_back(std::move(report));
  send();
}

void Reporter::resume() {
  pause_ = Duration(0);
  waiting_ = false;
  timer_.cancel();
  send();
}

void Reporter::send() {
  if (waiting_ || !node_.verifier) return;
  if (!steps_busy_ && !steps_.empty()) send_steps();
  // a node is clean only after its steps' ends are known
  if (!cleaned_busy_ && !cleaned_.empty() && steps_.empty()) send_cleaned();
  if (!prologs_busy_ && !prologs_.empty()) send_prolog();
}

// Answers come on a thread of the client's.
template <class Request>
void Reporter::call(const Request& request, bool& busy, std::function<void()> on_taken) {
  busy = true;
  controller_.call_async<protocol::Empty>(
      request, kCallTime,
      [this, &busy, mailbox = node_.mailbox,
       on_taken = std::move(on_taken)](const Result<protocol::Empty>& reply) {
        mailbox->post([this, &busy, on_taken,
                       error = reply ? Error{ErrorCode::kOk, {}} : reply.error()] {
          busy = false;
          if (error.code == ErrorCode::kOk) {
            pause_ = Duration(0);
            on_taken();
            return send();
          }
          log::error("the controller did not take a report: {}", error.text);
          retry_later();
        });
      });
}

void Reporter::retry_later() {
  if (waiting_) return;
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  waiting_ = true;
  timer_.expires_after(pause_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    waiting_ = false;
    send();
  });
}

void Reporter::send_steps() {
  protocol::ReportStepsRequest request{node_.cluster_id, front_of(steps_)};
  const size_t count = request.ended.size();
  call(request, steps_busy_, [this, count] {
    const std::vector<protocol::StepEnded> taken(steps_.begin(),
                                                 steps_.begin() + static_cast<std::ptrdiff_t>(count));
    drop_front(steps_, count);
    for (const protocol::StepEnded& report : taken) handlers_.on_step_taken(report.key);
  });
}

void Reporter::send_cleaned() {
  protocol::ReportCleanedRequest request{node_.cluster_id, front_of(cleaned_)};
  const size_t count = request.cleaned.size();
  call(request, cleaned_busy_, [this, count] {
    const std::vector<protocol::JobCleaned> taken(
        cleaned_.begin(), cleaned_.begin() + static_cast<std::ptrdiff_t>(count));
    drop_front(cleaned_, count);
    for (const protocol::JobCleaned& report : taken) {
      handlers_.on_clean_taken(report.job, report.restart);
    }
  });
}

void Reporter::send_prolog() {
  call(prologs_.front(), prologs_busy_, [this] { drop_front(prologs_, 1); });
}

}  // namespace sluice::noded
