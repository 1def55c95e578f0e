// What squeue and sinfo take alike: the options that choose the fields of a table, and how it is
// printed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/structured_output.hpp"
#include "cli/options/option_rows.hpp"
#include "cli/shared/version.hpp"

namespace sluice::cli {

struct TableOptions {
  std::optional<std::string> letters;  // -o
  std::optional<std::string> names;    // -O
  std::optional<std::string> sort;
  bool long_form = false;
  bool no_header = false;
  bool convert = true;
  uint32_t iterate_seconds = 0;
  std::string cluster;       // -M
  uint32_t verbose = 0;      // -v, counted
  std::string states_given;  // as written, for -v
  StructuredChoice form;
  std::vector<std::string> command_line;
};

// In what the commands differ there. A command's options are derived from TableOptions, and have a
// function command() that gives this.
struct TableCommand {
  const char* name;
  const char* sort_variable;  // of the environment
  const char* usage;
  const char* help;
  void (*print_fields)();        // of --helpformat
  std::string (*state_names)();  // of --helpstate
  // of a wrong --iterate: what is said before and after the value
  const char* before_seconds;
  const char* after_seconds;

  // Says what is wrong. The exit status.
  [[nodiscard]] int fail(const std::string& text) const;
};

// --helpformat: each field's name, and the letter of those that have one.
template <class Fields>
void print_fields(const Fields& fields) {
  for (const auto& field : fields) {
    std::printf("%-20s", std::string(field.name).c_str());
    if (field.letter != '\0') std::printf(" %%%c", field.letter);
    std::puts("");
  }
}

// Sets what the environment says, before the command line is read.
[[nodiscard]] std::optional<int> read_table_environment(const TableCommand& command,
                                                        TableOptions& o);
[[nodiscard]] std::optional<int> take_iterate(const TableCommand& command, const char* text,
                                              TableOptions& o);
// --long is a choice of fields itself: says so when others were chosen beside it.
[[nodiscard]] bool long_beside_format(const TableCommand& command, const TableOptions& o);

template <class O, class V = const char*>
inline constexpr OptionRow<O> kTableRows[] = {
    {"autocomplete", 0, Takes::kValue, no_effect<O>},
    {"cluster", 'M', Takes::kValue, [](O& o, V v) { return o.cluster = v, kGoOn; }},
    {"clusters", 'M', Takes::kValue, nullptr},
    {"federation", 0, Takes::kNothing, no_effect<O>},
    {"Format", 'O', Takes::kValue, [](O& o, V v) { return o.names = v, kGoOn; }},
    {"format", 'o', Takes::kValue, [](O& o, V v) { return o.letters = v, kGoOn; }},
    {"help", 0, Takes::kNothing, [](O&, V) { return print_and_end(O::command().help); }},
    {"helpformat", 0, Takes::kNothing,
     [](O&, V) { return O::command().print_fields(), std::optional(0); }},
    {"helpFormat", 0, Takes::kNothing,
     [](O&, V) { return O::command().print_fields(), std::optional(0); }},
    {"helpstate", 0, Takes::kNothing,
     [](O&, V) { return print_and_end((O::command().state_names() + "\n").c_str()); }},
    {"iterate", 'i', Takes::kValue, [](O& o, V v) { return take_iterate(O::command(), v, o); }},
    {"json", 0, Takes::kPerhaps,
     [](O& o, V v) {
       return choose_structured(O::command().name, StructuredForm::kJson, v, o.form);
     }},
    {"local", 0, Takes::kNothing, no_effect<O>},
    {"long", 'l', Takes::kNothing, [](O& o, V) { return o.long_form = true, kGoOn; }},
    {"noconvert", 0, Takes::kNothing, [](O& o, V) { return o.convert = false, kGoOn; }},
    {"noheader", 'h', Takes::kNothing, [](O& o, V) { return o.no_header = true, kGoOn; }},
    {"sort", 'S', Takes::kValue, [](O& o, V v) { return o.sort = v, kGoOn; }},
    {"usage", 0, Takes::kNothing, [](O&, V) { return print_and_end(O::command().usage); }},
    {"verbose", 'v', Takes::kNothing, [](O& o, V) { return ++o.verbose, kGoOn; }},
    {"version", 'V', Takes::kNothing, [](O&, V) { return std::optional(print_slurm_version()); }},
    {"yaml", 0, Takes::kPerhaps,
     [](O& o, V v) {
       return choose_structured(O::command().name, StructuredForm::kYaml, v, o.form);
     }},
};

// A command's own rows and those, by name, as getopt names them when a beginning is ambiguous.
template <class O, size_t count>
constexpr auto with_table_rows(const OptionRow<O> (&own)[count]) {
  std::array<OptionRow<O>, count + std::size(kTableRows<O>)> all{};
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto by_name = [lower](const OptionRow<O>& a, const OptionRow<O>& b) {
    const std::string_view one(a.name), other(b.name);
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end(),
                                        [lower](char c, char d) { return lower(c) < lower(d); });
  };
  std::merge(std::begin(own), std::end(own), std::begin(kTableRows<O>), std::end(kTableRows<O>),
             all.begin(), by_name);
  return all;
}

}  // namespace sluice::cli
