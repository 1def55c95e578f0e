// Options of a command as rows, one an option: what getopt has to know of it, and what it does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <getopt.h>

namespace sluice::cli {

enum class Takes : uint8_t {
  kNothing,
  kValue,
  kPerhaps,      // --json or --json=v0.0.44
  kPerhapsWord,  // and the next word, when it begins no option: --jobs, --jobs=12 or --jobs 12
};

inline constexpr std::optional<int> kGoOn;  // no exit status: there is more to do

template <class Options>
struct OptionRow {
  const char* name;  // empty: the letter alone
  char letter;       // 0: the name alone
  Takes takes;
  // Null: as the first row of this letter does. `value` is null where there is none. Gives an exit
  // status when nothing further is to be done.
  std::optional<int> (*take)(Options& options, const char* value);
};

// For options that only tell something.
[[nodiscard]] inline std::optional<int> print_and_end(const char* text) {
  std::fputs(text, stdout);
  return 0;
}

// For options that are taken and change nothing.
template <class Options>
std::optional<int> no_effect(Options& /*options*/, const char* /*value*/) {
  return kGoOn;
}

template <class Options>
[[nodiscard]] std::optional<int> take_row(std::span<const OptionRow<Options>> rows,
                                          const OptionRow<Options>& row, Options& options,
                                          const char* value) {
  if (row.take != nullptr) return row.take(options, value);
  for (const OptionRow<Options>& first : rows) {
    if (first.letter == row.letter && first.take != nullptr) return first.take(options, value);
  }
  return kGoOn;
}

// Where the row is that says what this one does. getopt then takes a beginning that is shared by
// names of one option alone (--nod of --node, --nodes and --nodelist) for that option.
template <class Options>
[[nodiscard]] size_t acting_row(std::span<const OptionRow<Options>> rows, size_t index) {
  const OptionRow<Options>& row = rows[index];
  for (size_t i = 0; row.take == nullptr && i < rows.size(); ++i) {
    const bool acts = rows[i].letter == row.letter && rows[i].take != nullptr;
    if (acts && rows[i].takes == row.takes) return i;
  }
  return index;
}

// The option of this name, as if it had been given.
template <class Options>
[[nodiscard]] std::optional<int> take_named(std::span<const OptionRow<Options>> rows,
                                            std::string_view name, Options& options,
                                            const char* value) {
  for (const OptionRow<Options>& row : rows) {
    if (row.name == name) return take_row(rows, row, options, value);
  }
  return kGoOn;
}

enum class Reading : uint8_t {
  kUsual,        // options may stand behind operands too
  kOperandsEnd,  // they may not
  kNoHint,       // as usual; after what is wrong, --help is not pointed at
};

// Reads the command line up to the operands, at which getopt's `optind` then stands. Says what is
// wrong with it.
template <class Options>
[[nodiscard]] std::optional<int> read_option_rows(const char* command,
                                                  std::span<const OptionRow<Options>> rows,
                                                  int argc, char** argv, Options& options,
                                                  Reading reading = Reading::kUsual) {
  constexpr int kFirstLong = 0x100;
  std::string letters = reading == Reading::kOperandsEnd ? "+" : "";
  std::vector<option> longs;
  // --helpformat and its like came after --help, and take none of its beginnings (--hel) from it;
  // those with a letter are as old
  const auto is_more_than_help = [](std::string_view name) {
    return name.size() > 4 && name.starts_with("help");
  };
  const bool more_help = std::any_of(argv, argv + argc, [&](std::string_view word) {
    return word.starts_with("--") && is_more_than_help(word.substr(2));
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    const OptionRow<Options>& row = rows[i];
    const int argument = row.takes == Takes::kNothing ? no_argument
                         : row.takes == Takes::kValue ? required_argument
                                                      : optional_argument;
    const bool is_old = row.letter != '\0' || !is_more_than_help(row.name);
    const bool named = *row.name != '\0' && (more_help || is_old);
    const int which = kFirstLong + static_cast<int>(acting_row(rows, i));
    if (named) longs.push_back({row.name, argument, nullptr, which});
    if (row.letter == '\0' || letters.find(row.letter) != std::string::npos) continue;
    letters.push_back(row.letter);
    // one or two, as getopt's own constants are
    letters.append(static_cast<size_t>(argument), ':');
  }
  longs.push_back({nullptr, 0, nullptr, 0});
  optind = 0;
  int found = 0;
  while ((found = getopt_long(argc, argv, letters.c_str(), longs.data(), nullptr)) != -1) {
    const OptionRow<Options>* row = nullptr;
    if (found >= kFirstLong) row = &rows[static_cast<size_t>(found - kFirstLong)];
    for (size_t i = 0; row == nullptr && i < rows.size(); ++i) {
      if (rows[i].letter != '\0' && rows[i].letter == found) row = &rows[i];
    }
    if (row == nullptr) {
      if (reading != Reading::kNoHint)
        std::fprintf(stderr, "Try \"%s --help\" for more information\n", command);
      return 1;
    }
    const bool word = row->takes == Takes::kPerhapsWord && optarg == nullptr;
    if (word && optind < argc && argv[optind][0] != '-') optarg = argv[optind++];
    if (const auto status = take_row(rows, *row, options, optarg)) return status;
  }
  return kGoOn;
}

}  // namespace sluice::cli
