// See squeue_options.hpp.
#include "cli/options/squeue_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/format/environment.hpp"
#include "cli/options/option_lines.hpp"
#include "cli/options/option_rows.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "cli/format/job_fields.hpp"
#include "common/names/job_states.hpp"

namespace sluice::cli {
namespace {

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

constexpr TableCommand kCommand = {
    .name = "squeue",
    .sort_variable = "SQUEUE_SORT",
    .usage = kUsageText,
    .help = kHelpText,
    .print_fields = [] { print_fields(job_fields()); },
    .state_names = job_state_names,
    .before_seconds = "--iterate=",
    .after_seconds = "\n",
};

int fail(const std::string& text) { return kCommand.fail(text); }

// A filter whose list is empty, as that of a script's variable that was never set, passes nothing.
std::vector<std::string> listed(char filter, const std::string& text, SqueueOptions& o) {
  std::vector<std::string> out = split_list(text);
  if (out.empty()) o.empty_filters.insert(filter);
  else o.empty_filters.erase(filter);
  return out;
}

std::optional<int> take_states(const std::string& list, SqueueOptions& o) {
  o.states_given = list;
  o.request.states.clear();
  o.request.flag_states = 0;
  o.request.all_states = iequals(list, "all");
  o.empty_filters.erase('t');
  if (o.request.all_states) return std::nullopt;
  for (const std::string& name : listed('t', list, o)) {
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

void take_accounts(const std::string& list, SqueueOptions& o) {
  o.request.accounts = listed('A', to_lower(list), o);
}

void take_users(const std::string& list, SqueueOptions& o) {
  o.users_given = list;
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

// Whoever names a partition sees it, unless --hide follows.
void take_partitions(const std::string& list, SqueueOptions& o) {
  o.request.partitions = listed('p', list, o);
  o.request.hidden_partitions = true;
}

void take_me(SqueueOptions& o) {
  o.users_given = std::to_string(getuid());
  o.request.uids = {getuid()};
  o.nobody = false;
}

// Takes the number at the front off; false when there is none.
bool take_number(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

// The same for what is behind the bar of 12_3, 12_[1-4,7%2] or 12_*.
bool take_tasks(std::string_view& text) {
  if (!text.starts_with('[') && !text.starts_with('*')) return take_number(text);
  const size_t end = text[0] == '*' ? 1 : std::min(text.find(']'), text.size() - 1) + 1;
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end);
  return taken == "*" ||
         (taken.size() > 2 && taken.ends_with(']') &&
          taken.substr(1, end - 2).find_first_not_of("0123456789,:%-") == std::string_view::npos);
}

// "12", "12_3", "12+1"; a step of it, as in "12.0", and what stands behind a blank are passed over
// as in Slurm.
std::optional<NamedJob> read_job_id(std::string_view text) {
  const std::string_view all = text;
  if (!take_number(text) ||
      to_number<JobId>(all.substr(0, all.size() - text.size())).value_or(1) == 0)
    return std::nullopt;
  const bool tasks = text.starts_with('_');
  if (tasks) text.remove_prefix(1);
  if (tasks && !take_tasks(text)) return std::nullopt;
  NamedJob out{std::string(all.substr(0, all.size() - text.size())), std::nullopt};
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    const std::string_view offset = text;
    if (!take_number(text)) return std::nullopt;
    out.component = to_number<uint32_t>(offset.substr(0, offset.size() - text.size()));
  }
  const bool over = text.empty() || text[0] == '.' || text[0] == ' ';
  return over ? std::optional(out) : std::nullopt;
}

std::optional<int> take_jobs(const char* list, SqueueOptions& o) {
  o.request.ids.clear();
  o.jobs.clear();
  o.by_jobs = true;
  o.empty_filters.erase('j');
  if (list == nullptr) return std::nullopt;
  o.jobs_given = list;
  std::string text = list;
  // commas within brackets do not separate
  std::string piece;
  int depth = 0;
  text += ',';
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || depth > 0) {
      if (c != ' ' || !piece.empty()) piece += c;
      continue;
    }
    if (piece.empty()) continue;
    const auto job = read_job_id(piece);
    if (!job) return fail("Invalid job id: " + piece);
    o.request.ids.push_back(job->id);
    o.jobs.push_back(*job);
    piece.clear();
  }
  // a bracket that is not closed
  if (!piece.empty()) return fail(std::string("Invalid job id: ") + list);
  if (o.request.ids.empty()) o.empty_filters.insert('j');
  return std::nullopt;
}

std::optional<int> take_steps(const char* list, SqueueOptions& o) {
  o.step_mode = true;
  o.steps.clear();
  o.empty_filters.erase('s');
  if (list == nullptr) return std::nullopt;
  o.steps_given = list;
  for (const std::string& name : listed('s', list, o)) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return fail("Invalid job_step id: " + name + ".??");
    o.steps.push_back(name);
    o.request.ids.push_back(name.substr(0, dot));
  }
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
  if (const auto v = environment("SQUEUE_ACCOUNT")) take_accounts(*v, o);
  if (const auto v = environment("SQUEUE_PARTITION")) take_partitions(*v, o);
  if (const auto v = environment("SQUEUE_QOS")) o.request.qos = listed('q', *v, o);
  if (const auto v = environment("SQUEUE_NAMES")) o.request.names = listed('n', *v, o);
  if (const auto v = environment("SQUEUE_LICENSES")) o.request.licenses = listed('L', *v, o);
  if (const auto v = environment("SQUEUE_USERS")) take_users(*v, o);
  if (const auto status = read_table_environment(kCommand, o)) return status;
  if (const auto v = environment("SQUEUE_STATES")) return take_states(*v, o);
  return std::nullopt;
}

using O = SqueueOptions;
using V = const char*;
constexpr OptionRow<O> kOwnRows[] = {
    {"", 'U', Takes::kValue, [](O& o, V v) { return take_accounts(v, o), kGoOn; }},
    {"account", 'A', Takes::kValue, [](O& o, V v) { return take_accounts(v, o), kGoOn; }},
    {"accounts", 'A', Takes::kValue, nullptr},
    {"all", 'a', Takes::kNothing,
     [](O& o, V) { return o.request.hidden_partitions = true, kGoOn; }},
    {"array", 'r', Takes::kNothing, [](O& o, V) { return o.one_row_a_task = true, kGoOn; }},
    {"array-unique", 0, Takes::kNothing, no_effect<O>},
    {"expand-patterns", 0, Takes::kNothing, no_effect<O>},
    {"hide", 0, Takes::kNothing,
     [](O& o, V) { return o.request.hidden_partitions = false, kGoOn; }},
    {"jobs", 'j', Takes::kPerhapsWord, [](O& o, V v) { return take_jobs(v, o); }},
    {"licenses", 'L', Takes::kValue,
     [](O& o, V v) { return o.request.licenses = listed('L', v, o), kGoOn; }},
    {"me", 0, Takes::kNothing, [](O& o, V) { return take_me(o), kGoOn; }},
    {"name", 'n', Takes::kValue,
     [](O& o, V v) { return o.request.names = listed('n', v, o), kGoOn; }},
    {"node", 'w', Takes::kValue,
     [](O& o, V v) { return o.node_list = v, listed('w', v, o), kGoOn; }},
    {"nodelist", 'w', Takes::kValue, nullptr},
    {"nodes", 'w', Takes::kValue, nullptr},
    {"notme", 0, Takes::kNothing, [](O& o, V) { return o.not_user = getuid(), kGoOn; }},
    {"only-job-state", 0, Takes::kNothing, [](O& o, V) { return o.only_state = true, kGoOn; }},
    {"partition", 'p', Takes::kValue, [](O& o, V v) { return take_partitions(v, o), kGoOn; }},
    {"partitions", 'p', Takes::kValue, nullptr},
    {"priority", 'P', Takes::kNothing, [](O& o, V) { return o.one_row_a_partition = true, kGoOn; }},
    {"qos", 'q', Takes::kValue, [](O& o, V v) { return o.request.qos = listed('q', v, o), kGoOn; }},
    {"reservation", 'R', Takes::kValue,
     [](O& o, V v) { return o.request.reservations = listed('R', v, o), kGoOn; }},
    {"running-over", 0, Takes::kValue, [](O& o, V v) { return take_span(v, o.running_over); }},
    {"running-under", 0, Takes::kValue, [](O& o, V v) { return take_span(v, o.running_under); }},
    {"sib", 0, Takes::kNothing, no_effect<O>},
    {"sibling", 0, Takes::kNothing, no_effect<O>},
    {"start", 0, Takes::kNothing, [](O& o, V) { return o.start = true, kGoOn; }},
    {"states", 't', Takes::kValue, [](O& o, V v) { return take_states(v, o); }},
    {"steps", 's', Takes::kPerhapsWord, [](O& o, V v) { return take_steps(v, o); }},
    {"user", 'u', Takes::kValue, [](O& o, V v) { return take_users(v, o), kGoOn; }},
    {"users", 'u', Takes::kValue, nullptr},
};
constexpr auto kOptions = with_table_rows(kOwnRows);

}  // namespace

