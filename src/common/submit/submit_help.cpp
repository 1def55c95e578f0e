// --help and --usage of sbatch, srun and salloc, from the rows.
#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice {
namespace {

constexpr size_t kTextColumn = 30;
constexpr size_t kWidth = 80;

struct Section {
  OptionSection section;
  std::string_view heading;
};
constexpr Section kSections[] = {
    {OptionSection::kRun, "Parallel run options:"},
    {OptionSection::kConstraint, "Constraint options:"},
    {OptionSection::kConsumable, "Consumable resources related options:"},
    {OptionSection::kAffinity,
     "Affinity/Multi-core options: (when the task/affinity plugin is enabled)"},
    {OptionSection::kGpu, "GPU scheduling options:"},
    {OptionSection::kHelp, "Help options:"},
    {OptionSection::kOther, "Other options:"},
};

std::string_view usage_line(CommandSet command) {
  switch (command) {
    case kSbatch:
      return "Usage: sbatch [OPTIONS(0)...] [ : [OPTIONS(N)...]] script(0) [args(0)...]\n";
    case kSalloc:
      return "Usage: salloc [OPTIONS(0)...] [ : [OPTIONS(N)]] [command(0) [args(0)...]]\n";
    default:
      return "Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]] [ : [OPTIONS(N)...]] "
             "executable(N) [args(N)...]\n";
  }
}

// `--name=value`, or what follows the name when it brings its own brackets.
std::string long_form(const SubmitOption& row, CommandSet command) {
  if (row.argument_of(command) == OptionArgument::kNone || row.value_name.empty()) {
    return fmt::format("--{}", row.name);
  }
  if (row.value_name.starts_with("[=")) return fmt::format("--{}{}", row.name, row.value_name);
  return fmt::format("--{}={}", row.name, row.value_name);
}

// The rows of one section, by letter or name, whatever their case: -A, --acctg-freq, -a …
std::vector<const SubmitOption*> rows_of(OptionSection section, CommandSet command) {
  std::vector<const SubmitOption*> rows;
  for (const SubmitOption& row : submit_options()) {
    if (row.section == section && (row.commands & command) != 0) rows.push_back(&row);
  }
  const auto key = [](const SubmitOption* row) {
    return row->letter != 0 ? std::string(1, row->letter) : std::string(row->name);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto* a, const auto* b) { return iless(key(a), key(b)); });
  return rows;
}

void put_option(std::string& out, const SubmitOption& row, CommandSet command) {
  std::string line = row.letter != 0 ? fmt::format("  -{}, ", row.letter) : "      ";
  line += long_form(row, command);
  if (line.size() + 1 >= kTextColumn) {
    line += ' ';
  } else {
    line.resize(kTextColumn, ' ');
  }
  for (const std::string& word : split(row.help, ' ')) {
    if (line.size() + word.size() > kWidth) {
      out += std::string_view(line).substr(0, line.find_last_not_of(' ') + 1);
      out += '\n';
      line.assign(kTextColumn, ' ');
    }
    line += word;
    line += ' ';
  }
  out += std::string_view(line).substr(0, line.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

std::string submit_help(CommandSet command) {
  std::string out(usage_line(command));
  for (const Section& section : kSections) {
    out += fmt::format("\n{}\n", section.heading);
    for (const SubmitOption* row : rows_of(section.section, command)) {
      put_option(out, *row, command);
    }
  }
  return out;
}

std::string submit_usage(CommandSet command) {
  const std::string start = fmt::format("Usage: {} ", submit_command_name(command));
  const std::string indent(start.size(), ' ');
  std::string out;
  std::string line = start;
  for (const SubmitOption& row : submit_options()) {
    if (row.section == OptionSection::kHidden || (row.commands & command) == 0) continue;
    const std::string word = fmt::format("[{}]", long_form(row, command));
    if (line.size() + word.size() > kWidth && line != indent) {
      line.back() = '\n';
      out += line;
      line = indent;
    }
    line += word;
    line += ' ';
  }
  line.back() = '\n';
  const std::string_view what = command == kSalloc ? "[command [args...]]" : "executable [args...]";
  return fmt::format("{}{}{}{}\n", out, line, indent, what);
}

}  // namespace sluice
