// strigger: sets, shows and clears triggers.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/environment.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/protocol/admin.hpp"
#include "common/names/errors.hpp"
#include "common/names/trigger_names.hpp"
#include "common/protocol/empty.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage = "Usage: strigger [--set | --get | --clear] [OPTIONS]\n";
constexpr const char* kHelp =
    "Usage: strigger [--set | --get | --clear] [OPTIONS]\n"
    "      --set          set a trigger\n"
    "      --get          show the triggers\n"
    "      --clear        take a trigger away\n\n"
    "  -a, --primary_slurmctld_failure             the primary controller has failed\n"
    "  -A, --primary_slurmctld_resumed_operation   it works again\n"
    "  -b, --primary_slurmctld_resumed_control     it has taken control again\n"
    "  -B, --backup_slurmctld_failure              the backup controller has failed\n"
    "  -c, --backup_slurmctld_resumed_operation    it works again\n"
    "  -C, --backup_slurmctld_assumed_control      it has taken control\n"
    "  -d, --down         a node is DOWN\n"
    "  -D, --drained      a node is DRAINED\n"
    "      --draining     a node is DRAINING\n"
    "  -e, --primary_slurmctld_acct_buffer_full    too many records of accounting wait\n"
    "  -F, --fail         a node is expected to fail\n"
    "  -f, --fini         the job has ended\n"
    "  -g, --primary_slurmdbd_failure              the accounting daemon has failed\n"
    "  -G, --primary_slurmdbd_resumed_operation    it works again\n"
    "  -h, --primary_database_failure              the database has failed\n"
    "  -H, --primary_database_resumed_operation    it works again\n"
    "      --burst_buffer a burst buffer has an error\n"
    "      --flags=PERM   the trigger stays after it has fired\n"
    "  -i, --id=#         the trigger to show or to clear\n"
    "  -I, --idle         a node has been idle for the offset\n"
    "  -j, --jobid=#      the job\n"
    "  -M, --clusters     the cluster to ask\n"
    "  -n, --node[=hosts] the nodes; all without a list\n"
    "  -N, --noheader     no heading line\n"
    "  -o, --offset=#     seconds after the event, or before it when negative\n"
    "  -p, --program=path the program to run\n"
    "  -Q, --quiet        do not say what went wrong\n"
    "  -r, --reconfig     the configuration has been read again\n"
    "  -R, --resume       a node is to be powered up\n"
    "  -t, --time         the job's time limit\n"
    "  -u, --up           a node is back in service\n"
    "      --user=name    triggers of this user\n"
    "  -v, --verbose      say more\n"
    "  -V, --version      show the version\n\n"
    "Help options:\n"
    "  --help             show this help message\n"
    "  --usage            show a short list of the options\n";

constexpr const char* kNoTrigger =
    "You must specify a trigger (--down, --up, --reconfig, --time, --fini, --burst_buffer,\n"
    "--primary_slurmctld_failure,\n"
    "--primary_slurmctld_resumed_operation,\n"
    "--primary_slurmctld_resumed_control,\n"
    "--primary_slurmctld_acct_buffer_full,\n"
    "--backup_slurmctld_failure,\n"
    "--backup_slurmctld_resumed_operation,\n"
    "--backup_slurmctld_as_ctrl,\n"
    "--primary_slurmdbd_failure,\n"
    "--primary_slurmdbd_resumed_operation,\n"
    "--primary_database_failure, or \n"
    "--primary_database_resumed_operation)\n";

constexpr TriggerEvents kOfController =
    kTriggerPrimaryFailure | kTriggerPrimaryResumed | kTriggerPrimaryControl |
    kTriggerBackupFailure | kTriggerBackupResumed | kTriggerBackupControl | kTriggerBufferFull;
