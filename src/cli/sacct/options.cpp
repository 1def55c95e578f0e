#include "cli/sacct/options.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include "cli/format/environment.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/sacct/job_words.hpp"
#include "cli/shared/version.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/names/job_states.hpp"

namespace sluice::cli {
namespace {

using O = SacctOptions;
using V = const char*;

constexpr const char* kUsage = "Usage: sacct [options]\n\tUse --help for help\n";
constexpr const char* kHelp =
    "sacct [<OPTION>]\n"
    "    What was run, of jobs and of their steps. Valid <OPTION> values are:\n"
    "     -A, --accounts=LIST       jobs of these accounts\n"
    "     -a, --allusers            jobs of all users; of others than root only what he may see\n"
    "         --array               a line for each task of an array that waits\n"
    "     -B, --batch-script        the script of the job that --jobs names\n"
    "     -b, --brief               JobID, State and ExitCode alone\n"
    "     -C, --constraints=LIST    jobs that asked for one of these\n"
    "     -c, --completion          the fields of a job's end\n"
    "     -D, --duplicates          each run of a job that was requeued, not the last one alone\n"
    "         --delimiter=TEXT      between the fields of -p and -P, in place of |\n"
    "     -E, --endtime=TIME        jobs that were there before this time\n"
    "     -e, --helpformat          the names of the fields that --format takes\n"
    "         --env-vars            the environment of the job that --jobs names\n"
    "         --expand-patterns     names of files with their %j, %x and so on filled in\n"
    "     -F, --flags=LIST          jobs with one of SchedMain, SchedBackfill, StartReceived\n"
    "     -g, --gid, --group=LIST   jobs of these groups\n"
    "     -h, --help                this text\n"
    "     -i, --nnodes=MIN[-MAX]    jobs on so many nodes\n"
    "     -I, --ncpus=MIN[-MAX]     jobs on so many CPUs\n"
    "     -j, --jobs=LIST           these jobs and steps: 12, 12.0, 12_3, 12+1\n"
    "         --json[=PARSER]       in JSON\n"
    "     -K, --timelimit-max=TIME  with -k: jobs with a limit up to this one\n"
    "     -k, --timelimit-min=TIME  jobs with this time limit\n"
    "     -L, --allclusters         jobs of all clusters\n"
    "     -l, --long                many fields\n"
    "     -M, --clusters=LIST       jobs of these clusters\n"
    "     -N, --nodelist=NODES      jobs that ran on one of these\n"
    "         --name=LIST           jobs of these names\n"
    "     -n, --noheader            no heading lines\n"
    "         --noconvert           sizes in their own unit\n"
    "     -o, --format=LIST         fields to show: name[%[-]width], separated by commas\n"
    "     -P, --parsable2           fields separated by |\n"
    "     -p, --parsable            the same with one at the end of a line\n"
    "     -q, --qos=LIST            jobs of these QOS\n"
    "     -R, --reason=LIST         jobs that waited for one of these reasons\n"
    "     -r, --partition=LIST      jobs of these partitions\n"
    "     -S, --starttime=TIME      jobs that were there after this time; by default midnight,\n"
    "                               with --state now, with --jobs 1970; -E then is now, but with\n"
    "                               --state and -S the same time\n"
    "     -s, --state=LIST          jobs that were in one of these states then\n"
    "     -T, --truncate            times are cut to those of -S and -E\n"
    "     -U, --usage               how to call it, in brief\n"
    "     -u, --uid, --user=LIST    jobs of these users\n"
    "         --units=[KMGTP]       sizes in this unit\n"
    "     -V, --version             print the version and end\n"
    "     -v, --verbose             say more\n"
    "     -W, --wckeys=LIST         jobs of these wckeys\n"
    "     -X, --allocations         jobs without their steps\n"
    "     -x, --associations=LIST   jobs of the associations with these numbers\n"
    "         --yaml[=PARSER]       in YAML\n";

int fail(const std::string& text) {
  std::fprintf(stderr, "sacct: error: %s\n", text.c_str());
  return 1;
}
int fail_hard(const std::string& text) {
  std::fprintf(stderr, "sacct: fatal: %s\n", text.c_str());
  return 1;
}

std::optional<int> print_fields() {
  constexpr size_t kInLine = 4;
  const auto fields = sacct_fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool last = i % kInLine == kInLine - 1 || i + 1 == fields.size();
    std::printf("%-19s%s", std::string(fields[i].name).c_str(), last ? "\n" : " ");
  }
  return 0;
}

std::optional<int> print_states() {
  for (const std::string& name : split_list(job_state_names())) std::printf("%s\n", name.c_str());
  return 0;
}

std::optional<int> print_reasons() {
  for (uint32_t i = 0; i <= UINT8_MAX; ++i) {
    const std::string_view text = reason_text(static_cast<JobReason>(i));
    if (!text.empty()) std::printf("%.*s\n", static_cast<int>(text.size()), text.data());
  }
  return 0;
}

template <std::vector<std::string> protocol::QueryHistoryRequest::*List>
std::optional<int> add_list(O& o, V value) {
  for (std::string& one : split_list(value)) (o.request.*List).push_back(std::move(one));
  return kGoOn;
}

template <bool O::*Flag, bool kValue = true>
std::optional<int> set_flag(O& o, V) {
  o.*Flag = kValue;
  return kGoOn;
}

std::optional<int> add_users(O& o, V value) {
  if (*value == '\0') return fail("Invalid user id: ");  // never the jobs of everybody
  for (const std::string& name : split_list(value)) {
    const auto uid = user_id(name);
    if (!uid) return fail(fmt::format("Invalid user id: {}", name));
    o.request.uids.push_back(*uid);
  }
  return kGoOn;
}

std::optional<int> add_groups(O& o, V value) {
  for (const std::string& name : split_list(value)) {
    const auto number = to_number<uint32_t>(name);
    const group* found = getgrnam(name.c_str());
    if (found == nullptr && (!number || getgrgid(*number) == nullptr))
      return fail(fmt::format("Invalid group id: {}", name));
    o.request.gids.push_back(found != nullptr ? found->gr_gid : *number);
  }
  return kGoOn;
}

std::optional<int> add_states(O& o, V value) {
  for (const std::string& name : split_list(value)) {
    o.states_given = true;
    const auto state = parse_job_state(name);
    if (!state) return fail_hard(fmt::format("unrecognized job state value '{}'", name));
    if (state->state) o.request.states.push_back(*state->state);
    else o.request.flags |= state->flag;
  }
  return kGoOn;
}

// SchedMain, SchedBackfill, StartReceived: as the field Flags says.
std::optional<int> add_flags(O& o, V value) {
  for (const std::string& name : split_list(value)) {
    if (iequals(name, "SchedSubmit"))
      return fail("--flags=SchedSubmit is not supported: no job starts as it is submitted");
    const auto known = {"SchedMain", "SchedBackfill", "StartReceived"};
    const auto* found = std::ranges::find_if(known, [&](V one) { return iequals(one, name); });
    if (found == known.end())
      return fail(fmt::format("str_2_job_flags: Invalid job flag {}", name));
    o.job_flags.emplace_back(*found);
  }
  return kGoOn;
}

template <protocol::HistoryRange protocol::QueryHistoryRequest::*Range, char kWhat>
std::optional<int> set_range(O& o, V value) {
  const std::string_view text = value;
  const size_t dash = text.find('-');
  const auto least = parse_count(text.substr(0, dash));
  const auto most = dash == text.npos ? least : parse_count(text.substr(dash + 1));
  if (!least || !most)
    return fail(fmt::format("Invalid numeric value \"{}\" for requested {} range.", text,
                            kWhat == 'n' ? "node" : "cpu"));
  o.request.*Range = {*least, *most};
  return kGoOn;
}

std::optional<int> add_reasons(O& o, V value) {
  for (const std::string& name : split_list(value)) {
    if (!parse_reason(name))
      return fail_hard(fmt::format("unrecognized job reason value '{}'", name));
    o.request.reasons.push_back(name);
  }
  return kGoOn;
}

template <uint32_t protocol::HistoryRange::*Bound>
std::optional<int> set_limit(O& o, V value) {
  const auto minutes = parse_minutes(value);
  if (!minutes) return fail_hard("Invalid time limit specification");
  o.request.time_limit.*Bound = *minutes;
  return kGoOn;
}

std::optional<int> set_unit(O& o, V value) {
  const std::string_view text = value;
  if (text.size() != 1 || std::string_view("KMGTP").find(text) == std::string_view::npos) {
    fail(fmt::format("Invalid unit type '{}'. Possible options are 'KMGTP'", text));
    return fail_hard("Invalid unit type");
  }
  o.unit = text.front();
  return kGoOn;
}

template <const std::string_view& kFormat>
std::optional<int> use_format(O& o, V) {
  o.format = kFormat;
  return kGoOn;
}

template <StructuredForm kForm>
std::optional<int> use_form(O& o, V value) {
  return choose_structured("sacct", kForm, value, o.form);
}

template <std::string O::*Text>
std::optional<int> add_text(O& o, V value) {
  if (!(o.*Text).empty()) (o.*Text) += ',';
  (o.*Text) += value;
  return kGoOn;
}
template <std::string O::*Text>
std::optional<int> set_text(O& o, V value) {
  o.*Text = value;
  return kGoOn;
}

std::optional<int> set_whole_het_job(O& o, V value) {
  const std::string_view text = value != nullptr ? value : "yes";
  if (!iequals(text, "yes") && !iequals(text, "no"))
    return fail(fmt::format("Invalid --whole-hetjob value \"{}\". Valid values: [yes|no].", text));
  o.whole_het_job = iequals(text, "yes");
  return kGoOn;
}

std::optional<int> refuse_file(O&, V) {
  return fail("--file is not supported: the accounting daemon has what was run");
}
std::optional<int> add_associations(O& o, V value) {
  for (const std::string& one : split_list(value)) {
    const auto number = to_number<AssociationId>(one);
    if (!number || *number == 0) return fail(fmt::format("Invalid association id: {}", one));
    o.associations.push_back(*number);
  }
  return kGoOn;
}

using R = protocol::QueryHistoryRequest;
constexpr OptionRow<O> kRows[] = {
    {"accounts", 'A', Takes::kValue, add_list<&R::accounts>},
    {"allusers", 'a', Takes::kNothing, set_flag<&O::all_users>},
    {"array", 0, Takes::kNothing, set_flag<&O::expand_arrays>},
    {"associations", 'x', Takes::kValue, add_associations},
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"batch-script", 'B', Takes::kNothing, set_flag<&O::script>},
    {"brief", 'b', Takes::kNothing, use_format<kSacctBriefFormat>},
    {"constraints", 'C', Takes::kValue, add_list<&R::constraints>},
    {"completion", 'c', Takes::kNothing,
     [](O& o, V value) {
       o.completion = true;
       return use_format<kSacctCompletionFormat>(o, value);
     }},
    {"duplicates", 'D', Takes::kNothing,
     [](O& o, V) {
       o.request.duplicates = true;
       return kGoOn;
     }},
    {"delimiter", 0, Takes::kValue, set_text<&O::delimiter>},
    {"endtime", 'E', Takes::kValue, set_text<&O::end>},
    {"helpformat", 'e', Takes::kNothing, [](O&, V) { return print_fields(); }},
    {"help-fields", 'e', Takes::kNothing, nullptr},
    {"env-vars", 0, Takes::kNothing, set_flag<&O::variables>},
    {"expand-patterns", 0, Takes::kNothing, set_flag<&O::expand_patterns>},
    {"federation", 0, Takes::kNothing, no_effect<O>},
    {"file", 'f', Takes::kValue, refuse_file},
    {"flags", 'F', Takes::kValue, add_flags},
    {"gid", 'g', Takes::kValue, add_groups},
    {"group", 'g', Takes::kValue, nullptr},
    {"help", 'h', Takes::kNothing, [](O&, V) { return print_and_end(kHelp); }},
    {"helpstate", 0, Takes::kNothing, [](O&, V) { return print_states(); }},
    {"helpreason", 0, Takes::kNothing, [](O&, V) { return print_reasons(); }},
    {"nnodes", 'i', Takes::kValue, set_range<&R::node_count, 'n'>},
    {"ncpus", 'I', Takes::kValue, set_range<&R::cpus, 'c'>},
    {"jobs", 'j', Takes::kValue, add_text<&O::jobs>},
    {"json", 0, Takes::kPerhaps, use_form<StructuredForm::kJson>},
    {"timelimit-max", 'K', Takes::kValue, set_limit<&protocol::HistoryRange::most>},
    {"timelimit-min", 'k', Takes::kValue, set_limit<&protocol::HistoryRange::least>},
    {"allclusters", 'L', Takes::kNothing, set_flag<&O::all_clusters>},
    {"local", 0, Takes::kNothing, no_effect<O>},
    {"long", 'l', Takes::kNothing, use_format<kSacctLongFormat>},
    {"clusters", 'M', Takes::kValue, set_text<&O::clusters>},
    {"cluster", 'M', Takes::kValue, nullptr},
    {"nodelist", 'N', Takes::kValue,
     [](O& o, V value) {
       o.request.nodes = value;
       return kGoOn;
     }},
    {"name", 0, Takes::kValue, add_list<&R::names>},
    {"noheader", 'n', Takes::kNothing, set_flag<&O::header, false>},
    {"noconvert", 0, Takes::kNothing, set_flag<&O::convert, false>},
    {"format", 'o', Takes::kValue,
     [](O& o, V value) {
       if (o.format) o.format->append(",").append(value);
       else o.format = value;
       return kGoOn;
     }},
    {"fields", 'o', Takes::kValue, nullptr},
    {"parsable2", 'P', Takes::kNothing,
     [](O& o, V) {
       o.layout = SacctLayout::kParsable2;
       return kGoOn;
     }},
    {"parsable", 'p', Takes::kNothing,
     [](O& o, V) {
       o.layout = SacctLayout::kParsable;
       return kGoOn;
     }},
    {"qos", 'q', Takes::kValue, add_list<&R::qos>},
    {"reason", 'R', Takes::kValue, add_reasons},
    {"partition", 'r', Takes::kValue, add_list<&R::partitions>},
    {"starttime", 'S', Takes::kValue, set_text<&O::start>},
    {"state", 's', Takes::kValue, add_states},
    {"truncate", 'T', Takes::kNothing, set_flag<&O::truncate>},
    {"", 't', Takes::kNothing, no_effect<O>},
    {"usage", 'U', Takes::kNothing, [](O&, V) { return print_and_end(kUsage); }},
    {"uid", 'u', Takes::kValue, add_users},
    {"user", 'u', Takes::kValue, nullptr},
    {"units", 0, Takes::kValue, set_unit},
    {"use-local-uid", 0, Takes::kNothing, no_effect<O>},
    {"version", 'V', Takes::kNothing,
     [](O&, V) { return std::optional<int>(print_slurm_version()); }},
    {"verbose", 'v', Takes::kNothing,
     [](O& o, V) {
       ++o.verbose;
       return kGoOn;
     }},
    {"wckeys", 'W', Takes::kValue, add_list<&R::wckeys>},
    {"whole-hetjob", 0, Takes::kPerhaps, set_whole_het_job},
    {"allocations", 'X', Takes::kNothing, set_flag<&O::allocations>},
    {"yaml", 0, Takes::kPerhaps, use_form<StructuredForm::kYaml>},
};

