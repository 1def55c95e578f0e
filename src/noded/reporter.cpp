#include "noded/reporter.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"
#include "common/protocol/ctld.hpp"
#include "common/tables/errors.hpp"

namespace sluice::noded {
namespace {

constexpr Duration kCallTime = std::chrono::seconds(20);
constexpr size_t kMostInOneCall = 500;

}  // namespace

Reporter::Reporter(NodeState& node,
                   net::AsyncClient& controller,
                   std::function<bool(JobId)> may_clean)
    : node_(node), controller_(controller), may_clean_(std::move(may_clean)), retry_(node.io) {}

void Reporter::add(protocol::JobCleaned report) {
  cleaned_.push_back(std::move(report));
  send();
}
void Reporter::add(protocol::PrologDoneRequest report) {
  prologs_.push_back(std::move(report));
  send();
}

void Reporter::resume() {
  retry_.succeeded();
  retry_.cut_short();
  send();
}

void Reporter::send() {
  if (retry_.waiting() || !node_.verifier) return;
  if (!cleaned_busy_ && !cleaned_.empty()) send_cleaned();
  if (!prologs_busy_ && !prologs_.empty()) send_prolog();
}

// Answers come on a thread of the client's.
template <class Request>
void Reporter::call(const Request& request, bool& busy, std::function<void()> on_taken) {
  busy = true;
  controller_.call<protocol::Empty>(
      request, kCallTime,
      [this, &busy, mailbox = node_.mailbox,
       on_taken = std::move(on_taken)](const Result<protocol::Empty>& reply) {
        mailbox->post(
            [this, &busy, on_taken, error = reply ? Error{ErrorCode::kOk, {}} : reply.error()] {
              busy = false;
              if (error.code == ErrorCode::kOk) {
                retry_.succeeded();
                on_taken();
                return send();
              }
              log::error("the controller did not take a report: {}", error_text(error));
              retry_.later([this] { send(); });
            });
      });
}

void Reporter::send_cleaned() {
  // those whose steps' ends are known come first
  const auto ready = std::stable_partition(
      cleaned_.begin(), cleaned_.end(),
      [this](const protocol::JobCleaned& report) { return may_clean_(report.job); });
  const auto count = std::min(kMostInOneCall, static_cast<size_t>(ready - cleaned_.begin()));
  if (count == 0) return;
  const auto end = cleaned_.begin() + static_cast<std::ptrdiff_t>(count);
  call(protocol::ReportCleanedRequest{node_.cluster_id, {cleaned_.begin(), end}, now()}, cleaned_busy_,
       [this, count] {
         cleaned_.erase(cleaned_.begin(), cleaned_.begin() + static_cast<std::ptrdiff_t>(count));
       });
}

void Reporter::send_prolog() {
  prologs_.front().sent = now();
  call(prologs_.front(), prologs_busy_, [this] { prologs_.erase(prologs_.begin()); });
}

}  // namespace sluice::noded
