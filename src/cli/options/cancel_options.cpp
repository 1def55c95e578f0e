#include "cli/options/cancel_options.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/format/environment.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/version.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/names/job_states.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kUsage =
    "Usage: scancel [-A account] [--batch] [--full] [--interactive] [-n job_name]\n"
    "               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]\n"
    "               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]\n"
    "               [--hurry] [-V] [-v] [-w hosts...] [--wckey=wckey]\n"
    "               [job_id[_array_id][.step_id]]\n";
constexpr const char* kHelp =
    "Usage: scancel [OPTIONS] [job_id[_array_id][.step_id]]\n"
    "  -A, --account=account           only jobs that this account pays for\n"
    "  -b, --batch                     signal the batch script alone\n"
    "  -c, --cron                      a job of scrontab, too, whose line is taken out of use\n"
    "  -f, --full                      signal the batch script and all steps\n"
    "  -H, --hurry                     skip the stage-out of burst buffers\n"
    "  -i, --interactive               ask before each job\n"
    "  -M, --clusters                  clusters to send the request to\n"
    "      --me                        only one's own jobs\n"
    "  -n, --name=job_name             only jobs of this name\n"
    "  -p, --partition=partition       only jobs in this partition\n"
    "  -Q, --quiet                     do not say what could not be done\n"
    "  -q, --qos=qos                   only jobs of this quality of service\n"
    "  -R, --reservation=reservation   only jobs in this reservation\n"
    "      --sibling=cluster_name      a federated job's sibling to remove\n"
    "  -s, --signal=name | integer     signal to send instead of ending the job\n"
    "  -t, --state=states              only jobs that are PENDING, RUNNING or SUSPENDED\n"
    "  -u, --user=user_name            only jobs of this user\n"
    "  -V, --version                   show the version\n"
    "  -v, --verbose                   say what is done\n"
    "  -w, --nodelist                  only jobs on these nodes\n"
    "      --wckey=wckey               only jobs with this workload key\n"
    "\nHelp options:\n"
    "  --help                          show this help message\n"
    "  --usage                         show a short list of the options\n";

// Any state; jobs that are over, or in a state that only a flag shows, are nothing to cancel.
std::optional<int> set_state(CancelRequest& out, const char* text) {
  const auto named = parse_job_state(text);
  if (!named) {
    std::fprintf(stderr,
                 "Invalid job state specified: %s\n"
                 "Valid job states are PENDING, RUNNING, and SUSPENDED\n",
                 text);
    return 1;
  }
  out.state = named->state;
  out.flag_state = named->state ? 0 : named->flag;
  return kGoOn;
}

std::optional<int> set_signal(CancelRequest& out, const char* text) {
  const auto signal = parse_signal(text);
  if (!signal || *signal == 0) {
    std::fprintf(stderr, "Unknown job signal: %s\n", text);
    return 1;
  }
  out.signal = *signal;
  out.signal_given = true;
  return kGoOn;
}

// A number that no user of this host has is refused as an unknown name is.
std::optional<int> set_user(CancelRequest& out, const std::string& name) {
  out.user = name;
  out.uid = user_id(name);
  if (out.uid) return kGoOn;
  print_error("scancel", "Invalid user name: " + name);
  return 1;
}

std::optional<int> set_own_user(CancelRequest& out) {
  out.uid = getuid();
  out.user = std::to_string(getuid());
  return kGoOn;
}

std::optional<int> refuse_sibling() {
  print_error("scancel", "Not a valid federated job");
  return 1;
}

using O = CancelRequest;
using V = const char*;
constexpr OptionRow<O> kOptions[] = {
    {"account", 'A', Takes::kValue, [](O& o, V v) { return o.account = to_lower(v), kGoOn; }},
    {"admin-comment", 0, Takes::kValue, no_effect<O>},
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"batch", 'b', Takes::kNothing, [](O& o, V) { return o.batch = true, kGoOn; }},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.clusters = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"cron", 'c', Takes::kNothing, [](O& o, V) { return o.cron = true, kGoOn; }},
    {"ctld", 0, Takes::kNothing, no_effect<O>},
    {"full", 'f', Takes::kNothing, [](O& o, V) { return o.full = true, kGoOn; }},
    {"help", 0, Takes::kNothing, [](O&, V) { return print_and_end(kHelp); }},
    {"hurry", 'H', Takes::kNothing, [](O& o, V) { return o.hurry = true, kGoOn; }},
    {"interactive", 'i', Takes::kNothing, [](O& o, V) { return o.interactive = true, kGoOn; }},
    {"jobname", 'n', Takes::kValue, [](O& o, V v) { return o.name = v, kGoOn; }},
    {"me", 0, Takes::kNothing, [](O& o, V) { return set_own_user(o); }},
    {"name", 'n', Takes::kValue, nullptr},
    {"nodelist", 'w', Takes::kValue, [](O& o, V v) { return o.nodes = v, kGoOn; }},
    {"partition", 'p', Takes::kValue, [](O& o, V v) { return o.partition = v, kGoOn; }},
    {"qos", 'q', Takes::kValue, [](O& o, V v) { return o.qos = v, kGoOn; }},
    {"quiet", 'Q', Takes::kNothing, [](O& o, V) { return o.verbose = -1, kGoOn; }},
    {"reservation", 'R', Takes::kValue, [](O& o, V v) { return o.reservation = v, kGoOn; }},
    {"sibling", 0, Takes::kValue, [](O&, V) { return refuse_sibling(); }},
    {"signal", 's', Takes::kValue, [](O& o, V v) { return set_signal(o, v); }},
    {"state", 't', Takes::kValue, [](O& o, V v) { return set_state(o, v); }},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(kUsage); }},
    {"user", 'u', Takes::kValue, [](O& o, V v) { return set_user(o, v); }},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
    {"wckey", 0, Takes::kValue, [](O& o, V v) { return o.wckey = v, kGoOn; }},
};

