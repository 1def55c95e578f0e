// scontrol's verbs on daemons: ping, reconfigure, shutdown, setdebug, takeover, and those that ask
// the agent of this host: listpids, pidinfo, listjobs, liststeps, show slurmd.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>

#include "cli/scontrol/session.hpp"
#include "cli/format/environment.hpp"
#include "common/os/host_name.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/user_token.hpp"
#include "common/base/time_text.hpp"
#include "common/protocol/noded.hpp"
#include "common/names/errors.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/ctld.hpp"
#include "common/protocol/query.hpp"

namespace sluice::cli::scontrol {
namespace {

// The nodes whose agents run on this host, or the one named.
std::vector<const NodeConfig*> local_nodes(Client& client, const std::string& name) {
  const std::string host = short_host_name();
  const std::string only = name.empty() ? environment("SLURMD_NODENAME").value_or("") : name;
  std::vector<const NodeConfig*> out;
  const auto look = [&](const std::vector<NodeConfig>& nodes) {
    for (const NodeConfig& node : nodes) {
      const bool here = node.hostname.substr(0, node.hostname.find('.')) == host;
      if (only.empty() ? here : node.name == only) out.push_back(&node);
    }
  };
  look(client.nodes());
  if (out.empty()) look(client.nodes_with_dynamic());
  return out;
}

struct PidAnswer {
  std::vector<protocol::PidRecord> pids;
  bool reached = false;
};

PidAnswer ask_for_pids(Session& session, const protocol::ListPidsRequest& request,
                       const std::string& node_name) {
  PidAnswer answer;
  Client& client = *session.client();
  for (const NodeConfig* node : local_nodes(client, node_name)) {
    const auto reply = client.call_node<protocol::ListPidsReply>(*node, request);
    if (!reply) continue;
    answer.reached = true;
    answer.pids.insert(answer.pids.end(), reply->pids.begin(), reply->pids.end());
  }
  return answer;
}

// Of "nodes=LIST" the list.
std::optional<std::string> nodes_given(const std::string& word) {
  constexpr std::string_view kKey = "nodes=";
  return starts_with_i(word, kKey) ? std::optional(word.substr(kKey.size())) : std::nullopt;
}

// To the controller, or to the agents of the nodes that are named; of several errors the first.
Status send_debug(Session& session, const protocol::SetDebugRequest& request,
                  const std::string& nodes) {
  Client& client = *session.client();
  if (nodes.empty()) {
    const auto reply = client.call<protocol::Empty>(request);
    return reply ? Status{} : tl::unexpected<Error>(reply.error());
  }
  const auto names = expand_hosts(nodes);
  if (!names) return tl::unexpected<Error>(names.error());
  const std::vector<NodeConfig>& known = client.nodes_with_dynamic();
  std::vector<const NodeConfig*> meant;
  for (const std::string& name : *names) {
    const auto place = std::ranges::find(known, name, &NodeConfig::name);
    if (place == known.end()) return failure(ErrorCode::kInvalidNodeName);
    meant.push_back(&*place);
  }
  Status first;
  for (const NodeConfig* node : meant) {
    const auto reply = client.call_node<protocol::Empty>(*node, request);
    if (!reply && first)
      first = tl::unexpected<Error>(
          Error{reply.error().code, node->name + ": " + error_text(reply.error())});
  }
  return first;
}

// Nobody answers; any other error says more than that: who asks has no token, or a bad one, the
// controller serves others just now.
bool is_silence(ErrorCode code) {
  return code == ErrorCode::kUnreachable || code == ErrorCode::kTimedOut ||
         code == ErrorCode::kConnectionLost;
}

}  // namespace

std::vector<ControllerAnswer> ping_controllers(Session& session) {
  std::vector<ControllerAnswer> out;
  const ClusterConfig& config = session.client()->config();
  for (size_t i = 0; i < config.controllers.size(); ++i) {
    ClusterConfig one = config;
    one.controllers = {config.controllers[i]};
    ControllerAnswer answer;
    answer.name = config.controllers[i].name;
    answer.role = i == 0                           ? "primary"
                  : config.controllers.size() == 2 ? "backup"
                                                   : "backup" + std::to_string(i);
    const auto begin = std::chrono::steady_clock::now();
    Result<Client> client = Client::open(std::move(one));
    const auto reply = client ? client->call<protocol::PingReply>(protocol::PingRequest{})
                              : tl::unexpected<Error>(client.error());
    answer.up = reply.has_value();
    if (!reply && !session.quiet && !is_silence(reply.error().code))
      std::fprintf(stderr, "scontrol: error: Slurmctld(%s): %s\n", answer.role.c_str(),
                   error_text(reply.error()).c_str());
    answer.took = std::chrono::steady_clock::now() - begin;
    out.push_back(std::move(answer));
  }
  return out;
}

std::string ping_line(const ControllerAnswer& answer) {
  return "Slurmctld(" + answer.role + ") at " + answer.name + " is " + (answer.up ? "UP" : "DOWN");
}

void ping(Session& session, const Words&) {
  if (session.client() == nullptr) return;
  const std::vector<ControllerAnswer> answers = ping_controllers(session);
  const bool all_down = std::ranges::none_of(answers, &ControllerAnswer::up);
  if (all_down) session.exit_status = 1;
  if (!session.form) {
    for (const ControllerAnswer& answer : answers) std::puts(ping_line(answer).c_str());
    if (!all_down) return;
    std::puts(
        "*****************************************\n"
        "** RESTORE SLURMCTLD DAEMON TO SERVICE **\n"
        "*****************************************");
    return;
  }
  Json records = Json::array();
  for (const ControllerAnswer& answer : answers) {
    const auto microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(answer.took).count();
    records.push_back({{"hostname", answer.name},
                       {"pinged", answer.up ? "UP" : "DOWN"},
                       {"responding", answer.up},
                       {"latency", microseconds},
                       {"mode", answer.role},
                       {"primary", answer.role == "primary"}});
  }
  print_records(session, "pings", std::move(records));
}

void reconfigure(Session& session, const Words&) {
  if (session.client() == nullptr) return;
  const auto reply = session.client()->call<protocol::Empty>(protocol::ReconfigureRequest{});
  if (!reply) session.fail("slurm_reconfigure error: " + error_text(reply.error()));
}

void shutdown(Session& session, const Words& words) {
  protocol::ShutdownRequest request;
  if (words.size() > 1) {
    const bool controller = words[1].size() >= 8 && (starts_with_i("slurmctld", words[1]) ||
                                                     starts_with_i("controller", words[1]));
    if (!controller) return session.fail("invalid shutdown argument:" + words[1]);
    request.controller_only = true;
  }
  if (session.client() == nullptr) return;
  session.client()->keep_asking(false);  // one that is away is shut down
  const auto reply = session.client()->call<protocol::Empty>(request);
  session.client()->keep_asking();
  if (!reply) session.fail("slurm_shutdown error: " + error_text(reply.error()));
}

void set_debug(Session& session, const Words& words) {
  constexpr std::string_view kLevels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                          "debug", "debug2", "debug3", "debug4", "debug5"};
  protocol::SetDebugRequest request;
  const auto number = to_number<uint32_t>(words[1]);
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    if (iequals(words[1], kLevels[i]) || number == static_cast<uint32_t>(i)) {
      request.level = kLevels[i];
    }
  }
  if (request.level.empty()) return session.fail("invalid debug level: " + words[1]);
  const auto nodes = words.size() > 2 ? nodes_given(words[2]) : "";
  if (!nodes) return session.fail("invalid argument: " + words[2]);
  if (session.client() == nullptr) return;
  const Status done = send_debug(session, request, *nodes);
  if (!done) session.fail("slurm_set_debug_level error: " + error_text(done.error()));
}

