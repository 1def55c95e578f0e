// See session.hpp.
#include "cli/scontrol/session.hpp"

#include <cstdio>
#include <utility>

#include "cli/format/environment.hpp"
#include "common/base/time_text.hpp"

namespace sluice::cli::scontrol {
namespace {

constexpr const char* kHelp =
    "scontrol [<OPTION>] [<COMMAND>]\n"
    "    Valid <OPTION> values are:\n"
    "     -a, --all            hidden partitions too, as the command \"all\"\n"
    "     -d, --details        more of each record, as the command \"details\"\n"
    "     -F, --future         nodes in state FUTURE too\n"
    "     -h, --help           this text\n"
    "     --hide               no hidden partitions (the default)\n"
    "     --json, --yaml       records as JSON or YAML\n"
    "     -M, --cluster        the cluster to talk to\n"
    "     -o, --oneliner       a record in one line, as the command \"oneliner\"\n"
    "     -Q, --quiet          no messages but errors\n"
    "     -v, --verbose        say more\n"
    "     -V, --version        print the version\n"
    "\n"
    "  Without a command scontrol asks for one after the other until \"exit\" or \"quit\";\n"
    "  \"!!\" repeats the last.\n"
    "\n"
    "    Valid <COMMAND> values are:\n"
    "     all                               hidden partitions too from here on\n"
    "     cancel_reboot <nodes>             forget about reboots that have not begun\n"
    "     cluster [<name>]                  the cluster that commands go to\n"
    "     completing                        jobs that are being cleaned up, and where\n"
    "     create <SPECIFICATIONS>           make a partition, node or reservation\n"
    "     delete <SPECIFICATIONS>           take one of these away\n"
    "     details                           more of each record from here on\n"
    "     errnumstr <ERRNO>                 the text of an error number\n"
    "     exit                              end scontrol\n"
    "     fsdampeningfactor <FACTOR>        weight of levels in fair share, until the next reconfigure\n"
    "     getaddrs <nodes>                  addresses of nodes\n"
    "     help                              print this text\n"
    "     hide                              no hidden partitions from here on\n"
    "     hold <job_list>                   keep waiting jobs from starting\n"
    "     holdu <job_list>                  as uhold\n"
    "     listpids [<job_id>[.<step>]]      processes of steps on this host\n"
    "     notify <job_id> <message>         a line for the job's user\n"
    "     oneliner                          a record in one line from here on\n"
    "     pidinfo <pid>                     the job of a process on this host\n"
    "     ping                              which controllers answer\n"
    "     quiet                             no messages but errors from here on\n"
    "     quit                              end scontrol\n"
    "     power up|down [asap|force] [reason=<text>] <nodes>   start or stop nodes of power saving\n"
    "     reboot [ASAP|FORCE] [nextstate=RESUME|DOWN] [reason=<text>] <nodes>   run RebootProgram there\n"
    "     reconfigure                       read the configuration again\n"
    "     release <job_list>                let held jobs start\n"
    "     requeue [Incomplete] <job_list>   stop jobs and queue them again; or those only that run\n"
    "     requeuehold [Incomplete] [State=SpecialExit] <job_list>   the same, and hold them\n"
    "     resume <job_list>                 go on with suspended jobs\n"
    "     schedloglevel <LEVEL>             whether the log of the scheduler is kept\n"
    "     setdebug <LEVEL> [nodes=<NODES>]  how much the controller, or agents, log\n"
    "     setdebugflags [+|-]<FLAG> [nodes=<NODES>]\n"
    "                                       which parts of them log more\n"
    "     show <ENTITY> [<ID>]              print records\n"
    "     shutdown [slurmctld]              end the daemons, or the controller alone\n"
    "     suspend <job_list>                stop the processes of jobs\n"
    "     takeover [<INDEX>]                says how a backup controller takes over, which it does by hand only\n"
    "     token [lifespan=<SECONDS>] [username=<NAME>]\n"
    "                                       a token for programs that speak for the user\n"
    "     top <job_list>                    put jobs first among their user's\n"
    "     uhold <job_list>                  hold as the user, who may release\n"
    "     update <SPECIFICATIONS>           change a job, step, node, partition or reservation\n"
    "     verbose                           say more from here on\n"
    "     version                           print the version\n"
    "     wait_job <job_id>                 wait until the job's nodes are ready\n"
    "     write batch_script <job_id> [<file>|-]   the script of a batch job\n"
    "     write config [<file>]             the configuration as slurm.conf would give it\n"
    "\n"
    "  <ENTITY> may be \"aliases\", \"assoc_mgr\", \"config\", \"daemons\", \"hostlist\", \"hostlistsorted\",\n"
    "       \"hostnames\", \"job\", \"licenses\", \"node\", \"partition\", \"reservation\",\n"
    "       \"slurmd\", \"step\", or \"topology\"\n"
    "\n"
    "  Commands and entities may be shortened as long as they stay clear; case does not matter,\n"
    "  except in names of nodes and partitions.\n";

}  // namespace

Client* Session::client() {
  if (client_) return &*client_;
  Result<Client> opened = Client::open();
  if (!opened) {
    exit_status = report("scontrol", opened.error());
    return nullptr;
  }
  client_.emplace(std::move(*opened));
  client_->keep_asking();
  return &*client_;
}

RenderContext Session::context(Time now) { return render_context(client()->config(), now, true); }

void Session::say_loaded(Time time, size_t records) {
  if (!verbose || form) return;
  const RenderContext form_of = context(time);
  std::printf("last_update_time=%s, records=%zu\n",
              format_time(time, form_of.time_form, time).c_str(), records);
}

void Session::fail_to_find(const std::string& text) {
  if (in_document) return fail(text);
  exit_status = 1;
  if (!quiet) std::printf("%s\n", text.c_str());
}

void Session::fail(const std::string& text) {
  if (in_document) errors.push_back(text);
  std::fflush(stdout);
  if (!quiet) std::fprintf(stderr, "%s\n", text.c_str());
  exit_status = 1;
}

void print_records(Session& session, std::string key, Json records, Json further,
                   std::vector<std::string> warnings) {
  StructuredDocument document;
  document.key = std::move(key);
  document.records = std::move(records);
  document.further = std::move(further);
  document.warnings = std::move(warnings);
  document.errors = std::exchange(session.errors, {});
  session.in_document = false;
  document.command_line = session.command_line;
  document.cluster = session.client()->config().cluster_name;
  document.accounting_storage = session.client()->config().accounting_storage_type;
  print_document(session.form, std::move(document));
}

void print_help() { std::fputs(kHelp, stdout); }

}  // namespace sluice::cli::scontrol
