#include "cli/shared/cancel_options.hpp"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <getopt.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/shared/option_parser.hpp"
#include "cli/shared/version.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/tables/submit_values.hpp"

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

enum Long : int {
  kHelpOption = 1000,
  kUsageOption,
  kMe,
  kCtld,
  kSibling,
  kWckey,
  kIgnoredFlag,
  kIgnoredValue
};
constexpr option kLongs[] = {{"account", required_argument, nullptr, 'A'},
                             {"admin-comment", required_argument, nullptr, kIgnoredValue},
                             {"autocomplete", required_argument, nullptr, kIgnoredValue},
                             {"batch", no_argument, nullptr, 'b'},
                             {"cluster", required_argument, nullptr, 'M'},
                             {"clusters", required_argument, nullptr, 'M'},
                             {"cron", no_argument, nullptr, 'c'},
                             {"ctld", no_argument, nullptr, kCtld},
                             {"full", no_argument, nullptr, 'f'},
                             {"help", no_argument, nullptr, kHelpOption},
                             {"hurry", no_argument, nullptr, 'H'},
                             {"interactive", no_argument, nullptr, 'i'},
                             {"jobname", required_argument, nullptr, 'n'},
                             {"me", no_argument, nullptr, kMe},
                             {"name", required_argument, nullptr, 'n'},
                             {"nodelist", required_argument, nullptr, 'w'},
                             {"partition", required_argument, nullptr, 'p'},
                             {"qos", required_argument, nullptr, 'q'},
                             {"quiet", no_argument, nullptr, 'Q'},
                             {"reservation", required_argument, nullptr, 'R'},
                             {"sibling", required_argument, nullptr, kSibling},
                             {"signal", required_argument, nullptr, 's'},
                             {"state", required_argument, nullptr, 't'},
                             {"usage", no_argument, nullptr, kUsageOption},
                             {"user", required_argument, nullptr, 'u'},
                             {"verbose", no_argument, nullptr, 'v'},
                             {"version", no_argument, nullptr, 'V'},
                             {"wckey", required_argument, nullptr, kWckey},
                             {nullptr, 0, nullptr, 0}};

bool set_state(CancelRequest& out, const char* text) {
  constexpr std::pair<std::string_view, JobState> kStates[] = {
      {"PENDING", JobState::kPending},     {"PD", JobState::kPending},
      {"RUNNING", JobState::kRunning},     {"R", JobState::kRunning},
      {"SUSPENDED", JobState::kSuspended}, {"S", JobState::kSuspended}};
  for (const auto& [name, state] : kStates) {
    if (!iequals(name, text)) continue;
    out.state = state;
    return true;
  }
  std::fprintf(stderr,
               "Invalid job state specified: %s\n"
               "Valid job states are PENDING, RUNNING, and SUSPENDED\n",
               text);
  return false;
}

bool set_signal(CancelRequest& out, const char* text) {
  const auto signal = parse_signal(text);
  if (!signal) {
    std::fprintf(stderr, "Unknown job signal: %s\n", text);
    return false;
  }
  out.signal = *signal;
  out.signal_given = true;
  return true;
}

bool set_user(CancelRequest& out, const std::string& name) {
  out.user = name;
  if (const auto number = to_number<uint32_t>(name)) {
    out.uid = *number;
  } else if (const passwd* user = getpwnam(name.c_str())) {
    out.uid = user->pw_uid;
  } else {
    print_error("scancel", "Invalid user name: " + name);
    return false;
  }
  return true;
}

// False when the value is not one (said already).
bool set_option(CancelRequest& out, int option, const char* value) {
  switch (option) {
    case 'A':
      out.account = value;
      return true;
    case 'b':
      out.batch = true;
      return true;
    case 'f':
      out.full = true;
      return true;
    case 'H':
      out.hurry = true;
      return true;
    case 'i':
      out.interactive = true;
      return true;
    case 'n':
      out.name = value;
      return true;
    case 'p':
      out.partition = value;
      return true;
    case 'q':
      out.qos = value;
      return true;
    case 'Q':
      out.quiet = true;
      return true;
    case 'R':
      out.reservation = value;
      return true;
    case 's':
      return set_signal(out, value);
    case 't':
      return set_state(out, value);
    case 'u':
      return set_user(out, value);
    case 'v':
      ++out.verbose;
      return true;
    case 'w':
      out.nodes = value;
      return true;
    case kMe:
      return set_user(out, std::to_string(getuid()));
    case kWckey:
      out.wckey = value;
      return true;
    case kSibling:
      print_error("scancel", "Not a valid federated job");
      return false;
    default:
      return true;  // no effect here
  }
}

