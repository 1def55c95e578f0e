// See squeue_options.hpp.
#include "cli/squeue_options.hpp"

#include <getopt.h>
#include <unistd.h>

#include <cstdio>
#include <regex>

#include "cli/shared/environment.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/tables/job_fields.hpp"
#include "common/tables/job_states.hpp"

namespace sluice::cli {
namespace {

enum LongOnly : int {
  kHelp = 0x100,
  kUsage,
  kHide,
  kStart,
  kMe,
  kNotMe,
  kNoConvert,
  kJson,
  kYaml,
  kOnlyState,
  kRunningOver,
  kRunningUnder,
  kHelpFormat,
  kHelpState,
  kIgnored,
};

constexpr option kLongOptions[] = {
    {"account", required_argument, nullptr, 'A'},
    {"accounts", required_argument, nullptr, 'A'},
    {"all", no_argument, nullptr, 'a'},
    {"array", no_argument, nullptr, 'r'},
    {"autocomplete", required_argument, nullptr, kIgnored},
    {"cluster", required_argument, nullptr, 'M'},
    {"clusters", required_argument, nullptr, 'M'},
    {"expand-patterns", no_argument, nullptr, kIgnored},
    {"federation", no_argument, nullptr, kIgnored},
    {"Format", required_argument, nullptr, 'O'},
    {"format", required_argument, nullptr, 'o'},
    {"help", no_argument, nullptr, kHelp},
    {"helpformat", no_argument, nullptr, kHelpFormat},
    {"helpFormat", no_argument, nullptr, kHelpFormat},
    {"helpstate", no_argument, nullptr, kHelpState},
    {"hide", no_argument, nullptr, kHide},
    {"iterate", required_argument, nullptr, 'i'},
    {"jobs", optional_argument, nullptr, 'j'},
    {"json", optional_argument, nullptr, kJson},
    {"licenses", required_argument, nullptr, 'L'},
    {"local", no_argument, nullptr, kIgnored},
    {"long", no_argument, nullptr, 'l'},
    {"me", no_argument, nullptr, kMe},
    {"name", required_argument, nullptr, 'n'},
    {"noconvert", no_argument, nullptr, kNoConvert},
    {"node", required_argument, nullptr, 'w'},
    {"nodelist", required_argument, nullptr, 'w'},
    {"nodes", required_argument, nullptr, 'w'},
    {"noheader", no_argument, nullptr, 'h'},
    {"notme", no_argument, nullptr, kNotMe},
    {"only-job-state", no_argument, nullptr, kOnlyState},
    {"partition", required_argument, nullptr, 'p'},
    {"partitions", required_argument, nullptr, 'p'},
    {"priority", no_argument, nullptr, 'P'},
    {"qos", required_argument, nullptr, 'q'},
    {"reservation", required_argument, nullptr, 'R'},
    {"running-over", required_argument, nullptr, kRunningOver},
    {"running-under", required_argument, nullptr, kRunningUnder},
    {"sib", no_argument, nullptr, kIgnored},
    {"sibling", no_argument, nullptr, kIgnored},
    {"sort", required_argument, nullptr, 'S'},
    {"start", no_argument, nullptr, kStart},
    {"states", required_argument, nullptr, 't'},
    {"steps", optional_argument, nullptr, 's'},
    {"usage", no_argument, nullptr, kUsage},
    {"user", required_argument, nullptr, 'u'},
    {"users", required_argument, nullptr, 'u'},
    {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, 'V'},
    {"yaml", optional_argument, nullptr, kYaml},
    {nullptr, 0, nullptr, 0},
};

constexpr const char* kUsageText =
    "Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]\n"
    "              [-n name] [-o format] [-p partitions] [--qos qos]\n"
    "              [--reservation reservation] [--sort fields] [--start]\n"
    "              [--step step_id] [-t states] [-u user_name] [--usage]\n"
    "              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]\n"
    "\t      [-ahjlrsv]\n";

constexpr const char* kHelpText =
    "Usage: squeue [OPTIONS]\n"
    "  -A, --account=account(s)        only jobs of these accounts\n"
    "  -a, --all                       jobs in hidden partitions too\n"
    "      --federation                accepted; there is no federation\n"
    "  -h, --noheader                  no heading line\n"
    "      --hide                      no jobs in hidden partitions (the default)\n"
    "  -i, --iterate=seconds           print again every so many seconds\n"
    "  -j, --jobs[=job(s)]             only these jobs: 12, 12_3, 12_[1-4]\n"
    "      --json[=data_parser]        print JSON\n"
    "      --local                     accepted; there is no federation\n"
    "  -l, --long                      further columns\n"
    "  -L, --licenses=(license names)  only jobs that use these licenses\n"
    "  -M, --clusters=cluster_name     the cluster to ask\n"
    "      --me                        only jobs of the calling user\n"
    "  -n, --name=job_name(s)          only jobs of these names\n"
    "      --noconvert                 sizes as they are (2048M stays 2048M)\n"
    "      --notme                     only jobs of other users\n"
    "  -o, --format=format             columns by letter: %[[.]width]letter\n"
    "  -O, --Format=format             columns by name: name[:[.]width[suffix]],…\n"
    "      --only-job-state            ids and states alone\n"
    "  -p, --partition=partition(s)    only jobs in these partitions\n"
    "  -P, --priority                  a line for each partition of a waiting job\n"
    "  -q, --qos=qos(s)                only jobs of these qualities of service\n"
    "  -R, --reservation=name          only jobs in this reservation\n"
    "  -r, --array                     a line for each task of an array\n"
    "      --running-over=time         only jobs that have run longer\n"
    "      --running-under=time        only jobs that have run shorter\n"
    "      --sibling                   accepted; there is no federation\n"
    "  -s, --steps[=step(s)]           steps in place of jobs\n"
    "  -S, --sort=fields               letters to sort by, - before one for downwards\n"
    "      --start                     when waiting jobs are expected to start\n"
    "  -t, --states=states             only jobs in these states, or all\n"
    "  -u, --user=user_name(s)         only jobs of these users\n"
    "  -v, --verbose                   say more\n"
    "  -V, --version                   print the version and end\n"
    "  -w, --nodelist=hostlist         only jobs on these nodes\n"
    "      --yaml[=data_parser]        print YAML\n"
    "\n"
    "Help options:\n"
    "  --help                          show this help message\n"
    "  --usage                         show the options in brief\n";

int fail(const std::string& text) {
  std::fprintf(stderr, "squeue: error: %s\n", text.c_str());
  return 1;
}

std::optional<int> take_states(const std::string& list, SqueueOptions& o) {
  o.request.states.clear();
  o.request.flag_states = 0;
  o.request.all_states = iequals(list, "all");
  if (o.request.all_states) return std::nullopt;
  for (const std::string& name : split_list(list)) {
    const auto state = parse_job_state(name);
    if (!state) {
      fail("Invalid job state specified: " + name);
      return fail("Valid job states include: " + job_state_names() + "\n");
    }
    if (state->state) o.request.states.push_back(*state->state);
    o.request.flag_states |= state->flag;
  }
  return std::nullopt;
}

void take_users(const std::string& list, SqueueOptions& o) {
  o.request.uids.clear();
  o.nobody = true;
  for (const std::string& name : split_list(list)) {
    if (const auto uid = user_id(name)) {
      o.request.uids.push_back(*uid);
      o.nobody = false;
    } else {
      fail("Invalid user: " + name + "\n");
    }
  }
}

std::optional<int> take_jobs(const char* list, SqueueOptions& o) {
  o.request.ids.clear();
  if (list == nullptr) return std::nullopt;
  static const std::regex kForm(R"(\d+(_(\d+|\[[0-9,:%-]+\]|\*))?(\+\d+)?)");
  std::string text = list;
  // commas within brackets do not separate
  std::string piece;
  int depth = 0;
  text += ',';
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || depth > 0) {
      if (c != ' ') piece += c;
      continue;
    }
    if (piece.empty()) continue;
    if (!std::regex_match(piece, kForm)) return fail("Invalid job id: " + piece);
    o.request.ids.push_back(std::exchange(piece, {}));
  }
  return std::nullopt;
}

