// See sinfo_options.hpp.
#include "cli/options/sinfo_options.hpp"

#include <cstdio>

#include "cli/format/environment.hpp"
#include "cli/options/option_rows.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "cli/format/sinfo_fields.hpp"

namespace sluice::cli {
namespace {

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

constexpr TableCommand kCommand = {
    .name = "sinfo",
    .sort_variable = "SINFO_SORT",
    .usage = kUsageText,
    .help = kHelpText,
    .print_fields = [] { print_fields(sinfo_fields()); },
    .state_names = node_state_names,
    .before_seconds = "Error: invalid entry for --iterate=",
    .after_seconds = "",
};

int fail(const std::string& text) { return kCommand.fail(text); }

// "idle,mix" means any of them, "idle&drain" both.
std::optional<int> take_states(const std::string& list, SinfoOptions& o) {
  o.states_given = list;
  o.any_state.reset();
  if (iequals(list, "all")) return std::nullopt;
  o.any_state.emplace();
  for (const std::string& one : split_list(list)) {
    std::vector<NodeStateName>& all = o.any_state->emplace_back();
    for (const std::string& name : split_list(one, '&')) {
      const auto state = parse_node_state(name);
      if (!state) {
        fail("Bad state string: \"" + name + "\"");
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
  o.nodes_given = list;
  return std::nullopt;
}

void take_partitions(const char* list, SinfoOptions& o) {
  o.partitions = split_list(list);
  o.partitions_given = true;
}

using O = SinfoOptions;
using V = const char*;
constexpr OptionRow<O> kOwnRows[] = {
    {"all", 'a', Takes::kNothing, [](O& o, V) { return o.all = o.all_given = true, kGoOn; }},
    {"dead", 'd', Takes::kNothing, [](O& o, V) { return o.dead = true, kGoOn; }},
    {"exact", 'e', Takes::kNothing, [](O& o, V) { return o.exact = true, kGoOn; }},
    {"future", 'F', Takes::kNothing, [](O& o, V) { return o.future = true, kGoOn; }},
    {"hide", 0, Takes::kNothing, [](O& o, V) { return o.all = false, kGoOn; }},
    {"list-reasons", 'R', Takes::kNothing, [](O& o, V) { return o.list_reasons = true, kGoOn; }},
    {"Node", 'N', Takes::kNothing, [](O& o, V) { return o.node_form = true, kGoOn; }},
    {"nodes", 'n', Takes::kValue, [](O& o, V v) { return take_nodes(v, o); }},
    {"partition", 'p', Takes::kValue, [](O& o, V v) { return take_partitions(v, o), kGoOn; }},
    {"reservation", 'T', Takes::kNothing, [](O& o, V) { return o.reservations = true, kGoOn; }},
    {"responding", 'r', Takes::kNothing, [](O& o, V) { return o.responding = true, kGoOn; }},
    {"states", 't', Takes::kValue, [](O& o, V v) { return take_states(v, o); }},
    {"summarize", 's', Takes::kNothing, [](O& o, V) { return o.summarize = true, kGoOn; }},
};
constexpr auto kOptions = with_table_rows(kOwnRows);

std::optional<int> from_environment(SinfoOptions& o) {
  o.all = environment("SINFO_ALL").has_value();
  o.future = environment("SINFO_FUTURE").has_value() || environment("SCONTROL_FUTURE").has_value();
  if (const auto v = environment("SINFO_PARTITION")) o.partitions = split_list(*v);
  return read_table_environment(kCommand, o);
}

}  // namespace

const TableCommand& SinfoOptions::command() { return kCommand; }

std::optional<int> parse_sinfo_options(int argc, char** argv, SinfoOptions& o) {
  o.command_line.assign(argv, argv + argc);
  if (const auto status = from_environment(o)) return status;
  if (const auto status = read_option_rows<O>(kCommand.name, kOptions, argc, argv, o))
    return status;
  if (long_beside_format(kCommand, o)) return 1;
  if (o.all_given && o.partitions_given) {
    return fail("Conflicting options, -a and -p, specified. Please choose one or the other.");
  }
  if (o.all_given) o.partitions.reset();  // SINFO_PARTITION
  const bool own_layout = o.summarize || o.list_reasons || o.node_form;
  if (!o.letters && !o.names && !own_layout) o.letters = environment("SINFO_FORMAT");
  return std::nullopt;
}

}  // namespace sluice::cli
