#include "cli/options/pbs_directives.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <getopt.h>

#include "cli/options/option_parser.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

using Options = std::vector<PbsOption>;

constexpr const char* kLetters = "+A:a:c:C:e:hIj:J:k:l:m:M:N:o:p:q:r:S:t:u:v:VW:z";

constexpr const char* kLsfLetters = "+c:e:J:m:M:n:o:q:W:x";

struct SameValue {
  std::string_view pbs;
  std::string_view option;
};
// Letters and resources whose value is the option's.
constexpr SameValue kLetterRows[] = {
    {"A", "account"}, {"a", "begin"}, {"e", "error"},     {"o", "output"},    {"N", "job-name"},
    {"J", "array"},   {"t", "array"}, {"M", "mail-user"}, {"q", "partition"}, {"v", "export"},
};
constexpr SameValue kLsfLetterRows[] = {
    {"c", "chdir"},  {"e", "error"},     {"J", "job-name"},
    {"o", "output"}, {"q", "partition"}, {"W", "time"},
};
constexpr SameValue kResourceRows[] = {
    {"ncpus", "mincpus"},     {"mpiprocs", "ntasks-per-node"},
    {"mppnodes", "nodelist"}, {"proc", "constraint"},
    {"walltime", "time"},     {"cput", "time"},
    {"pcput", "time"},
};

template <size_t N>
std::string_view option_of(const SameValue (&rows)[N], std::string_view pbs) {
  for (const SameValue& row : rows) {
    if (row.pbs == pbs) return row.option;
  }
  return {};
}

// "100mb": sbatch knows no "b".
std::string size_text(std::string_view text) {
  if (text.size() > 1 && (text.back() == 'b' || text.back() == 'B')) text.remove_suffix(1);
  return std::string(text);
}

// What is no number counts as none.
void add_nice(std::string_view text, Options& out) {
  if (to_number<int64_t>(text)) out.push_back({"nice", std::string(text)});
}

// "2:ppn=3+n5:ppn=2": so many nodes or one of this name, and tasks on each of them.
void add_nodes(std::string_view text, Options& out) {
  uint64_t nodes = 0, tasks = 0, count = 1;
  std::string names;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(":+", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kTasks = "ppn=";
    if (word.empty()) continue;
    if (word.starts_with(kTasks)) {
      tasks += count * to_number<uint32_t>(word.substr(kTasks.size())).value_or(0);
    } else if (const auto number = to_number<uint32_t>(word)) {
      nodes += count = *number;
    } else {
      names.append(names.empty() ? "" : ",").append(word);
      count = 1;
    }
  }
  if (nodes > 0) out.push_back({"nodes", std::to_string(nodes)});
  if (tasks > 0) out.push_back({"ntasks", std::to_string(tasks)});
  if (!names.empty()) out.push_back({"nodelist", names});
}

// "walltime=10:00". False when it is wrong (said).
bool add_resource(std::string_view text, Options& out) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size()) return true;
  const std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
  if (const std::string_view option = option_of(kResourceRows, name); !option.empty()) {
    out.push_back({option, std::string(value)});
  } else if (name == "mem") {
    out.push_back({"mem", size_text(value)});
  } else if (name == "file") {
    out.push_back({"tmp", size_text(value)});
  } else if (name == "nice") {
    add_nice(value, out);
  } else if (name == "nodes") {
    add_nodes(value, out);
  } else if (name == "accelerator" && iequals(value, "true")) {
    out.push_back({"gres", "gpu"});
  } else if (name == "naccelerators") {
    if (to_number<uint32_t>(value).value_or(0) == 0) {
      print_error("sbatch", fmt::format("Invalid numeric value \"{}\" for naccelerators.", value));
      return false;
    }
    out.push_back({"gres", fmt::format("gpu:{}", value)});
  }
  return true;
}

// "nodes=2,walltime=10:00", "select=2:ncpus=4".
bool add_resources(std::string_view list, Options& out) {
  constexpr std::string_view kSelect = "select=";
  for (const std::string& item : split_list(list)) {
    if (!item.starts_with(kSelect)) {
      if (!add_resource(item, out)) return false;
      continue;
    }
    const std::vector<std::string> words =
        split(std::string_view(item).substr(kSelect.size()), ':');
    for (const std::string& word : words) {
      const auto count = to_number<uint32_t>(word);
      if (count.value_or(0) > 0) out.push_back({"nodes", word});
      else if (!add_resource(word, out)) return false;
    }
  }
  return true;
}

