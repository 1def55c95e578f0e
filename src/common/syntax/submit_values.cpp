#include "common/syntax/submit_values.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "common/base/contains.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/model/job_spec.hpp"

namespace sluice {
namespace {

bool is_word(std::string_view word, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return iequals(known, word); });
}

tl::unexpected<Error> bad_node_count(std::string_view text) {
  return failure(fmt::format("\"{}\" is not a valid node count", text));
}

struct SignalRow {
  std::string_view name;
  uint32_t number;
};
constexpr SignalRow kSignals[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ILL", SIGILL},
    {"TRAP", SIGTRAP},     {"ABRT", SIGABRT}, {"BUS", SIGBUS},     {"FPE", SIGFPE},
    {"KILL", SIGKILL},     {"USR1", SIGUSR1}, {"SEGV", SIGSEGV},   {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM},   {"CHLD", SIGCHLD},
    {"CONT", SIGCONT},     {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},   {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},   {"XFSZ", SIGXFSZ},
    {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
    {"PWR", SIGPWR},       {"SYS", SIGSYS},
};

struct LimitRow {
  std::string_view name;
  int number;
};
constexpr LimitRow kLimits[] = {
    {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
    {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
    {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RSS", RLIMIT_RSS},
    {"STACK", RLIMIT_STACK},
};

// `[type:]count` or a bare name, behind `prefix`; nothing when a part is empty or not a count.
std::optional<std::string> gres_item(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.empty() || parts.size() > 3 || parts[0].empty()) return std::nullopt;
  if (std::any_of(parts.begin(), parts.end(), [](const auto& p) { return p.empty(); })) {
    return std::nullopt;
  }
  const auto last = parse_count(parts.back());
  if (parts.size() == 3 && !last) return std::nullopt;
  if (parts.size() > 1 && last) return fmt::format("gres/{}", text);
  return fmt::format("gres/{}:1", text);  // a name, or a name and type
}

template <class Convert>
std::optional<std::string> each_item(std::string_view text, Convert convert) {
  std::vector<std::string> out;
  for (const std::string& item : split(text, ',')) {
    std::optional<std::string> converted = convert(item);
    if (!converted) return std::nullopt;
    if (!converted->empty()) out.push_back(std::move(*converted));
  }
  return join(out, ",");
}

}  // namespace

Result<NodeCounts> parse_node_counts(std::string_view text) {
  NodeCounts counts;
  if (text.find_first_of(",:") != std::string_view::npos) {
    const std::optional<IndexSet> set = IndexSet::parse(text, 1U << 20);
    if (!set || set->empty()) return bad_node_count(text);
    counts.list = text;
    counts.least = set->ranges().front().first;
    counts.most = set->ranges().back().last;
    return counts;
  }
  const size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const auto least = dash == 0 ? 1 : parse_count(low);  // "-3": up to three
  if (!least) return bad_node_count(low);
  counts.least = *least;
  counts.most = *least;
  if (dash == std::string_view::npos) {
    if (*least == 0) counts.list = kNoNodes;
    return counts;
  }
  const std::string_view high = text.substr(dash + 1);
  if (high.empty()) {
    return failure(
        fmt::format("Maximum node count -1 is less than minimum node count {}", counts.least));
  }
  const auto most = parse_count(high);
  if (!most) return bad_node_count(high);
  counts.most = *most;
  if (counts.most != 0 && counts.most < counts.least) {
    return failure(fmt::format("Maximum node count {} is less than minimum node count {}",
                               counts.most, counts.least));
  }
  return counts;
}

std::optional<uint32_t> parse_signal(std::string_view text) {
  if (const auto number = to_number<uint32_t>(text)) {
    if (*number > 65535) return std::nullopt;
    return number;
  }
  if (starts_with_i(text, "SIG")) text.remove_prefix(3);
  for (const SignalRow& row : kSignals) {
    if (iequals(row.name, text)) return row.number;
  }
  return std::nullopt;
}

std::string_view signal_name(uint32_t number) {
  for (const SignalRow& row : kSignals) {
    if (row.number == number) return row.name;
  }
  return {};
}

std::string signal_description(uint32_t number) {
  const auto real_time = static_cast<uint32_t>(SIGRTMIN), last = static_cast<uint32_t>(SIGRTMAX);
  if (number >= real_time && number <= last)
    return fmt::format("Real-time signal {}", number - real_time);
  const char* text = number < real_time ? sigdescr_np(static_cast<int>(number)) : nullptr;
  return text != nullptr ? text : fmt::format("Unknown signal {}", number);
}

std::optional<SignalOption> parse_signal_option(std::string_view text) {
  SignalOption option;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    for (const char c : text.substr(0, colon)) {
      if (c == 'B' || c == 'b') {
        option.batch = true;
      } else if (c == 'R' || c == 'r') {
        option.reservation = true;
      } else {
        return std::nullopt;
      }
    }
    text.remove_prefix(colon + 1);
  }
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    const std::string_view number = text.substr(at + 1);
    // nothing counts as 0 there
    const auto seconds = number.empty() ? std::optional<uint16_t>(0) : to_number<uint16_t>(number);
    if (!seconds) return std::nullopt;
    option.seconds = *seconds;
    text = text.substr(0, at);
  }
  const auto signal = parse_signal(text);
  if (!signal || *signal == 0) return std::nullopt;
  option.signal = *signal;
  return option;
}