void set_debug_flags(Session& session, const Words& words) {
  protocol::SetDebugRequest request;
  std::string nodes;
  for (size_t i = 1; i < words.size(); ++i) {
    if (const auto given = nodes_given(words[i])) {
      nodes = *given;
      continue;
    }
    if (words[i].size() < 2 || (words[i][0] != '+' && words[i][0] != '-')) {
      return session.fail("invalid debug flag: " + words[i]);
    }
    request.flags.push_back(words[i]);
  }
  if (session.client() == nullptr) return;
  const Status done = send_debug(session, request, nodes);
  if (done) return;
  const std::string text = error_text(done.error());
  for (const std::string& flag : request.flags) {
    if (text.find(flag.substr(1)) == std::string::npos) continue;
    session.fail("scontrol: error: Invalid DebugFlag: " + flag.substr(1));
    return session.fail("invalid debug flag: " + flag);
  }
  session.fail("slurm_set_debug_flags error: " + text);
}

void takeover(Session& session, const Words& words) {
  if (session.client() == nullptr) return;
  const size_t controllers = session.client()->config().controllers.size();
  if (words.size() == 1 && controllers < 2) {
    session.fail(
        "scontrol: error: there is no backup controller: slurm.conf has one SlurmctldHost");
    return session.fail("slurm_takeover error: " +
                        std::string(error_sentence(ErrorCode::kUnreachable)));
  }
  const uint32_t index = words.size() > 1 ? to_number<uint32_t>(words[1]).value_or(0) : 1;
  if (index == 0 || index >= controllers) {
    return session.fail("takeover: invalid backup controller index (" + std::to_string(index) +
                        ")");
  }
  const std::string& backup = session.client()->config().controllers[index].name;
  session.fail("scontrol: error: no controller waits on " + backup +
               " to take over: end the one that runs (scontrol shutdown "
               "slurmctld), then start slurmctld there");
  session.fail("slurm_takeover error: " + std::string(error_sentence(ErrorCode::kNotSupported)));
}

