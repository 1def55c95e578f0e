#include "cli/options/option_parser.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

#include "cli/shared/client.hpp"
#include "cli/options/pbs_directives.hpp"
#include "cli/options/submit_env.hpp"
#include "cli/shared/version.hpp"
#include "common/base/contains.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kPbs = "#PBS", kBsub = "#BSUB ";
constexpr int kFirstLong = 1000;  // getopt's value of row n is kFirstLong + n

bool cluster_binds_cpus() {
  const Result<Client> client = Client::open();
  return !client || !client->config().task_plugin.empty();
}

std::vector<std::string> gres_types_of_cluster() {
  const Result<Client> client = Client::open();
  return client ? client->config().gres_types : std::vector<std::string>();
}

std::optional<int> print_for(const SubmitOption& row, CommandSet command) {
  if (row.name == "help") {
    std::fputs(submit_help(command).c_str(), stdout);
  } else if (row.name == "usage") {
    std::fputs(submit_usage(command).c_str(), stdout);
  } else if (row.name == "version") {
    print_slurm_version();
  } else {
    return std::nullopt;
  }
  return 0;
}

// The environment tells of "plane=2" in two variables.
std::string with_plane_size(const std::string& distribution) {
  const char* size = std::getenv("SLURM_DIST_PLANESIZE");
  return distribution == "plane" && size != nullptr ? distribution + "=" + size : distribution;
}

// How long few switches are waited for may be told by a variable of its own, beside the one of
// --switches.
std::string with_switch_wait(const std::string& switches, std::string variable) {
  variable.replace(variable.find('_'), std::string::npos, "_WAIT4SWITCH");
  const char* wait = std::getenv(variable.c_str());
  const bool says_how_long = switches.find('@') != std::string::npos;
  return says_how_long || wait == nullptr || *wait == '\0' ? switches : switches + "@" + wait;
}

// A line between the directives of two components.
bool is_separator(const std::vector<std::string>& words) {
  return words.size() == 1 && (words[0] == "hetjob" || words[0] == "packjob");
}

// Of a variable that components of a heterogeneous job have each of their own, this component's.
const char* variable_of(const std::string& name, std::optional<uint32_t> het_group) {
  const char* size = het_group ? std::getenv("SLURM_HET_SIZE") : nullptr;
  const uint32_t groups = to_number<uint32_t>(size != nullptr ? size : "").value_or(0);
  for (uint32_t group = 0; group < groups; ++group) {
    const auto own = [&](uint32_t which) {
      return std::getenv(fmt::format("{}_HET_GROUP_{}", name, which).c_str());
    };
    if (own(group) != nullptr) return own(*het_group);
  }
  return std::getenv(name.c_str());
}

}  // namespace

void print_error(std::string_view command, std::string_view text) {
  if (text.starts_with("fatal: ")) {  // Slurm's word for some of them
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(command.size()), command.data(),
                 static_cast<int>(text.size()), text.data());
    return;
  }
  std::fprintf(stderr, "%.*s: error: %.*s\n", static_cast<int>(command.size()), command.data(),
               static_cast<int>(text.size()), text.data());
}

int error_exit() {
  const char* set = std::getenv("SLURM_EXIT_ERROR");
  const auto status = to_number<uint8_t>(set != nullptr ? set : "");
  return status && *status != 0 ? *status : 1;
}

OptionParser::OptionParser(CommandSet command, std::string_view name)
    : command_(command), name_(name.empty() ? submit_command_name(command) : name) {
  for (const SubmitOption& option : submit_options()) {
    if ((option.commands & command) != 0) rows_.push_back({&option, {}});
  }
}

void OptionParser::take(size_t row, const char* value, Source source) {
  Given& given = rows_[row].from[source];
  given.given = true;
  given.has_value = value != nullptr;
  given.value = value != nullptr ? value : "";
  ++given.count;
  given.order = ++taken_;
}