std::optional<int> take_steps(const char* list, SqueueOptions& o) {
  o.step_mode = true;
  o.steps.clear();
  if (list == nullptr) return std::nullopt;
  for (const std::string& name : split_list(list)) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return fail("Invalid job_step id: " + name + ".??");
    o.steps.push_back(name);
    o.request.ids.push_back(name.substr(0, dot));
  }
  return std::nullopt;
}

std::optional<int> take_seconds(const char* text, SqueueOptions& o) {
  const auto seconds = to_number<uint32_t>(std::string_view(text));
  if (!seconds || *seconds == 0) return fail(std::string("--iterate=") + text + "\n");
  o.iterate_seconds = *seconds;
  return std::nullopt;
}

std::optional<int> take_form(StructuredForm form, const char* parser, SqueueOptions& o) {
  if (!accept_parser("squeue", parser)) return 1;
  o.form = form;
  o.request.all_states = true;
  return std::nullopt;
}

std::optional<int> take_span(const char* text, Duration& out) {
  const auto span = parse_span(text);
  if (!span) return fail(std::string("Invalid time specification: ") + text);
  out = *span;
  return std::nullopt;
}

std::optional<int> from_environment(SqueueOptions& o) {
  if (environment("SQUEUE_ALL")) o.request.hidden_partitions = true;
  if (environment("SQUEUE_ARRAY")) o.one_row_a_task = true;
  if (environment("SQUEUE_PRIORITY")) o.one_row_a_partition = true;
  if (const auto v = environment("SQUEUE_ACCOUNT")) o.request.accounts = split_list(*v);
  if (const auto v = environment("SQUEUE_PARTITION")) o.request.partitions = split_list(*v);
  if (const auto v = environment("SQUEUE_QOS")) o.request.qos = split_list(*v);
  if (const auto v = environment("SQUEUE_NAMES")) o.request.names = split_list(*v);
  if (const auto v = environment("SQUEUE_LICENSES")) o.request.licenses = split_list(*v);
  if (const auto v = environment("SQUEUE_USERS")) take_users(*v, o);
  if (const auto v = environment("SQUEUE_SORT")) o.sort = *v;
  if (const auto v = environment("SLURM_CLUSTERS")) o.cluster = *v;
  if (const auto v = environment("SLURM_JSON")) o.form = StructuredForm::kJson;
  if (const auto v = environment("SLURM_YAML")) o.form = StructuredForm::kYaml;
  if (const auto v = environment("SQUEUE_STATES")) return take_states(*v, o);
  return std::nullopt;
}