void error_number(Session& session, const Words& words) {
  const auto number = to_number<uint32_t>(words[1]);
  if (!number) return session.fail("numeric arguments required for keyword:" + words[0]);
  std::puts(std::string(error_number_text(*number)).c_str());
}

// "lifespan=SECONDS" (or infinite) and "username=NAME".
void token(Session& session, const Words& words) {
  constexpr uint32_t kInfinite = 365 * 24 * 3600;
  protocol::CreateUserTokenRequest request;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const auto seconds = iequals(value, "infinite") ? std::optional<uint32_t>(kInfinite)
                                                    : to_number<uint32_t>(value);
    if (iequals(key, "lifespan") && seconds) request.lifespan_s = *seconds;
    else if (iequals(key, "username") && !value.empty()) request.user_name = value;
    else return session.fail("Invalid option: `" + words[i] + "`");
  }
  if (session.client() == nullptr) return;
  session.client()->expect_token();
  const auto reply = session.client()->call<protocol::CreateUserTokenReply>(request);
  if (reply) {
    std::printf("SLURM_JWT=%s\n", reply->token.c_str());
    return;
  }
  const bool off = reply.error().code == ErrorCode::kNotSupported;
  if (!off)
    session.fail("scontrol: error: slurm_fetch_token: error with request: " +
                 error_text(reply.error()));
  session.fail("Error fetching token");
}

void not_here(Session& session, const Words& words) {
  session.fail("scontrol: error: " + words[0] + ": " +
               std::string(error_sentence(ErrorCode::kNotSupported)));
}