// As the page of sacct says of its default time window.
std::optional<int> set_span(O& o) {
  const Time now = current_time();
  const auto time_of = [&](const std::string& text) {
    return parse_time(text, now, TimeBias::kPast);
  };
  const auto bad_time = [](const Error& error) {
    std::fprintf(stderr, "%s\n", error.text.c_str());
    return 1;
  };
  R& request = o.request;
  if (!o.start.empty()) {
    const auto start = time_of(o.start);
    if (!start) return bad_time(start.error());
    request.from = *start;
  } else if (o.jobs.empty()) {
    request.from = o.states_given ? now : time_of("00:00:00").value_or(now);
  }
  if (!o.end.empty()) {
    const auto end = time_of(o.end);
    if (!end) return bad_time(end.error());
    request.until = *end;
  } else if (o.states_given) {
    request.until = o.start.empty() ? now : request.from;
  } else if (o.jobs.empty()) {
    request.until = now;
  }
  // what people write are whole seconds: all of the last one counts
  constexpr Duration kRest = std::chrono::seconds(1) - Duration(1);
  if (request.until != kNever &&
      request.until.time_since_epoch() % std::chrono::seconds(1) == Duration(0))
    request.until += kRest;
  // a time to come may be asked for: what waits is there
  const Time until = request.until == kNever ? now : request.until;
  if (until < request.from) {
    return fail(fmt::format("Start time ({}) requested is after end time ({}).",
                            format_time(request.from), format_time(until)));
  }
  return kGoOn;
}

}  // namespace