std::optional<int> OptionParser::read(std::vector<std::string> words, Source source, Mode mode) {
  std::vector<option> longs;
  std::string shorts = "+";
  for (size_t i = 0; i < rows_.size(); ++i) {
    const SubmitOption& row = *rows_[i].option;
    const OptionArgument argument = row.argument_of(command_);
    longs.push_back(
        {row.name.data(), static_cast<int>(argument), nullptr, kFirstLong + static_cast<int>(i)});
    if (row.letter == 0) continue;
    shorts += row.letter;
    shorts.append(static_cast<size_t>(argument), ':');
  }
  longs.push_back({nullptr, 0, nullptr, 0});
  std::string name = name_;  // getopt's messages begin with it
  std::vector<char*> argv = {name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  const int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);

  optind = 0;  // start afresh
  for (int found;
       (found = getopt_long(argc, argv.data(), shorts.c_str(), longs.data(), nullptr)) != -1;) {
    size_t index = rows_.size();
    if (found >= kFirstLong) {
      index = static_cast<size_t>(found - kFirstLong);
    } else {
      for (size_t i = 0; i < rows_.size() && index == rows_.size(); ++i) {
        if (rows_[i].option->letter == found) index = i;
      }
    }
    if (found == '?' || index == rows_.size()) {
      std::fprintf(stderr, "Try \"%s --help\" for more information\n", name.c_str());
      return 255;
    }
    const SubmitOption& row = *rows_[index].option;
    if (mode == Mode::kDirective && !row.in_script) {
      passed_over_.emplace_back(row.name);
      continue;
    }
    if (mode == Mode::kCommandLine) {
      if (const auto status = print_for(row, command_)) return status;
    }
    take(index, optarg, source);
  }
  operands_.clear();
  for (int i = optind; i < argc; ++i) operands_.emplace_back(argv[i]);
  return std::nullopt;
}

std::optional<int> OptionParser::read_arguments(int argc, char** argv) {
  return read_words(std::vector<std::string>(argv + 1, argv + argc));
}

std::optional<int> OptionParser::read_words(std::vector<std::string> words) {
  return read(std::move(words), kArguments, Mode::kCommandLine);
}

// A #PBS or #BSUB line.
std::optional<int> OptionParser::read_foreign(std::string_view line) {
  const bool pbs = line.starts_with(kPbs);
  const Result<std::vector<std::string>> words =
      directive_words(line.substr(pbs ? kPbs.size() : kBsub.size()));
  if (!words) return std::nullopt;
  const auto options = pbs ? pbs_options(*words) : lsf_options(*words);
  if (!options) return error_exit();
  for (const PbsOption& option : *options) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].option->name == option.name)
        take(i, option.value ? option.value->c_str() : nullptr, kScript);
    }
  }
  return std::nullopt;
}

std::optional<int> OptionParser::read_script(std::string_view script, std::string_view file,
                                             size_t component) {
  const std::vector<std::string> kept = operands_;
  size_t number = 0;
  size_t section = 0;
  const bool foreign = !argument("ignore-pbs") && std::getenv("SBATCH_IGNORE_PBS") == nullptr;
  std::vector<std::string_view> foreign_lines;  // they count after ours, wherever they stand
  bool began = false;                           // the first command ends our directives
  for (size_t at = 0; at < script.size();) {
    const size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view line = script.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.starts_with(kPbs) || line.starts_with(kBsub)) {
      if (foreign && section == component) foreign_lines.push_back(line);
      continue;
    }
    const std::string_view content = trim(line);
    began = began || (!content.empty() && !content.starts_with('#'));
    if (began || !line.starts_with("#SBATCH")) continue;
    Result<std::vector<std::string>> words = directive_words(line.substr(7));
    if (!words) {
      print_error(name_, fmt::format("fatal: {}: line {}: {}", file.substr(file.rfind('/') + 1),
                                     number, words.error().text));
      return error_exit();
    }
    if (is_separator(*words)) {
      ++section;
      continue;
    }
    if (section != component) continue;
    // An empty word is no argument, as in Slurm, which passes over the rest of its line: here that
    // is an error.
    const auto empty = std::ranges::find(*words, std::string());
    const bool ends_early = empty != words->end();
    words->erase(empty, words->end());
    if (const auto status = read(std::move(*words), kScript, Mode::kDirective)) return status;
    if (ends_early) operands_.emplace_back();
    if (!operands_.empty()) {
      print_error(name_, "Invalid directive found in batch script: " + operands_[0]);
      return 255;
    }
  }
  operands_ = kept;
  const auto is_pbs = [](std::string_view line) { return line.starts_with(kPbs); };
  std::stable_partition(foreign_lines.begin(), foreign_lines.end(),
                        is_pbs);  // #BSUB lines count after them
  for (const std::string_view line : foreign_lines) {
    if (const auto status = read_foreign(line)) return status;
  }
  return std::nullopt;
}

ScriptComponents script_components(std::string_view script) {
  ScriptComponents out;
  for (size_t at = 0; at < script.size();) {
    const size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view line = script.substr(at, end - at);
    at = end + 1;
    const std::string_view text = trim(line);
    if (!text.empty() && !text.starts_with('#')) break;
    if (!line.starts_with("#SBATCH")) continue;
    const auto words = directive_words(line.substr(7));
    if (!words || !is_separator(*words)) continue;
    ++out.count;
    out.old_word = out.old_word || words->front() == "packjob";
  }
  return out;
}

