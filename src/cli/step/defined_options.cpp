// What -v of sbatch, srun and salloc prints of their options, and -vv of what they do.
#include "cli/step/defined_options.hpp"

#include <cstdio>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <sys/resource.h>

#include "cli/step/allocation.hpp"
#include "cli/options/option_parser.hpp"
#include "cli/options/submit_env.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/syntax/file_pattern.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice::cli {
namespace {

using Shown = std::function<std::string(const Submission&, const std::string& given)>;

// As typed: without M, and with a larger unit where nothing is lost.
std::string memory_text(uint64_t mebibytes) {
  constexpr uint64_t kGibi = 1024, kTebi = kGibi * 1024;
  if (mebibytes != 0 && mebibytes % kTebi == 0) return fmt::format("{}T", mebibytes / kTebi);
  if (mebibytes != 0 && mebibytes % kGibi == 0) return fmt::format("{}G", mebibytes / kGibi);
  return std::to_string(mebibytes);
}

std::string sharing_text(Sharing sharing) {
  switch (sharing) {
    case Sharing::kExclusive: return "exclusive";
    case Sharing::kUser: return "user";
    case Sharing::kMcs: return "mcs";
    case Sharing::kTopo: return "topo";
    case Sharing::kOversubscribe: return "oversubscribe";
    default: return "unset";
  }
}

std::string path_text(const std::string& given) {
  return given == "none" ? "/dev/null" : absolute_path(given, working_folder());
}

std::string switches_text(const std::string& given) {
  const size_t at = given.find('@');
  if (at == std::string::npos) return given;
  const auto minutes = parse_minutes(given.substr(at + 1));
  return minutes ? given.substr(0, at + 1) + format_minutes(*minutes) : given;
}

std::string signal_text(const std::string& given) {
  const size_t colon = given.find(':'), at = given.find('@');
  const size_t first = colon == std::string::npos ? 0 : colon + 1;
  const auto number = parse_signal(given.substr(first, at == std::string::npos ? at : at - first));
  if (!number || signal_name(*number).empty()) return given;
  return fmt::format("{}{}{}", given.substr(0, first), signal_name(*number),
                     at == std::string::npos ? "" : given.substr(at));
}

// Options whose values are not shown as they were given.
const std::map<std::string_view, Shown>& shown_otherwise() {
  using S = const Submission&;
  using G = const std::string&;
  static const Shown requeue = [](S s, G) {
    return s.job.requeue == Toggle::kNo ? "no-requeue" : "requeue";
  };
  static const Shown memory = [](S s, G) { return memory_text(s.job.memory_mib); };
  static const Shown sharing = [](S s, G) { return sharing_text(s.job.sharing); };
  static const Shown bell = [](S s, G) {
    return s.settings.bell.value_or(false) ? "bell-always" : "bell-never";
  };
  static const std::map<std::string_view, Shown> rows = {
      {"bcast", [](S, G given) { return given.empty() ? "set" : given; }},
      {"begin", [](S s, G) { return format_time(s.job.begin); }},
      {"bell", bell},
      {"compress", [](S, G given) { return given.empty() ? "lz4" : given; }},
      {"deadline", [](S s, G) { return format_time(s.job.deadline); }},
      {"delay-boot", [](S s, G) { return format_minutes(s.job.delay_boot_seconds / 60); }},
      {"exclusive", sharing},
      {"get-user-env", [](S, G given) { return given.empty() ? "0" : given; }},
      {"gres", [](S, G given) { return "gres:" + given; }},
      {"immediate",
       [](S s, G) { return std::to_string(s.settings.immediate_seconds.value_or(1)); }},
      {"kill-command",
       [](S s, G) { return std::string(signal_name(s.settings.kill_signal.value_or(SIGTERM))); }},
      {"kill-on-bad-exit", [](S s, G) { return std::to_string(s.step.kill_on_bad_exit); }},
      {"mem", memory},
      {"mem-per-cpu", memory},
      {"mem-per-gpu", memory},
      {"nice", [](S, G given) { return given.empty() ? "100" : given; }},
      {"no-bell", bell},
      {"no-requeue", requeue},
      {"open-mode", [](S s, G) { return s.job.open_mode == OpenMode::kAppend ? "a" : "t"; }},
      {"oversubscribe", sharing},
      {"propagate", [](S s, G) { return s.settings.propagate.value_or("ALL"); }},
      {"requeue", requeue},
      {"signal", [](S, G given) { return signal_text(given); }},
      {"switches", [](S, G given) { return switches_text(given); }},
      {"time", [](S s, G) { return format_minutes(s.job.time_limit); }},
      {"time-min", [](S s, G) { return format_minutes(s.job.time_min); }},
      {"tmp", [](S s, G) { return memory_text(s.job.tmp_disk_mib); }},
      {"verbose", [](S s, G) { return std::to_string(s.settings.verbose); }},
  };
  return rows;
}

}  // namespace

