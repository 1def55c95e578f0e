#include "cli/shared/step_create.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "cli/shared/allocation.hpp"
#include "cli/shared/option_parser.hpp"
#include "cli/shared/step_link.hpp"
#include "common/base/hostlist.hpp"
#include "common/conf/load.hpp"
#include "common/net/address.hpp"
#include "common/tables/errors.hpp"

namespace sluice::cli {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(20);
constexpr auto kLongestPause = std::chrono::milliseconds(500);
// An srun may be over before the controller has heard of its step's end: the next one says nothing of
// processors that are busy for so short a time.
constexpr auto kSettleTime = std::chrono::milliseconds(300);

bool is_away(ErrorCode code) {
  return code == ErrorCode::kUnreachable || code == ErrorCode::kConnectionLost ||
         code == ErrorCode::kRetry || code == ErrorCode::kTimedOut;
}

void report_refusal(const protocol::CreateStepRequest& request, const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidJobId:
    case ErrorCode::kJobPending:
      print_error("srun", fmt::format("Unable to confirm allocation for job {}: {}", request.job,
                                      error_sentence(error.code)));
      say("srun", fmt::format("Check SLURM_JOB_ID environment variable. Expired or invalid job {}",
                              request.job));
      return;
    case ErrorCode::kAlreadyDone:
      print_error("srun", fmt::format("Slurm job {} has expired", request.job));
      say("srun", fmt::format("Check SLURM_JOB_ID environment variable. Expired or invalid job {}",
                              request.job));
      return;
    case ErrorCode::kTooManyNodes:
      print_error("srun", error_text(error));
      return;
    case ErrorCode::kInvalidGres:
      if (!error.text.empty() && error.text != error_sentence(error.code)) print_error("srun", error.text);
      print_error("srun", fmt::format("Unable to create step for job {}: {}", request.job,
                                      error_sentence(error.code)));
      return;
    default:
      print_error("srun", fmt::format("Unable to create step for job {}: {}", request.job,
                                      error_text(error)));
  }
}

Result<std::vector<protocol::CreateStepReply>> ask(Client& client,
                                                   const std::vector<protocol::CreateStepRequest>& requests) {
  if (requests.size() == 1) {
    auto reply = client.call<protocol::CreateStepReply>(requests.front());
    if (!reply) return tl::unexpected(reply.error());
    return std::vector{std::move(*reply)};
  }
  auto reply = client.call<protocol::CreateHetStepReply>(protocol::CreateHetStepRequest{requests});
  if (!reply) return tl::unexpected(reply.error());
  return std::move(reply->parts);
}

}  // namespace

Result<std::vector<protocol::CreateStepReply>> create_steps(Client& client,
                                                            const std::vector<protocol::CreateStepRequest>& requests,
                                                            const StepRequestOptions& options) {
  const protocol::CreateStepRequest& request = requests.front();
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto patience = begin + client.config().message_timeout;
  std::chrono::milliseconds pause = kFirstPause;
  bool said = false;
  while (true) {
    auto reply = ask(client, requests);
    if (reply) {
      if (said && !options.quiet) say("srun", fmt::format("Step created for job {}", request.job));
      return reply;
    }
    const ErrorCode code = reply.error().code;
    const bool suspended = code == ErrorCode::kDisabled;
    const bool busy = (code == ErrorCode::kStepsBusy || suspended) && !options.immediate;
    if (!busy && !(is_away(code) && Clock::now() < patience)) {
      report_refusal(request, reply.error());
      return reply;
    }
    if (busy && !said && Clock::now() - begin >= kSettleTime) {
      said = true;
      if (!options.quiet) {
        say("srun", fmt::format("Job {} step creation temporarily disabled, retrying ({})",
                                request.job, error_sentence(suspended ? code : ErrorCode::kNodesBusy)));
      }
    }
    std::this_thread::sleep_for(pause);
    if (options.interrupted && options.interrupted()) {
      say("srun", "Cancelled pending job step with signal 2");
      report_refusal(request, Error{ErrorCode::kStepsBusy, {}});
      return reply;
    }
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
  }
}

namespace {

std::string own_address_towards(const std::string& peer) {
  return net::address_towards(peer).value_or("127.0.0.1");
}

}  // namespace

std::string address_for_daemons(const ClusterConfig& config, const std::string& granted) {
  if (!granted.empty()) return own_address_towards(granted);
  const std::string peer = !config.slurmctld_addr.empty() ? config.slurmctld_addr
                           : config.controllers.empty()   ? "127.0.0.1"
                                                          : config.controllers[0].address;
  std::string address = own_address_towards(peer);
  if (!address.starts_with("127.")) return address;
  // The controller is on this host, so the way to it says nothing of the way to the nodes.
  const char* nodes = std::getenv("SLURM_JOB_NODELIST");
  const auto names = expand_hosts(nodes != nullptr ? nodes : "");
  if (!names || names->empty()) return address;
  const Result<ClusterConfig> whole = load_config(config_path());
  const NodeConfig* node = whole ? find_node(*whole, names->back()) : nullptr;
  return node != nullptr ? own_address_towards(node->address) : address;
}

}  // namespace sluice::cli