std::optional<std::string> parse_mail_types(std::string_view text) {
  constexpr std::string_view kTypes[] = {
      // in the order in which they are told
      "NONE",          "ALL",           "ARRAY_TASKS", "INVALID_DEPEND", "BEGIN",
      "END",           "FAIL",          "REQUEUE",     "STAGE_OUT",      "TIME_LIMIT_50",
      "TIME_LIMIT_80", "TIME_LIMIT_90", "TIME_LIMIT"};
  constexpr std::string_view kAll[] = {"INVALID_DEPEND", "BEGIN",   "END",
                                       "FAIL",           "REQUEUE", "STAGE_OUT"};
  std::vector<std::string> known;
  bool any = false;
  for (const std::string& word : split_list(text)) {
    if (!is_word(word, kTypes)) continue;
    any = true;
    if (iequals(word, "NONE")) return std::string();
    if (iequals(word, "ALL")) {
      known.insert(known.end(), std::begin(kAll), std::end(kAll));
    } else {
      known.push_back(to_upper(word));
    }
  }
  if (!any) return std::nullopt;
  std::vector<std::string> told;
  for (const std::string_view type : kTypes) {
    if (contains(known, type)) told.emplace_back(type);
  }
  return join(told, ",");
}

Status check_distribution(std::string_view text) {
  constexpr std::string_view kLevels[] = {"block", "cyclic", "fcyclic", "*"};
  constexpr std::string_view kFlags[] = {"Pack", "NoPack"};
  std::vector<std::string> pieces = split(text, ',');
  if (pieces.empty()) return failure("");
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (!is_word(pieces[i], kFlags)) return failure("");
  }
  const std::string& form = pieces[0];
  if (starts_with_i(form, "plane")) {
    const auto size =
        form.size() > 6 && form[5] == '=' ? to_number<uint32_t>(form.substr(6)) : std::nullopt;
    if (!size || *size == 0 || pieces.size() > 1)
      return failure("Invalid plane size or size not specified");
    return {};
  }
  if (form.empty()) return failure("");  // flags of nothing
  if (iequals(form, "arbitrary") || is_word(form, kFlags)) return {};
  const std::vector<std::string> levels = split(form, ':');
  if (levels.size() > 3) return failure("");
  for (size_t i = 0; i < levels.size(); ++i) {
    if (!is_word(levels[i], kLevels) || (i == 0 && iequals(levels[i], "fcyclic"))) {
      return failure("");
    }
  }
  return {};
}

std::optional<std::string> parse_gres(std::string_view text) {
  return each_item(text, [](std::string_view item) -> std::optional<std::string> {
    if (iequals(item, "none")) return std::string();
    if (item.starts_with("gres/") || item.starts_with("gres:")) item.remove_prefix(5);
    return gres_item(item);
  });
}