// "abe": when it is aborted, begins and ends.
void add_mail(std::string_view letters, Options& out) {
  std::string types;
  constexpr SameValue kTypes[] = {{"b", "BEGIN"}, {"e", "END"}, {"a", "FAIL"}, {"n", "NONE"}};
  for (const SameValue& type : kTypes) {
    if (letters.find(type.pbs) != std::string_view::npos)
      types.append(types.empty() ? "" : ",").append(type.option);
  }
  if (!types.empty()) out.push_back({"mail-type", types});
}

bool add_letter(char letter, std::string_view value, Options& out) {
  constexpr std::string_view kDepend = "depend=";
  switch (letter) {
    case 'h': out.push_back({"hold", std::nullopt}); return true;
    case 'l': return add_resources(value, out);
    case 'm': add_mail(value, out); return true;
    case 'p': add_nice(value, out); return true;
    case 'W':
      if (value.starts_with(kDepend))
        out.push_back({"dependency", std::string(value.substr(kDepend.size()))});
      return true;
    default:
      const std::string_view option = option_of(kLetterRows, {&letter, 1});
      if (!option.empty()) out.push_back({option, std::string(value)});
      return true;
  }
}

// "50" is in KB; sbatch knows no "B" behind a unit.
std::string lsf_memory(std::string_view text) {
  const bool is_number = to_number<uint64_t>(text).has_value();
  return is_number ? fmt::format("{}K", text) : size_text(text);
}

bool add_lsf_letter(char letter, std::string_view value, Options& out) {
  switch (letter) {
    case 'm': {
      std::string nodes(value);
      std::ranges::replace(nodes, ' ', ',');
      out.push_back({"nodelist", std::move(nodes)});
      return true;
    }
    case 'M': out.push_back({"mem-per-cpu", lsf_memory(value)}); return true;
    case 'n':  // "2,4": at least and at most
      out.push_back({"ntasks", std::string(value.substr(value.rfind(',') + 1))});
      return true;
    case 'x': out.push_back({"exclusive", std::nullopt}); return true;
    default:
      out.push_back({option_of(kLsfLetterRows, {&letter, 1}), std::string(value)});
      return true;
  }
}

// Hands each letter of the words and its value to `add`. False: one is wrong (said).
bool take_letters(const std::vector<std::string>& words, const char* letters, const option* names,
                  Options& out, bool (*add)(char, std::string_view, Options&)) {
  std::vector<std::string> all{"sbatch"};  // getopt's messages begin with it
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  argv.reserve(all.size() + 1);
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(all.size());
  optind = 0;  // start afresh
  for (int found; (found = getopt_long(argc, argv.data(), letters, names, nullptr)) != -1;) {
    if (found == '?') {
      print_error("sbatch", "Unrecognized command line parameter ?");
      return false;
    }
    if (!add(static_cast<char>(found), optarg != nullptr ? optarg : "", out)) return false;
  }
  if (optind < argc) {
    print_error("sbatch", fmt::format("Invalid argument: {}", argv[static_cast<size_t>(optind)]));
    return false;
  }
  return true;
}

}  // namespace

std::optional<Options> pbs_options(const std::vector<std::string>& words) {
  const option none[] = {{nullptr, 0, nullptr, 0}};
  Options out;
  if (!take_letters(words, kLetters, none, out, add_letter)) return std::nullopt;
  return out;
}

std::optional<Options> lsf_options(const std::vector<std::string>& words) {
  const option names[] = {{"cwd", required_argument, nullptr, 'c'}, {nullptr, 0, nullptr, 0}};
  std::vector<std::string> all = words;
  std::ranges::replace(all, "-cwd", "--cwd");
  Options out;
  if (!take_letters(all, kLsfLetters, names, out, add_lsf_letter)) return std::nullopt;
  return out;
}

}  // namespace sluice::cli