constexpr TriggerEvents kOfDbd = kTriggerDbdFailure | kTriggerDbdResumed;
constexpr TriggerEvents kOfDatabase = kTriggerDatabaseFailure | kTriggerDatabaseResumed;
constexpr int64_t kMostOffset = 32000;
constexpr TriggerEvents kOfJob = kTriggerTime | kTriggerFini;

struct Options {
  bool set = false, get = false, clear = false;
  bool node = false, header = true, quiet = false, permanent = false;
  uint32_t verbose = 0;
  std::string nodes, program, cluster;
  std::optional<uint32_t> id, user;
  JobId job = kNoJob;
  TriggerEvents events = 0;
  int64_t offset = 0;
};

int fail(const std::string& text) {
  print_error("strigger", text);
  return 1;
}

std::optional<int> set_flags(Options& o, const char* value) {
  if (!iequals(value, "perm")) return fail(fmt::format("Invalid flags {}", value));
  o.permanent = true;
  return kGoOn;
}

std::optional<int> set_user(Options& o, const char* value) {
  o.user = user_id(value);
  return o.user ? kGoOn : fail(fmt::format("Invalid user {}", value));
}

std::optional<int> set_id(Options& o, const char* value) {
  o.id = to_number<uint32_t>(value);
  if (!o.id) return fail(fmt::format("Invalid id {}", value));
  if (*o.id == 0) o.id.reset();  // none has it
  return kGoOn;
}

std::optional<int> set_job(Options& o, const char* value) {
  const auto number = to_number<uint32_t>(value);
  if (!number || *number == 0) return fail(fmt::format("Invalid jobid {}", value));
  o.job = *number;
  return kGoOn;
}

std::optional<int> set_offset(Options& o, const char* value) {
  const auto number = to_number<int32_t>(value);
  if (!number) return fail(fmt::format("Invalid offset {}", value));
  o.offset = *number;
  return kGoOn;
}

template <TriggerEvents E>
std::optional<int> add(Options& o, const char* /*value*/) {
  o.events |= E;
  return kGoOn;
}

using O = Options;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"backup_slurmctld_assumed_control", 'C', Takes::kNothing, add<kTriggerBackupControl>},
    {"backup_slurmctld_failure", 'B', Takes::kNothing, add<kTriggerBackupFailure>},
    {"backup_slurmctld_resumed_operation", 'c', Takes::kNothing, add<kTriggerBackupResumed>},
    {"burst_buffer", 0, Takes::kNothing, add<kTriggerBurstBuffer>},
    {"clear", 0, Takes::kNothing, [](O& o, V) { return o.clear = true, kGoOn; }},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"down", 'd', Takes::kNothing, add<kTriggerDown>},
    {"drained", 'D', Takes::kNothing, add<kTriggerDrained>},
    {"draining", 0, Takes::kNothing, add<kTriggerDraining>},
    {"fail", 'F', Takes::kNothing, add<kTriggerFail>},
    {"fini", 'f', Takes::kNothing, add<kTriggerFini>},
    {"flags", 0, Takes::kValue, set_flags},
    {"get", 0, Takes::kNothing, [](O& o, V) { return o.get = true, kGoOn; }},
    {"help", 0, Takes::kNothing, [](O&, V) { return print_and_end(kHelp); }},
    {"id", 'i', Takes::kValue, set_id},
    {"idle", 'I', Takes::kNothing, add<kTriggerIdle>},
    {"jobid", 'j', Takes::kValue, set_job},
    {"node", 'n', Takes::kPerhaps,
     [](O& o, V v) { return o.node = true, o.nodes = v != nullptr ? v : "", kGoOn; }},
    {"noheader", 'N', Takes::kNothing, [](O& o, V) { return o.header = false, kGoOn; }},
    {"offset", 'o', Takes::kValue, set_offset},
    {"primary_database_failure", 'h', Takes::kNothing, add<kTriggerDatabaseFailure>},
    {"primary_database_resumed_operation", 'H', Takes::kNothing, add<kTriggerDatabaseResumed>},
    {"primary_slurmctld_acct_buffer_full", 'e', Takes::kNothing, add<kTriggerBufferFull>},
    {"primary_slurmctld_failure", 'a', Takes::kNothing, add<kTriggerPrimaryFailure>},
    {"primary_slurmctld_resumed_control", 'b', Takes::kNothing, add<kTriggerPrimaryControl>},
    {"primary_slurmctld_resumed_operation", 'A', Takes::kNothing, add<kTriggerPrimaryResumed>},
    {"primary_slurmdbd_failure", 'g', Takes::kNothing, add<kTriggerDbdFailure>},
    {"primary_slurmdbd_resumed_operation", 'G', Takes::kNothing, add<kTriggerDbdResumed>},
    {"program", 'p', Takes::kValue, [](O& o, V v) { return o.program = v, kGoOn; }},
    {"quiet", 'Q', Takes::kNothing, [](O& o, V) { return o.quiet = true, kGoOn; }},
    {"reconfig", 'r', Takes::kNothing, add<kTriggerReconfigured>},
    {"resume", 'R', Takes::kNothing, add<kTriggerResume>},
    {"set", 0, Takes::kNothing, [](O& o, V) { return o.set = true, kGoOn; }},
    {"time", 't', Takes::kNothing, add<kTriggerTime>},
    {"up", 'u', Takes::kNothing, add<kTriggerUp>},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(kUsage); }},
    {"user", 0, Takes::kValue, set_user},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
};