std::optional<std::string> parse_gpus(std::string_view text) {
  return each_item(text, [](std::string_view item) -> std::optional<std::string> {
    const size_t colon = item.rfind(':');
    const bool is_type = colon == std::string_view::npos && !item.empty() &&
                         std::isalpha(static_cast<unsigned char>(item[0])) != 0;
    if (is_type) return fmt::format("gres/gpu:{}", item);
    const std::string_view count = colon == std::string_view::npos ? item : item.substr(colon + 1);
    if (!parse_count(count) || colon == 0 || item.find(':') != colon) return std::nullopt;
    return fmt::format("gres/gpu:{}", item);
  });
}

std::string unknown_cluster(std::string_view name) {
  return fmt::format(
      "'{}' can't be reached now, or it is an invalid entry for --cluster.  "
      "Use 'sacctmgr list clusters' to see available clusters.",
      name);
}

std::optional<int> rlimit_number(std::string_view name) {
  if (starts_with_i(name, "RLIMIT_")) name.remove_prefix(7);
  for (const LimitRow& row : kLimits) {
    if (iequals(row.name, name)) return row.number;
  }
  return std::nullopt;
}

Status check_propagate(std::string_view text) {
  // beside names they would contradict them
  if (iequals(text, "ALL") || iequals(text, "NONE")) return {};
  for (const std::string& name : split_list(text)) {
    if (!rlimit_number(name)) { return failure(fmt::format("Bad rlimit name: {}", name)); }
  }
  return {};
}

bool is_acctg_freq(std::string_view text) {
  constexpr std::string_view kTypes[] = {"task", "energy", "network", "filesystem"};
  if (to_number<uint32_t>(text)) return true;
  for (const std::string& item : split(text, ',')) {
    const size_t equal = item.find('=');
    if (equal == std::string::npos || !is_word(item.substr(0, equal), kTypes) ||
        !to_number<uint32_t>(std::string_view(item).substr(equal + 1))) {
      return false;
    }
  }
  return !text.empty();
}

std::optional<uint32_t> task_acctg_seconds(std::string_view text) {
  if (const auto alone = to_number<uint32_t>(text)) return alone;
  for (const std::string& item : split(text, ',')) {
    constexpr std::string_view kTask = "task=";
    if (!iequals(std::string_view(item).substr(0, kTask.size()), kTask)) continue;
    return to_number<uint32_t>(std::string_view(item).substr(kTask.size()));
  }
  return std::nullopt;
}

bool is_profile(std::string_view text) {
  constexpr std::string_view kWords[] = {"none", "all", "energy", "task", "lustre", "network"};
  for (const std::string& word : split(text, ',')) {
    if (!is_word(word, kWords)) return false;
  }
  return !text.empty();
}

bool is_gpu_bind(std::string_view text) {
  constexpr std::string_view kBare[] = {"closest", "none"};
  constexpr std::string_view kWithValue[] = {
      "map_gpu:", "mask_gpu:", "single:", "per_task:", "map:", "mask:"};
  for (const std::string_view prefix : {"verbose,", "v,"}) {
    if (starts_with_i(text, prefix)) text.remove_prefix(prefix.size());
  }
  if (is_word(text, kBare)) return true;
  return std::any_of(std::begin(kWithValue), std::end(kWithValue), [&](std::string_view prefix) {
    return starts_with_i(text, prefix) && text.size() > prefix.size();
  });
}

std::string bad_gpu_number(std::string_view text) {
  for (const std::string_view prefix : {"verbose,", "v,"}) {
    if (starts_with_i(text, prefix)) text.remove_prefix(prefix.size());
  }
  const bool mask = starts_with_i(text, "mask_gpu:") || starts_with_i(text, "mask:");
  if (!mask && !starts_with_i(text, "map_gpu:") && !starts_with_i(text, "map:")) return {};
  for (const std::string& item : split(text.substr(text.find(':') + 1), ',')) {
    const size_t times = item.find('*');
    const bool hex = starts_with_i(item, "0x");
    std::string_view number = std::string_view(item).substr(hex ? 2 : 0);
    number = number.substr(0, number.find('*'));
    const std::string_view digits = mask || hex ? "0123456789abcdefABCDEF" : "0123456789";
    size_t at = number.find_first_not_of(digits);
    char bad = at == std::string_view::npos ? '\0' : number[at];
    if (bad == '\0' && times != std::string::npos) {
      at = item.find_first_not_of("0123456789", times + 1);
      bad = at == std::string::npos ? '\0' : item[at];
    }
    if (bad != '\0')
      return fmt::format("Failed to validate {}, offending character is {}", item, bad);
  }
  return {};
}