void OptionParser::read_environment(std::optional<uint32_t> het_group) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const SubmitOption& row = *rows_[i].option;
    for (const std::string& name : option_variables(row, command_)) {
      const char* value = variable_of(name, het_group);
      // a task is told of its srun's
      if (value == nullptr ||
          (name == "SRUN_DEBUG" && std::getenv("SLURM_SRUN_COMM_PORT") != nullptr))
        continue;
      const OptionArgument argument = row.argument_of(command_);
      const bool is_level = row.name == "verbose";
      if (argument == OptionArgument::kNone && !is_level && !flag_is_on(value)) continue;
      if (is_level && std::isdigit(static_cast<unsigned char>(*value)) == 0) continue;
      if (*value == '\0' && contains(variables_unset_if_empty(row, command_), name)) continue;
      const std::string text = row.name == "distribution" ? with_plane_size(value) : value;
      take(i, text.c_str(), kEnvironment);
    }
  }
}

void OptionParser::inherit(const OptionParser& before) { take_over(before, false); }

void OptionParser::inherit_from_behind(const OptionParser& behind) { take_over(behind, true); }

void OptionParser::take_over(const OptionParser& other, bool arguments_only) {
  bool own_memory = false;
  Source source;
  for (const Row& row : rows_) {
    own_memory = own_memory ||
                 (row.option->name.starts_with("mem-per-") && strongest(row, &source) != nullptr);
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    const std::string_view name = rows_[i].option->name;
    if (!carries_over(name) || (name == "mem" && own_memory)) continue;
    const Given* theirs = other.strongest(other.rows_[i], &source);
    if (arguments_only && source != kArguments) continue;
    Source own;
    if (theirs != nullptr && strongest(rows_[i], &own) == nullptr) {
      rows_[i].from[source] = *theirs;
      rows_[i].from[source].order -= 1 << 20;
    }
  }
}

const OptionParser::Given* OptionParser::strongest(const Row& row, Source* source) const {
  for (size_t i = kSources; i-- > 0;) {
    if (!row.from[i].given) continue;
    *source = static_cast<Source>(i);
    return &row.from[i];
  }
  return nullptr;
}

std::optional<OptionParser::Source> OptionParser::source_of(std::string_view option) const {
  const auto row =
      std::ranges::find(rows_, option, [](const Row& each) { return each.option->name; });
  Source source;
  if (row == rows_.end() || strongest(*row, &source) == nullptr) return std::nullopt;
  return source;
}

namespace {

// What --hint stands for: it is one or the other.
constexpr std::string_view kBesideHint[] = {"ntasks-per-core", "threads-per-core",
                                            "extra-node-info", "cpu-bind"};

bool only_reports(std::string_view cpu_bind) {
  return iequals(cpu_bind, "verbose") || iequals(cpu_bind, "v");
}

}  // namespace

OptionParser::HintFault OptionParser::hint_fault() const {
  const auto hint = source_of("hint");
  if (!hint) return HintFault::kNone;
  bool typed = false, from_environment = false;
  for (const Row& row : rows_) {
    Source source;
    const Given* given = strongest(row, &source);
    if (given == nullptr ||
        std::ranges::find(kBesideHint, row.option->name) == std::end(kBesideHint))
      continue;
    if (row.option->name == "cpu-bind" && only_reports(given->value)) continue;
    // what a job tells its sruns of its own hint
    if (row.option->name == "threads-per-core" && given->value == "1" && source == kEnvironment &&
        *hint == kEnvironment)
      continue;
    (source == kEnvironment ? from_environment : typed) = true;
  }
  if (typed) return *hint == kEnvironment ? HintFault::kHintIsWeaker : HintFault::kBothTyped;
  if (!from_environment) return HintFault::kNone;
  return *hint == kEnvironment ? HintFault::kBothInEnvironment : HintFault::kHintIsStronger;
}

bool OptionParser::is_passed_over(std::string_view option, Source source,
                                  const Given& given) const {
  const bool hint = option == "hint";
  if (!hint && std::ranges::find(kBesideHint, option) == std::end(kBesideHint)) return false;
  const HintFault fault = hint_fault();
  if (hint) return fault != HintFault::kNone && fault != HintFault::kHintIsStronger;
  const bool reports = option == "cpu-bind" && only_reports(given.value);
  return fault == HintFault::kHintIsStronger && source == kEnvironment && !reports;
}

bool OptionParser::is_overridden(std::string_view option, Source source, const Given& given) const {
  if (is_passed_over(option, source, given)) return true;
  if (source == kEnvironment && option.starts_with("gpus") && wants_no_gres()) return true;
  static constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"exclusive", "oversubscribe"}, {"nodelist", "nodefile"}, {"no-requeue", "requeue"}};
  for (const auto& [one, two] : kSame) {
    if (option != one && option != two) continue;
    const auto other = std::ranges::find(rows_, option == one ? two : one,
                                         [](const Row& row) { return row.option->name; });
    Source theirs;
    const Given* said = other == rows_.end() ? nullptr : strongest(*other, &theirs);
    return said != nullptr && std::pair(theirs, said->order) > std::pair(source, given.order);
  }
  return false;
}