std::optional<int> read_sacct_options(int argc, char** argv, SacctOptions& options) {
  options.command_line.assign(argv, argv + argc);
  if (const auto status =
          read_option_rows<O>("sacct", kRows, argc, argv, options, Reading::kNoHint))
    return status;
  if (optind < argc) {
    fail("Unknown arguments:");
    for (int i = optind; i < argc; ++i) fail(fmt::format(" {}", argv[i]));
    return 1;
  }
  if (const auto status = choose_structured("sacct", options.form)) return status;
  if (auto ok = add_job_names(options.jobs, options.request.jobs); !ok)
    return fail_hard(ok.error().text);
  if ((options.script || options.variables) && options.request.jobs.empty())
    return fail_hard(fmt::format(
        "When requesting job {} you must also request specific jobs with the '-j' option.",
        options.script ? "scripts" : "environment"));
  if (!options.format) options.format = environment("SACCT_FORMAT");
  const bool named = !options.request.jobs.empty() || !options.request.nodes.empty();
  const uint32_t uid = getuid();
  if (options.request.uids.empty() && !options.all_users && !named && uid != 0)
    options.request.uids.push_back(uid);
  options.request.steps = !options.allocations;
  // --timelimit-max says nothing by itself
  if (options.request.time_limit.least == 0) options.request.time_limit = {};
  return set_span(options);
}

}  // namespace sluice::cli