namespace {
std::optional<std::string> bad_bind(std::string_view text, std::span<const std::string_view> bare,
                                    std::span<const std::string_view> with_list) {
  if (text.empty()) return std::string();
  bool in_list = false;  // what follows a list's colon: numbers, separated by commas too
  for (const std::string& word : split(text, ',')) {
    const bool listing = std::any_of(with_list.begin(), with_list.end(), [&](auto prefix) {
      return starts_with_i(word, prefix) && word.size() > prefix.size();
    });
    if (listing) {
      in_list = true;
    } else if (is_word(word, bare)) {
      in_list = false;
    } else if (!in_list ||
               word.find_first_not_of("0123456789abcdefABCDEFx-*") != std::string::npos) {
      return word;
    }
  }
  return std::nullopt;
}
}  // namespace

std::optional<std::string> bad_mem_bind(std::string_view text) {
  constexpr std::string_view kBare[] = {"nosort", "sort", "quiet", "q",     "verbose", "v",
                                        "none",   "no",   "rank",  "local", "prefer",  "p"};
  constexpr std::string_view kLists[] = {"map_mem:", "mask_mem:"};
  return bad_bind(text, kBare, kLists);
}

std::optional<std::string> bad_cpu_bind(std::string_view text) {
  constexpr std::string_view kBare[] = {"quiet", "q",         "verbose", "v",          "none",
                                        "no",    "rank",      "sockets", "cores",      "threads",
                                        "ldoms", "rank_ldom", "off",     "one_thread", "socket",
                                        "core",  "thread",    "ldom",    "boards"};
  constexpr std::string_view kLists[] = {"map_cpu:", "mask_cpu:", "map_ldom:", "mask_ldom:"};
  return bad_bind(text, kBare, kLists);
}

namespace {
bool is_about_report(std::string_view word) {
  return iequals(word, "v") || iequals(word, "verbose") || iequals(word, "q") ||
         iequals(word, "quiet");
}
}  // namespace

bool says_how_to_bind(std::string_view cpu_bind) {
  return !std::ranges::all_of(split_list(cpu_bind), is_about_report);
}

bool says_whether_to_report(std::string_view cpu_bind) {
  return std::ranges::any_of(split_list(cpu_bind), is_about_report);
}

namespace {
struct UsualBinding {
  std::string_view shown;
  std::string_view single;
  uint32_t number;
};
constexpr UsualBinding kUsual[] = {
    {"", "off", 0},          {"threads", "thread", 0x02},
    {"cores", "core", 0x04}, {"sockets", "socket", 0x08},
    {"ldoms", "ldom", 0x10}, {"none", "none", 0x20},
};
}  // namespace

std::optional<std::string> usual_binding(std::string_view text) {
  for (const UsualBinding& row : kUsual) {
    if (!text.empty() && (iequals(text, row.shown) || iequals(text, row.single)))
      return std::string(row.shown);
  }
  return std::nullopt;
}

uint32_t usual_binding_number(std::string_view shown) {
  for (const UsualBinding& row : kUsual) {
    if (row.shown == shown) return row.number;
  }
  return 0;
}

Result<SocketsCoresThreads> parse_extra_node_info(std::string_view text) {
  constexpr std::string_view kPlaces[] = {"first", "second", "third"};
  SocketsCoresThreads out;
  uint32_t* const parts[] = {&out.sockets, &out.cores, &out.threads};
  const std::vector<std::string> given = split(text, ':');
  for (size_t i = 0; i < std::min<size_t>(given.size(), 3); ++i) {
    if (given[i] == "*") continue;
    const std::string least = given[i].substr(0, given[i].find('-'));
    const auto number = to_number<uint32_t>(least);
    if (!number || *number == 0) {
      return failure(
          fmt::format("Invalid numeric value \"{}\" for {} arg of -B.", given[i], kPlaces[i]));
    }
    *parts[i] = *number;
  }
  return out;
}

}  // namespace sluice
