#include "cli/step/step_create.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/step/allocation.hpp"
#include "cli/options/option_parser.hpp"
#include "common/base/text.hpp"
#include "common/os/is_away.hpp"
#include "common/net/address.hpp"
#include "common/net/listen_address.hpp"
#include "common/net/tls_config.hpp"
#include "common/names/errors.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/ctld.hpp"

namespace sluice::cli {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(20);
// also for which the controller may keep an answer back
constexpr auto kLongestPause = std::chrono::milliseconds(500);
// An srun may be over before the controller has heard of its step's end: the next one says nothing
// of processors that are busy for so short a time.
constexpr auto kSettleTime = std::chrono::milliseconds(300);

void report_unable(const protocol::CreateStepRequest& request, std::string_view why) {
  print_error("srun", fmt::format("Unable to create step for job {}: {}", request.job, why));
}

// `waited`: the job was there when it was first asked for a step.
void report_refusal(const protocol::CreateStepRequest& request, const Error& error, bool waited) {
  if (waited && error.code == ErrorCode::kAlreadyDone)
    return report_unable(request, error_sentence(error.code));
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
      for (const std::string& line : split(error_text(error), '\n')) print_error("srun", line);
      return;
    case ErrorCode::kInvalidGres:
      if (!error.text.empty() && error.text != error_sentence(error.code))
        print_error("srun", error.text);
      return report_unable(request, error_sentence(error.code));
    default: report_unable(request, error_text(error));
  }
}

Result<std::vector<protocol::CreateStepReply>> ask(
    Client& client, const std::vector<protocol::CreateStepRequest>& requests) {
  if (requests.size() == 1) {
    auto reply = client.call<protocol::CreateStepReply>(requests.front());
    if (!reply) return tl::unexpected(reply.error());
    return std::vector{std::move(*reply)};
  }
  auto reply = client.call<protocol::CreateHetStepReply>(protocol::CreateHetStepRequest{requests});
  if (!reply) return tl::unexpected(reply.error());
  return std::move(reply->parts);
}

Error give_up(const protocol::CreateStepRequest& request, int signal) {
  Error over{ErrorCode::kAlreadyDone, {}};
  say("srun", fmt::format("Cancelled pending job step with signal {}", signal));
  report_refusal(request, over, true);
  return over;
}

}  // namespace

Result<std::vector<protocol::CreateStepReply>> create_steps(
    Client& client, std::vector<protocol::CreateStepRequest> requests,
    const StepRequestOptions& options) {
  const protocol::CreateStepRequest& request = requests.front();
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  // its job runs on while the controller is started again
  const Duration away = std::min<Duration>(client.config().slurmctld_timeout, std::chrono::days(1));
  const auto patience = begin + client.config().message_timeout + away;
  std::chrono::milliseconds pause = kFirstPause;
  bool said = false, said_away = false;
  while (true) {
    const auto asked = Clock::now();
    const bool may_overlap = options.or_overlap && request.spec.overlap != OverlapKind::kOverlap;
    if (!options.immediate && !may_overlap)
      requests.front().patience = said ? kLongestPause : kSettleTime;
    requests.front().waited = std::chrono::duration_cast<Duration>(asked - begin);
    auto reply = ask(client, requests);
    const int interrupted = options.interrupted ? options.interrupted() : 0;
    if (reply && interrupted != 0) {
      cancel_steps(client, *reply);
      return tl::unexpected<Error>(give_up(request, interrupted));
    }
    if (reply) {
      if (said && !options.quiet) say("srun", fmt::format("Step created for job {}", request.job));
      return reply;
    }
    const ErrorCode code = reply.error().code;
    if (code == ErrorCode::kStepsBusy && may_overlap && interrupted == 0) {
      for (protocol::CreateStepRequest& part : requests) {
        part.spec.overlap = OverlapKind::kOverlap;
        part.spec.exact = false;
      }
      continue;
    }
    const bool suspended = code == ErrorCode::kDisabled;
    const bool busy = (code == ErrorCode::kStepsBusy || suspended) && !options.immediate;
    if (!busy && !(is_away(code) && Clock::now() < patience)) {
      report_refusal(request, reply.error(), said);
      return reply;
    }
    if (interrupted != 0) return tl::unexpected<Error>(give_up(request, interrupted));
    const bool long_away = Clock::now() - begin >= client.config().message_timeout;
    if (!busy && long_away && !std::exchange(said_away, true)) {
      say("srun", fmt::format("Job {} step creation waits for the controller, retrying ({})",
                              request.job, error_sentence(code)));
    }
    if (busy && !said && Clock::now() - begin >= kSettleTime) {
      said = true;
      if (!options.quiet) {
        say("srun",
            fmt::format("Job {} step creation temporarily disabled, retrying ({})", request.job,
                        error_sentence(suspended ? code : ErrorCode::kNodesBusy)));
      }
    }
    std::this_thread::sleep_until(asked + pause);  // unless the controller has waited for us
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
  }
}

void cancel_steps(Client& client, const std::vector<protocol::CreateStepReply>& steps) {
  for (const protocol::CreateStepReply& step : steps) {
    (void)cancel(client, step_id_text(step.id));
  }
}

namespace {

std::string own_address_towards(const std::string& peer) {
  return net::address_towards(peer).value_or("127.0.0.1");
}

std::string address_for_daemons(const ClusterConfig& config, const std::string& granted) {
  if (!granted.empty()) return own_address_towards(granted);
  const std::string peer = !config.slurmctld_addr.empty() ? config.slurmctld_addr
                           : config.controllers.empty()   ? "127.0.0.1"
                                                          : config.controllers[0].address;
  std::string address = own_address_towards(peer);
  // To all of the cluster the controller is on their own host.
  const bool loopback = peer.starts_with("127.") || peer == "localhost";
  if (loopback && net::listens_at_one_address(config)) return address;
  // The controller is on this host, so the way to it says nothing of the way to the nodes; it knows
  // their addresses.
  return address.starts_with("127.") ? std::string() : address;
}

StepLink::KeepAlive keep_alive_of(const ClusterConfig& config) {
  const auto number = [&config](const char* name) {
    const auto text = option_value(config.communication_parameters, name);
    return text ? to_number<uint16_t>(*text).value_or(0) : uint16_t{0};
  };
  StepLink::KeepAlive out;
  if (const auto idle = number("keepalivetime")) out.idle = std::chrono::seconds(idle);
  if (const auto every = number("keepaliveinterval")) out.interval = std::chrono::seconds(every);
  if (const auto probes = number("keepaliveprobes")) out.probes = probes;
  return out;
}

}  // namespace

Result<IoEndpoint> listen_for_daemons(StepLink& link, const ClusterConfig& config,
                                      const std::string& granted) {
  const std::string address = address_for_daemons(config, granted);
  const bool there_alone = !address.empty() && net::listens_at_one_address(config);
  link.encrypt(net::uses_tls(config));
  link.keep_alive(keep_alive_of(config));
  return link.listen(address, config.srun_port_range, there_alone);
}

}  // namespace sluice::cli