void print_fields() {
  for (const JobField& field : job_fields()) {
    std::printf("%-20s", std::string(field.name).c_str());
    if (field.letter != '\0') std::printf(" %%%c", field.letter);
    std::puts("");
  }
}

// One option; the exit status when nothing further is to be done.
std::optional<int> take(int key, SqueueOptions& o) {
  switch (key) {
    case 'A': o.request.accounts = split_list(optarg); break;
    case 'a': o.request.hidden_partitions = true; break;
    case 'h': o.no_header = true; break;
    case 'i': return take_seconds(optarg, o);
    case 'j': return take_jobs(optarg, o);
    case 'l': o.long_form = true; break;
    case 'L': o.request.licenses = split_list(optarg); break;
    case 'M': o.cluster = optarg; break;
    case 'n': o.request.names = split_list(optarg); break;
    case 'O': o.names = optarg; break;
    case 'o': o.letters = optarg; break;
    case 'p': o.request.partitions = split_list(optarg); break;
    case 'P': o.one_row_a_partition = true; break;
    case 'q': o.request.qos = split_list(optarg); break;
    case 'R': o.request.reservations = split_list(optarg); break;
    case 'r': o.one_row_a_task = true; break;
    case 's': return take_steps(optarg, o);
    case 'S': o.sort = optarg; break;
    case 't': return take_states(optarg, o);
    case 'u':
    case 'U': take_users(optarg, o); break;
    case 'v': break;
    case 'V': return print_slurm_version();
    case 'w': o.node_list = optarg; break;
    case kHelp: std::fputs(kHelpText, stdout); return 0;
    case kUsage: std::fputs(kUsageText, stdout); return 0;
    case kHelpFormat: print_fields(); return 0;
    case kHelpState: std::printf("%s\n", job_state_names().c_str()); return 0;
    case kHide: o.request.hidden_partitions = false; break;
    case kStart: o.start = true; break;
    case kMe: o.request.uids = {getuid()}; break;
    case kNotMe: o.not_user = getuid(); break;
    case kNoConvert: o.convert = false; break;
    case kJson: return take_form(StructuredForm::kJson, optarg, o);
    case kYaml: return take_form(StructuredForm::kYaml, optarg, o);
    case kOnlyState: o.only_state = true; break;
    case kRunningOver: return take_span(optarg, o.running_over);
    case kRunningUnder: return take_span(optarg, o.running_under);
    case kIgnored: break;
    default:
      std::fputs("Try \"squeue --help\" for more information\n", stderr);
      return 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> parse_squeue_options(int argc, char** argv, SqueueOptions& o) {
  o.command_line.assign(argv, argv + argc);
  if (const auto status = from_environment(o)) return status;
  optind = 0;
  // -j and -s take the next word as their list when it is no option, as Slurm does
  int key = 0;
  while ((key = getopt_long(argc, argv, "A:ahi:j::lL:M:n:O:o:p:Pq:R:rs::S:t:u:U:vVw:", kLongOptions,
                            nullptr)) != -1) {
    const bool may_follow = (key == 'j' || key == 's') && optarg == nullptr;
    if (may_follow && optind < argc && argv[optind][0] >= '0' && argv[optind][0] <= '9') {
      optarg = argv[optind++];
    } else if (may_follow && optind < argc && argv[optind][0] != '-') {
      optarg = argv[optind++];
    }
    if (const auto status = take(key, o)) return status;
  }
  if (optind < argc) {
    std::fprintf(stderr, "squeue: error: Unrecognized option: %s\n", argv[optind]);
    std::fputs(kUsageText, stdout);
    return 1;
  }
  if (o.long_form && (o.letters || o.names)) {
    std::fprintf(stderr,
                 "squeue: fatal: Options -%s and -l(--long) are mutually exclusive. Please remove "
                 "one and retry.\n",
                 o.letters ? "o(--format)" : "O(--Format)");
    return 1;
  }
  if (!o.letters && !o.names && !o.long_form) {
    o.letters = environment("SQUEUE_FORMAT");
    if (!o.letters) o.names = environment("SQUEUE_FORMAT2");
  }
  return std::nullopt;
}

}  // namespace sluice::cli