std::string squeue_options_text(const SqueueOptions& o) {
  const protocol::QueryJobsRequest& q = o.request;
  OptionLines lines;
  lines.rule();
  lines.flag("all", q.hidden_partitions);
  lines.flag("array", o.one_row_a_task);
  lines.flag("federation", false);
  lines.text("format", o.names ? *o.names : o.letters.value_or(""));
  lines.number("iterate", o.iterate_seconds);
  lines.number("job_flag", o.by_jobs);
  lines.text("jobs", o.jobs_given);
  lines.text("licenses", join(q.licenses, ","));
  lines.flag("local", false);
  lines.text("names", join(q.names, ","));
  lines.text("nodes", o.node_list, "");
  lines.text("partitions", join(q.partitions, ","));
  lines.flag("priority", o.one_row_a_partition);
  lines.text("reservation", join(q.reservations, ","));
  lines.flag("sibling      ", false);  // one blank more, as there
  lines.text("sort", o.sort.value_or(""));
  lines.number("start_flag", o.start);
  lines.text("states", o.states_given);
  lines.number("step_flag", o.step_mode);
  lines.text("steps", o.steps_given);
  lines.text("users", o.users_given);
  lines.number("verbose", o.verbose);
  for (size_t i = 0; o.verbose > 1 && i < q.states.size(); ++i) {
    lines.raw(fmt::format("state_list[{}] = {}\n", i, job_state_text(q.states[i])));
  }
  for (size_t i = 0; o.verbose > 1 && i < q.uids.size(); ++i)
    lines.raw(fmt::format("user_list[{}] = {}\n", i, q.uids[i]));
  lines.rule();
  lines.raw("\n\n");
  return lines.out();
}

const TableCommand& SqueueOptions::command() { return kCommand; }

std::optional<int> parse_squeue_options(int argc, char** argv, SqueueOptions& o) {
  o.command_line.assign(argv, argv + argc);
  if (const auto status = from_environment(o)) return status;
  if (const auto status = read_option_rows<O>(kCommand.name, kOptions, argc, argv, o))
    return status;
  if (optind < argc) {
    fail(std::string("Unrecognized option: ") + argv[optind]);
    std::fputs(kUsageText, stdout);
    return 1;
  }
  if (o.letters && o.names) return fail("-O (--Format) is incompatible with -o (--format)"), 1;
  if (long_beside_format(kCommand, o)) return 1;
  if (o.form && o.states_given.empty()) o.request.all_states = true;
  if (!o.letters && !o.names && !o.long_form) {
    o.letters = environment("SQUEUE_FORMAT");
    if (!o.letters) o.names = environment("SQUEUE_FORMAT2");
  }
  return std::nullopt;
}

}  // namespace sluice::cli