bool read_environment(CancelRequest& out) {
  struct Variable {
    const char* name;
    int option;
    bool flag;
  };
  constexpr Variable kVariables[] = {
      {"SCANCEL_ACCOUNT", 'A', false},    {"SCANCEL_BATCH", 'b', true},
      {"SCANCEL_FULL", 'f', true},        {"SCANCEL_HURRY", 'H', true},
      {"SCANCEL_INTERACTIVE", 'i', true}, {"SCANCEL_NAME", 'n', false},
      {"SCANCEL_PARTITION", 'p', false},  {"SCANCEL_QOS", 'q', false},
      {"SCANCEL_STATE", 't', false},      {"SCANCEL_USER", 'u', false},
      {"SCANCEL_VERBOSE", 'v', true},     {"SCANCEL_WCKEY", kWckey, false}};
  for (const Variable& variable : kVariables) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr || (variable.flag && !flag_is_on(value))) continue;
    if (!set_option(out, variable.option, value)) return false;
  }
  return true;
}

}  // namespace

bool names_step(const std::string& target) {
  return target.find('.') != std::string::npos;
}

bool is_cancel_target(const std::string& text) {
  std::string job = text;
  if (const size_t dot = text.find('.'); dot != std::string::npos) {
    if (!to_number<uint32_t>(text.substr(dot + 1))) return false;
    job = text.substr(0, dot);
  }
  if (const size_t mark = job.find_first_of("_+"); mark != std::string::npos) {
    const std::string tasks = job.substr(mark + 1);
    if (job[mark] == '+') {
      if (!to_number<uint32_t>(tasks)) return false;
    } else if (tasks != "*") {
      const bool bracketed = tasks.starts_with('[');
      if (bracketed != tasks.ends_with(']')) return false;
      const auto set = IndexSet::parse(bracketed ? tasks.substr(1, tasks.size() - 2) : tasks);
      if (!set || set->empty()) return false;
    }
    job = job.substr(0, mark);
  }
  const auto number = to_number<uint32_t>(job);
  return number && *number != 0;
}

std::string filters_text(const CancelRequest& request) {
  std::string out;
  const auto add = [&out](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("{}={} ", name, value);
  };
  add("account", request.account);
  add("job_name", request.name);
  add("nodelist", request.nodes);
  add("partition", request.partition);
  add("qos", request.qos);
  add("reservation", request.reservation);
  if (request.state) {
    add("state", *request.state == JobState::kPending   ? "PENDING"
                 : *request.state == JobState::kRunning ? "RUNNING"
                                                        : "SUSPENDED");
  }
  add("user_name", request.user);
  add("wckey", request.wckey);
  return out;
}

std::optional<int> read_cancel_request(int argc, char** argv, CancelRequest& out) {
  std::string name = "scancel";  // getopt's messages begin with it
  std::vector<char*> words(argv, argv + argc);
  words[0] = name.data();
  words.push_back(nullptr);
  if (!read_environment(out)) return 1;
  optind = 0;
  for (int found; (found = getopt_long(argc, words.data(), "A:bcfHiM:n:p:Qq:R:s:t:u:vVw:", kLongs,
                                       nullptr)) != -1;) {
    switch (found) {
      case '?':
        std::fputs("Try \"scancel --help\" for more information\n", stderr);
        return 1;
      case 'V':
        return print_slurm_version();
      case kHelpOption:
        std::fputs(kHelp, stdout);
        return 0;
      case kUsageOption:
        std::fputs(kUsage, stdout);
        return 0;
      default:
        if (!set_option(out, found, optarg)) return 1;
    }
  }
  for (int i = optind; i < argc; ++i) {
    out.targets.emplace_back(words[static_cast<size_t>(i)]);
    if (is_cancel_target(out.targets.back())) continue;
    print_error("scancel", "Invalid job id " + out.targets.back());
    return 1;
  }
  if (out.targets.empty() && !out.has_filter()) {
    print_error("scancel", "No job identification provided");
    return 1;
  }
  return std::nullopt;
}

}  // namespace sluice::cli
