// See sinfo_options.hpp.
#include "cli/sinfo_options.hpp"

#include <getopt.h>

#include <cstdio>

#include "cli/shared/environment.hpp"
#include "cli/shared/version.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/tables/sinfo_fields.hpp"

namespace sluice::cli {
namespace {

enum LongOnly : int {
  kHelp = 0x100,
  kUsage,
  kHide,
  kNoConvert,
  kJson,
  kYaml,
  kHelpFormat,
  kHelpState,
  kIgnored,
};

constexpr option kLongOptions[] = {
    {"all", no_argument, nullptr, 'a'},
    {"autocomplete", required_argument, nullptr, kIgnored},
    {"cluster", required_argument, nullptr, 'M'},
    {"clusters", required_argument, nullptr, 'M'},
    {"dead", no_argument, nullptr, 'd'},
    {"exact", no_argument, nullptr, 'e'},
    {"federation", no_argument, nullptr, kIgnored},
    {"Format", required_argument, nullptr, 'O'},
    {"format", required_argument, nullptr, 'o'},
    {"future", no_argument, nullptr, 'F'},
    {"help", no_argument, nullptr, kHelp},
    {"helpformat", no_argument, nullptr, kHelpFormat},
    {"helpFormat", no_argument, nullptr, kHelpFormat},
    {"helpstate", no_argument, nullptr, kHelpState},
    {"hide", no_argument, nullptr, kHide},
    {"iterate", required_argument, nullptr, 'i'},
    {"json", optional_argument, nullptr, kJson},
    {"list-reasons", no_argument, nullptr, 'R'},
    {"local", no_argument, nullptr, kIgnored},
    {"long", no_argument, nullptr, 'l'},
    {"noconvert", no_argument, nullptr, kNoConvert},
    {"Node", no_argument, nullptr, 'N'},
    {"nodes", required_argument, nullptr, 'n'},
    {"noheader", no_argument, nullptr, 'h'},
    {"partition", required_argument, nullptr, 'p'},
    {"reservation", no_argument, nullptr, 'T'},
    {"responding", no_argument, nullptr, 'r'},
    {"sort", required_argument, nullptr, 'S'},
    {"states", required_argument, nullptr, 't'},
    {"summarize", no_argument, nullptr, 's'},
    {"usage", no_argument, nullptr, kUsage},
    {"verbose", no_argument, nullptr, 'v'},
    {"version", no_argument, nullptr, 'V'},
    {"yaml", optional_argument, nullptr, kYaml},
    {nullptr, 0, nullptr, 0},
};

constexpr const char* kUsageText =
    "Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]\n"
    "             [-S fields] [-o format] [-O Format] [--federation] [--local]\n";

constexpr const char* kHelpText =
    "Usage: sinfo [OPTIONS]\n"
    "  -a, --all                  every partition, hidden ones too\n"
    "  -d, --dead                 only nodes that do not respond\n"
    "  -e, --exact                a line of its own for every configuration\n"
    "      --federation           accepted; there is no federation\n"
    "  -F, --future               nodes in state FUTURE too\n"
    "  -h, --noheader             no heading line\n"
    "  --hide                     no hidden partitions (the default)\n"
    "  -i, --iterate=seconds      print again every so many seconds\n"
    "      --json[=data_parser]   print JSON\n"
    "      --local                accepted; there is no federation\n"
    "  -l, --long                 further columns\n"
    "  -M, --clusters=names       the cluster to ask\n"
    "  -n, --nodes=NODES          only these nodes\n"
    "  --noconvert                sizes as they are (2048M stays 2048M)\n"
    "  -N, --Node                 a line for each node\n"
    "  -o, --format=format        columns by letter: %[[.]width]letter\n"
    "  -O, --Format=format        columns by name: name[:[.]width[suffix]],…\n"
    "  -p, --partition=PARTITION  only these partitions\n"
    "  -r, --responding           only nodes that respond\n"
    "  -R, --list-reasons         why nodes are down or drained\n"
    "  -s, --summarize            counts by state in place of states\n"
    "  -S, --sort=fields          letters to sort by, - before one for downwards\n"
    "  -t, --states=node_state    only nodes in these states\n"
    "  -T, --reservation          reservations in place of partitions\n"
    "  -v, --verbose              say more\n"
    "  -V, --version              print the version and end\n"
    "      --yaml[=data_parser]   print YAML\n"
    "\n"
    "Help options:\n"
    "  --help                     show this help message\n"
    "  --usage                    show the options in brief\n";

int fail(const std::string& text) {
  std::fprintf(stderr, "sinfo: error: %s\n", text.c_str());
  return 1;
}

// "idle,mix" means any of them, "idle&drain" both.
std::optional<int> take_states(const std::string& list, SinfoOptions& o) {
  o.any_state.clear();
  if (iequals(list, "all")) return std::nullopt;
  for (const std::string& one : split_list(list)) {
    std::vector<NodeStateName>& all = o.any_state.emplace_back();
    for (const std::string& name : split_list(one, '&')) {
      const auto state = parse_node_state(name);
      if (!state) {
        fail("Bad state string: \"" + list + "\"");
        return fail("valid states: " + to_lower(node_state_names()));
      }
      all.push_back(*state);
    }
  }
  return std::nullopt;
}

std::optional<int> take_nodes(const char* list, SinfoOptions& o) {
  const auto names = expand_hosts(list);
  if (!names) return fail(std::string("Invalid node format specification: ") + list);
  o.nodes = *names;
  return std::nullopt;
}

std::optional<int> take_seconds(const char* text, SinfoOptions& o) {
  const auto seconds = to_number<uint32_t>(std::string_view(text));
  if (!seconds || *seconds == 0) {
    return fail(std::string("Error: invalid entry for --iterate=") + text);
  }
  o.iterate_seconds = *seconds;
  return std::nullopt;
}

std::optional<int> take_form(StructuredForm form, const char* parser, SinfoOptions& o) {
  if (!accept_parser("sinfo", parser)) return 1;
  o.form = form;
  return std::nullopt;
}

void print_fields() {
  for (const SinfoField& field : sinfo_fields()) {
    std::printf("%-20s", std::string(field.name).c_str());
    if (field.letter != '\0') std::printf(" %%%c", field.letter);
    std::puts("");
  }
}

std::optional<int> take(int key, SinfoOptions& o) {
  switch (key) {
    case 'a': o.all = true; break;
    case 'd': o.dead = true; break;
    case 'e': o.exact = true; break;
    case 'F': o.future = true; break;
    case 'h': o.no_header = true; break;
    case 'i': return take_seconds(optarg, o);
    case 'l': o.long_form = true; break;
    case 'M': o.cluster = optarg; break;
    case 'n': return take_nodes(optarg, o);
    case 'N': o.node_form = true; break;
    case 'o': o.letters = optarg; break;
    case 'O': o.names = optarg; break;
    case 'p': o.partitions = split_list(optarg); break;
    case 'r': o.responding = true; break;
    case 'R': o.list_reasons = true; break;
    case 's': o.summarize = true; break;
    case 'S': o.sort = optarg; break;
    case 't': return take_states(optarg, o);
    case 'T': o.reservations = true; break;
    case 'v': break;
    case 'V': return print_slurm_version();
    case kHelp: std::fputs(kHelpText, stdout); return 0;
    case kUsage: std::fputs(kUsageText, stdout); return 0;
    case kHelpFormat: print_fields(); return 0;
    case kHelpState: std::printf("%s\n", node_state_names().c_str()); return 0;
    case kHide: o.all = false; break;
    case kNoConvert: o.convert = false; break;
    case kJson: return take_form(StructuredForm::kJson, optarg, o);
    case kYaml: return take_form(StructuredForm::kYaml, optarg, o);
    case kIgnored: break;
    default:
      std::fputs("Try \"sinfo --help\" for more information\n", stderr);
      return 1;
  }
  return std::nullopt;
}

void from_environment(SinfoOptions& o) {
  o.all = environment("SINFO_ALL").has_value();
  o.future = environment("SINFO_FUTURE").has_value() || environment("SCONTROL_FUTURE").has_value();
  if (const auto v = environment("SINFO_PARTITION")) o.partitions = split_list(*v);
  if (const auto v = environment("SINFO_SORT")) o.sort = *v;
  if (const auto v = environment("SLURM_CLUSTERS")) o.cluster = *v;
  if (environment("SLURM_JSON")) o.form = StructuredForm::kJson;
  if (environment("SLURM_YAML")) o.form = StructuredForm::kYaml;
}

}  // namespace

std::optional<int> parse_sinfo_options(int argc, char** argv, SinfoOptions& o) {
  o.command_line.assign(argv, argv + argc);
  from_environment(o);
  optind = 0;
  int key = 0;
  while ((key = getopt_long(argc, argv, "adeFhi:lM:n:No:O:p:rRsS:t:TvV", kLongOptions,
                            nullptr)) != -1) {
    if (const auto status = take(key, o)) return status;
  }
  if (o.long_form && (o.letters || o.names)) {
    std::fprintf(stderr,
                 "sinfo: fatal: Options -%s and -l(--long) are mutually exclusive. Please remove "
                 "one and retry.\n",
                 o.letters ? "o(--format)" : "O(--Format)");
    return 1;
  }
  const bool own_layout = o.long_form || o.summarize || o.list_reasons || o.node_form;
  if (!o.letters && !o.names && !own_layout) o.letters = environment("SINFO_FORMAT");
  return std::nullopt;
}

}  // namespace sluice::cli