std::string OptionParser::shown_value(const Row& row, const Given& given,
                                      const Submission& applied) const {
  const std::string_view name = row.option->name;
  const bool stream = name == "output" || name == "error" || name == "input";
  if (stream && command_ == kSbatch) return path_text(given.value);
  if (name == "input" && given.value == "none") return "/dev/null";
  if (const auto at = shown_otherwise().find(name); at != shown_otherwise().end())
    return at->second(applied, given.value);
  const bool has_value =
      given.has_value && row.option->argument_of(command_) != OptionArgument::kNone;
  return has_value ? given.value : "set";
}

void OptionParser::print_defined(const Submission& applied) const {
  const std::string name(submit_command_name(command_));
  tell_of_hint();
  const char* rule = "-------------------- --------------------";
  std::fprintf(stderr, "%s: defined options\n%s: %s\n", name.c_str(), name.c_str(), rule);
  for (const Row& row : rows_) {
    Source source;
    const Given* given = strongest(row, &source);
    if (given == nullptr || is_passed_over(row.option->name, source, *given)) continue;
    std::fprintf(stderr, "%s: %-20s: %s\n", name.c_str(), std::string(row.option->name).c_str(),
                 shown_value(row, *given, applied).c_str());
  }
  std::fprintf(stderr, "%s: %s\n%s: end of defined options\n", name.c_str(), rule, name.c_str());
}

void OptionParser::tell_of_hint() const {
  constexpr std::string_view kBegin =
      "Following options are mutually exclusive with --hint: --ntasks-per-core, --threads-per-core, -B and --cpu-bind";
  const std::string_view name = submit_command_name(command_);
  if (hint_fault() == HintFault::kBothTyped) {
    say(name, fmt::format("{} (other then --cpu-bind=verbose). Ignoring --hint.", kBegin));
  } else if (hint_fault() == HintFault::kBothInEnvironment) {
    say(name,
        fmt::format("{}, but more than one set by environment variables. Ignoring SLURM_HINT.",
                    kBegin));
  }
}

void say_debug(std::string_view command, uint32_t verbose, std::string_view text) {
  if (verbose > 1) say(command, fmt::format("debug:  {}", text));
}

void say_plugins(std::string_view command, uint32_t verbose, const ClusterConfig& config) {
  const bool munge = config.auth_type == "auth/munge";
  say_debug(command, verbose,
            fmt::format("{}: init: {} authentication plugin loaded", config.auth_type,
                        munge ? "Munge" : "Slurm"));
}

void say_propagated(std::string_view command, const Submission& submission) {
  constexpr std::string_view kOrder[] = {"CPU", "FSIZE", "DATA",   "STACK",   "CORE",
                                         "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS"};
  const uint32_t verbose = submission.settings.verbose;
  const std::vector<uint64_t>& limits = submission.job.limits;
  for (const std::string_view name : kOrder) {
    const auto place = static_cast<size_t>(rlimit_number(name).value_or(0)) * 2;
    if (place + 1 < limits.size())
      say_debug(command, verbose, fmt::format("propagating RLIMIT_{}={}", name, limits[place]));
  }
  say_debug(command, verbose,
            fmt::format("propagating SLURM_PRIO_PROCESS={}", getpriority(PRIO_PROCESS, 0)));
  say_debug(command, verbose, fmt::format("propagating UMASK={:04o}", submission.job.umask));
}

}  // namespace sluice::cli