TriggerResource resource_of(const Options& o) {
  if ((o.events & kOfDatabase) != 0) return TriggerResource::kDatabase;
  if ((o.events & kOfDbd) != 0) return TriggerResource::kDbd;
  if ((o.events & kOfController) != 0) return TriggerResource::kController;
  if (o.job != kNoJob) return TriggerResource::kJob;
  if ((o.events & kTriggerBurstBuffer) != 0) return TriggerResource::kBurstBuffer;
  return TriggerResource::kNode;
}

// A word that is no option: `-n n1` names no node (-nn1 does), and would be a trigger for all.
std::optional<int> refuse_operand(const Options& o, const char* word) {
  if (!o.set || word == nullptr) return std::nullopt;
  const std::string hint =
      o.node && o.nodes.empty() ? fmt::format(": did you mean --node={}?", word) : "";
  return fail(fmt::format("Unrecognized argument: {}{}", word, hint));
}

// What does not go together; an exit status when something does not.
std::optional<int> check(const Options& o) {
  if (int{o.set} + int{o.get} + int{o.clear} != 1) {
    return fail("You must use exactly one of the following options: --set, --get or --clear");
  }
  if (o.clear && !o.id && o.job == kNoJob && !o.user)
    return fail("You must specify a --id, --jobid, or --user to clear");
  if (o.set && o.events == 0) return fail(kNoTrigger);
  if (o.set && o.program.empty()) return fail("You must specify a --program value");
  if (!o.program.empty() && o.program[0] != '/')
    return fail("The --program value must start with \"/\"");
  struct stat status {};
  const std::string path = o.program.substr(0, o.program.find(' '));
  if (o.set && ::stat(path.c_str(), &status) != 0)
    return fail("Invalid --program value, file not found");
  if (o.offset > kMostOffset || o.offset < -kMostOffset) {
    return fail(fmt::format("The --offset parameter must be between +/-{}", kMostOffset));
  }
  if ((o.events & kOfJob) != 0 && o.job == kNoJob) return fail("You must specify a --jobid value");
  return std::nullopt;
}

int say(const Options& o, const char* call, const Error& error) {
  if (!o.quiet) std::fprintf(stderr, "%s: %s\n", call, error_text(error).c_str());
  return 1;
}