std::optional<std::string> OptionParser::argument(std::string_view option) const {
  for (const Row& row : rows_) {
    if (row.option->name == option && row.from[kArguments].given) {
      return row.from[kArguments].value;
    }
  }
  return std::nullopt;
}

// The variables of the job around a step say what that has.
bool OptionParser::wants_no_gres() const {
  const auto gres = argument("gres");
  return gres && iequals(*gres, "none");
}

std::string OptionParser::value_of(const Row& row, Source source, const Given& given) const {
  if (row.option->name == "switches")
    return with_switch_wait(given.value, option_variables(*row.option, command_).front());
  const bool gpus = argument("gpus-per-task").has_value();
  if (row.option->name != "tres-per-task" || source != kEnvironment || !(gpus || wants_no_gres()))
    return given.value;
  std::vector<std::string> items = split(given.value, ',');
  std::erase_if(items, [&](const std::string& item) {
    return item.starts_with(wants_no_gres() ? "gres/" : "gres/gpu");
  });
  return join(items, ",");
}

std::optional<int> OptionParser::apply(Submission& submission) const {
  const std::string folder = working_folder();
  Source memory_source = kScript, cpus_source = kScript;
  for (const Row& row : rows_) {
    Source source;
    const bool memory = row.option->name == "mem" || row.option->name.starts_with("mem-per-");
    const Given* given = strongest(row, &source);
    if (given == nullptr || is_overridden(row.option->name, source, *given)) continue;
    if (memory && submission.job.memory_kind != MemoryKind::kDefault) {
      if (source < memory_source) continue;  // a stronger source said it otherwise
      if (source == memory_source) {
        std::fprintf(stderr, "%s: fatal: %s are mutually exclusive.\n", name_.c_str(),
                     source == kEnvironment
                         ? "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE"
                         : "--mem, --mem-per-cpu, and --mem-per-gpu");
        return error_exit();
      }
    }
    if (memory) memory_source = source;
    const uint32_t cpus = submission.job.cpus_per_task;
    if (row.option->name == "cpus-per-task") cpus_source = source;
    OptionInput input;
    input.option = row.option;
    input.has_value = given->has_value;
    input.value = value_of(row, source, *given);
    if (input.value.empty() && !given->value.empty()) continue;  // nothing of it counts
    input.command = command_;
    input.from_environment = source == kEnvironment;
    input.count = given->count;
    if (row.option->name == "verbose") {  // a variable says where to begin
      const Given& variable = row.from[kEnvironment];
      const uint32_t level = to_number<uint32_t>(variable.value).value_or(variable.given ? 1 : 0);
      input.count = level + row.from[kScript].count + row.from[kArguments].count;
    }
    input.now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    input.folder = folder;
    input.by_root = getuid() == 0;
    input.binds_cpus = cluster_binds_cpus;
    input.gres_types = gres_types_of_cluster;
    if (const OptionResult done = row.option->set(submission, input); !done) {
      const OptionProblem& problem = done.error();
      FILE* out = problem.errors.empty() ? stdout : stderr;
      if (!problem.print.empty()) {
        std::fprintf(out, "%s%s", problem.print.c_str(), problem.print.ends_with('\n') ? "" : "\n");
      }
      for (const std::string& error : problem.errors) { print_error(name_, error); }
      return problem.exit_status == 1 ? error_exit() : problem.exit_status;
    }
    // SLURM_TRES_PER_TASK of the job around us repeats its CPUs: what is said of them here counts
    if (row.option->name == "tres-per-task" && source == kEnvironment && cpus != 0 &&
        cpus_source >= source) {
      submission.job.cpus_per_task = cpus;
    }
  }
  if (submission.settings.verbose > 0 && submission.settings.quiet) {
    print_error(name_, "don't specify both --verbose (-v) and --quiet (-Q)");
    return error_exit();
  }
  return std::nullopt;
}

Result<std::vector<std::string>> directive_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false, escaped = false;
  char quote = '\0';
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  size_t rest = 0;  // what follows the last word
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool literal = std::exchange(escaped, false);
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    const bool quotes = !literal && (quote != '\0' ? c == quote : c == '\'' || c == '"');
    if (c == '\\' && !literal) {
      escaped = true;
    } else if (quotes) {
      quote = quote != '\0' ? '\0' : c;
      in_word = true;
    } else if (blank && quote == '\0') {
      if (in_word) {
        words.push_back(std::exchange(word, {}));
        rest = at;
      }
      in_word = false;
    } else if (c == '#' && quote == '\0' && !literal) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0')
    return failure(fmt::format("Unmatched `{}` in [{}]", quote, text.substr(rest)));
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace sluice::cli