std::optional<int> read_environment(CancelRequest& out) {
  struct Variable {
    const char* name;
    const char* option;
    bool flag;
  };
  constexpr Variable kVariables[] = {
      {"SCANCEL_ACCOUNT", "account", false}, {"SCANCEL_BATCH", "batch", true},
      {"SCANCEL_CRON", "cron", true},        {"SCANCEL_FULL", "full", true},
      {"SCANCEL_HURRY", "hurry", true},      {"SCANCEL_INTERACTIVE", "interactive", true},
      {"SCANCEL_NAME", "name", false},       {"SCANCEL_PARTITION", "partition", false},
      {"SCANCEL_QOS", "qos", false},         {"SCANCEL_STATE", "state", false},
      {"SCANCEL_USER", "user", false},       {"SCANCEL_VERBOSE", "verbose", true},
      {"SCANCEL_WCKEY", "wckey", false},     {"SLURM_CLUSTERS", "clusters", false}};
  for (const Variable& variable : kVariables) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr || (variable.flag && !flag_is_on(value))) continue;
    if (const auto status = take_named<O>(kOptions, variable.option, out, value)) return status;
  }
  return kGoOn;
}

}  // namespace

bool names_step(const std::string& target) { return target.find('.') != std::string::npos; }

bool is_cancel_target(const std::string& text) {
  std::string job = text;
  if (const size_t dot = text.find('.'); dot != std::string::npos) {
    if (!to_number<uint32_t>(text.substr(dot + 1))) return false;  // no names, as in Slurm
    job = text.substr(0, dot);
  }
  if (const size_t mark = job.find_first_of("_+"); mark != std::string::npos) {
    const std::string tasks = job.substr(mark + 1);
    if (job[mark] == '+') {
      if (!to_number<uint32_t>(tasks)) return false;
    } else if (tasks != "*") {
      const auto set = IndexSet::parse_tasks(tasks);
      if (!set || set->empty()) return false;
    }
    job = job.substr(0, mark);
  }
  const auto number = to_number<uint32_t>(job);
  return number && *number != 0;
}

namespace {

// Slurm passes over blanks before a target, and takes none behind one.
bool has_blank_behind(std::string_view word) {
  char before = ',';
  for (const char c : word) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && before != ',') return true;
    if (!blank) before = c;
  }
  return false;
}

}  // namespace

std::string filters_text(const CancelRequest& request) {
  std::string out;
  const auto add = [&out](std::string_view name, const std::optional<std::string>& value) {
    if (value) out += fmt::format("{}={} ", name, *value);
  };
  add("account", request.account);
  add("job_name", request.name);
  add("nodelist", request.nodes);
  add("partition", request.partition);
  add("qos", request.qos);
  add("reservation", request.reservation);
  if (request.state) add("state", std::string(job_state_text(*request.state)));
  else if (request.flag_state != 0)
    add("state", std::string(job_state_text(JobState::kRunning, request.flag_state)));
  if (!request.user.empty()) add("user_name", request.user);
  add("wckey", request.wckey);
  return out;
}

std::optional<int> read_cancel_request(int argc, char** argv, CancelRequest& out) {
  std::string name = "scancel";  // getopt's messages begin with it
  std::vector<char*> words(argv, argv + argc);
  words[0] = name.data();
  words.push_back(nullptr);
  if (const auto status = read_environment(out)) return status;
  if (const auto status = read_option_rows<O>("scancel", kOptions, argc, words.data(), out))
    return status;
  for (int i = optind; i < argc; ++i) {
    const std::string word = words[static_cast<size_t>(i)];
    const std::vector<std::string> targets = split_hosts(word);  // "12,13_[1,4]" is two
    if (targets.empty() || has_blank_behind(word) ||
        !std::ranges::all_of(targets, is_cancel_target)) {
      print_error("scancel", "Invalid job id " + word);
      return 1;
    }
    out.targets.insert(out.targets.end(), targets.begin(), targets.end());
  }
  if (out.targets.empty() && !out.has_filter()) {
    print_error("scancel", "No job identification provided");
    return 1;
  }
  return std::nullopt;
}

}  // namespace sluice::cli