int set_trigger(const Options& o, Client& client) {
  protocol::SetTriggerRequest request;
  Trigger& trigger = request.trigger;
  trigger.resource = resource_of(o);
  trigger.events = o.events;
  trigger.job = o.job;
  trigger.nodes = o.nodes;
  trigger.offset_seconds = o.offset;
  trigger.permanent = o.permanent;
  trigger.program = o.program;
  const auto reply = client.call<protocol::Empty>(request);
  if (!reply) return say(o, "slurm_set_trigger", reply.error());
  if (o.verbose > 0) std::fputs("strigger: trigger set\n", stderr);
  return 0;
}

int clear_triggers(const Options& o, Client& client) {
  protocol::ClearTriggersRequest request;
  request.filter.id = o.id;
  if (o.job != kNoJob) request.filter.job = o.job;
  request.filter.uid = o.user;
  const auto reply = client.call<protocol::Empty>(request);
  if (!reply) return o.quiet ? 0 : say(o, "slurm_clear_trigger", reply.error());
  if (o.verbose > 0) {
    const std::string what = o.id              ? fmt::format("trigger {}", *o.id)
                             : o.job != kNoJob ? fmt::format("triggers for job {}", o.job)
                                               : fmt::format("triggers for user {}", *o.user);
    std::fprintf(stderr, "strigger: %s cleared\n", what.c_str());
  }
  return 0;
}

TriggerResource resource_of_event(TriggerEvents event) {
  Options alone;
  alone.events = event;
  return (event & kOfJob) != 0 ? TriggerResource::kJob : resource_of(alone);
}

// The nodes that are named do not choose, only that there are some.
bool is_wanted(const Options& o, const Trigger& t) {
  if (o.id && t.id != *o.id) return false;
  if (o.user && t.uid != *o.user) return false;
  if (o.job != kNoJob && t.job != o.job) return false;
  if (o.node && t.resource != TriggerResource::kNode) return false;
  if (o.events == 0) return true;
  // each event that is named has to be the trigger's only one
  return std::has_single_bit(o.events) && t.events == o.events &&
         t.resource == resource_of_event(o.events);
}

int show_triggers(const Options& o, Client& client) {
  const auto reply = client.call<protocol::QueryTriggersReply>(protocol::QueryTriggersRequest{});
  if (!reply) return say(o, "slurm_get_triggers", reply.error());
  if (o.verbose > 0)
    std::fprintf(stderr, "strigger: Read %zu trigger records\n", reply->triggers.size());
  bool head = !o.header;
  for (const Trigger& t : reply->triggers) {
    if (!is_wanted(o, t)) continue;
    if (!head)
      std::puts(
          "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM");
    head = true;
    const std::string resource = t.resource == TriggerResource::kJob ? std::to_string(t.job)
                                 : t.resource == TriggerResource::kBurstBuffer ? "(null)"
                                 : t.nodes.empty()                             ? "*"
                                                                               : t.nodes;
    const std::string line =
        fmt::format("{:7} {:<9} {:>7} {:<35} {:6} {:<8} {:<5} {}", t.id,
                    trigger_resource_text(t.resource), resource, trigger_event_text(t.events),
                    t.offset_seconds, t.user_name, t.permanent ? "PERM" : "", t.program);
    std::puts(shown_text(line, {}).c_str());
  }
  return 0;
}

}  // namespace

int strigger_main(int argc, char** argv) {
  Options options;
  if (const auto status = read_option_rows<O>("strigger", kOptions, argc, argv, options))
    return *status;
  if (const auto status = check(options)) return *status;
  if (const auto status = refuse_operand(options, optind < argc ? argv[optind] : nullptr))
    return *status;
  Result<Client> client = Client::open();
  if (!client) return report("strigger", client.error());
  client->keep_asking();
  if (!options.cluster.empty() && !accept_cluster("strigger", options.cluster, client->config()))
    return 1;
  if (options.set) return set_trigger(options, *client);
  return options.get ? show_triggers(options, *client) : clear_triggers(options, *client);
}

}  // namespace sluice::cli