void list_pids(Session& session, const Words& words) {
  if (session.client() == nullptr) return;
  protocol::ListPidsRequest request;
  const std::string id = words.size() > 1 ? words[1] : "";
  const std::string node = words.size() > 2 ? words[2] : "";
  if (!id.empty() && id != "*") {
    const size_t dot = id.find('.');
    request.job = to_number<uint32_t>(id.substr(0, dot)).value_or(0);
    if (request.job == 0) return session.fail("\"" + id + "\" does not look like a jobid");
    if (dot != std::string::npos) {
      const auto step = parse_step_number(id.substr(dot + 1));
      if (!step) return session.fail("\"" + id + "\" does not look like a stepid");
      request.step = *step;
    }
  }
  const PidAnswer answer = ask_for_pids(session, request, node);
  std::puts("PID      JOBID    STEPID   LOCALID GLOBALID");
  for (const auto& pid : answer.pids) {
    const std::string local = pid.local_task < 0 ? "-" : std::to_string(pid.local_task);
    const std::string global = pid.task < 0 ? "-" : std::to_string(pid.task);
    std::printf("%-8u %-8u %-8s %-7s %-8s\n", pid.pid, pid.step.job,
                step_number_text(pid.step.step).c_str(), local.c_str(), global.c_str());
  }
  if (!answer.pids.empty()) return;
  if (request.job == 0) return session.fail("No job steps exist on this node.");
  const std::string name = node.empty() ? "(null)" : node;
  const std::string what = request.step == UINT32_MAX ? "JobId=" : "StepId=";
  session.fail(what + id + " does not exist on node " + name + ".");
}

void pid_info(Session& session, const Words& words) {
  if (words.size() < 2) return session.fail("missing argument for keyword:pidinfo");
  const auto pid = to_number<uint32_t>(words[1]);
  if (session.client() == nullptr) return;
  JobId job = kNoJob;
  for (const auto& record : ask_for_pids(session, {}, {}).pids) {
    if (pid && record.pid == *pid) job = record.step.job;
  }
  if (job == kNoJob) return session.fail("Failed to locate job for requested pid");
  protocol::QueryJobsRequest request;
  request.ids.push_back(std::to_string(job));
  request.all_states = true;
  const Status status = session.client()->query_jobs(request, [&](protocol::JobChunk&& chunk) {
    for (const auto& record : chunk.jobs) {
      const RenderContext context = session.context(chunk.now);
      const Time end = record.job.end;
      std::printf("Slurm JobId=%u ends at %s\n", job,
                  format_time(end, context.time_form, chunk.now).c_str());
      const int64_t left =
          end == kNever || end == kNoTime ? int64_t{365} * 86400 : to_seconds(end - chunk.now);
      std::printf("Job remaining time is %ld seconds\n", static_cast<long>(left));
    }
    return true;
  });
  if (!status) session.fail("slurm_load_jobs error: " + error_text(status.error()));
}

void list_jobs(Session& session, const Words& words) {
  if (session.client() == nullptr) return;
  const bool steps = words[0] == "liststeps";
  const PidAnswer answer = ask_for_pids(session, {}, words.size() > 1 ? words[1] : "");
  std::set<std::pair<JobId, std::string>> seen;
  std::puts(steps ? "JOBID    STEPID  " : "JOBID   ");
  for (const auto& pid : answer.pids) {
    const std::string step = steps ? step_number_text(pid.step.step) : "";
    if (!seen.emplace(pid.step.job, step).second) continue;
    if (steps) std::printf("%-8u %-8s\n", pid.step.job, step.c_str());
    else std::printf("%-8u\n", pid.step.job);
  }
  if (seen.empty()) session.fail("No slurmstepd's found on this node");
}

void show_agent(Session& session) {
  const auto nodes = local_nodes(*session.client(), {});
  Error last{ErrorCode::kUnreachable, "Connection refused"};
  for (const NodeConfig* node : nodes) {
    const auto reply =
        session.client()->call_node<protocol::ShowAgentReply>(*node, protocol::ShowAgentRequest{});
    if (!reply) continue;
    for (const std::string& line : reply->lines) std::puts(line.c_str());
    std::puts("");
    return;
  }
  session.fail("scontrol: error: slurm_slurmd_info: " + last.text);
  session.fail("slurm_load_slurmd_status: " + last.text);
}

}  // namespace sluice::cli::scontrol
