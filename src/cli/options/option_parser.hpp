// Reads the options of sbatch, srun and salloc: argv by getopt_long (built from the table of submit
// options; the first operand ends them), #SBATCH lines and the environment. Each option's value of
// the strongest source is applied once: argv over environment over script.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/submit/submit_options.hpp"

namespace sluice::cli {

class OptionParser {
 public:
  // `name`: who speaks in messages, where it is not the command itself.
  explicit OptionParser(CommandSet command, std::string_view name = {});

  // Each returns an exit status when the command is to end now (what there is to say was printed).

  // argv[0] is passed over. --help, --usage and --version print and end with 0.
  [[nodiscard]] std::optional<int> read_arguments(int argc, char** argv);
  // The same of words without a command's name before them.
  [[nodiscard]] std::optional<int> read_words(std::vector<std::string> words);
  // The directives of a batch script; `file` is its name for messages. Of a heterogeneous job's
  // script only those of this component.
  [[nodiscard]] std::optional<int> read_script(std::string_view script, std::string_view file,
                                               size_t component = 0);
  // `het_group`: the component that a step is for. Variables that each component has of its own
  // (NAME_HET_GROUP_n) then stand for the plain ones.
  void read_environment(std::optional<uint32_t> het_group = std::nullopt);
  // Takes over what the component before was given and this one was not, as far as it counts for
  // both.
  void inherit(const OptionParser& before);
  // The same of the command line alone, from a component behind this one: what sbatch is told there
  // counts for the first one, too.
  void inherit_from_behind(const OptionParser& behind);
  // Sets everything that was read.
  [[nodiscard]] std::optional<int> apply(Submission& submission) const;

  // What follows the options on the command line.
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }
  void set_operands(std::vector<std::string> operands) { operands_ = std::move(operands); }
  // The last value given on the command line so far; nothing when it was not given.
  [[nodiscard]] std::optional<std::string> argument(std::string_view option) const;

  // Options of directives that only a command line may have: they do nothing.
  [[nodiscard]] const std::vector<std::string>& passed_over() const { return passed_over_; }

  // What -v prints: the options that count, by name, with what they came to in `applied`.
  void print_defined(const Submission& applied) const;

 private:
  enum Source : size_t { kScript, kEnvironment, kArguments, kSources };
  struct Given {
    bool given = false;
    bool has_value = false;
    std::string value;
    uint32_t count = 0;
    // of what was read: later is more; before all of its own what it has of another component
    int32_t order = 0;
  };
  struct Row {
    const SubmitOption* option;
    Given from[kSources];
  };
  enum class Mode { kCommandLine, kDirective };
  [[nodiscard]] std::optional<int> read(std::vector<std::string> words, Source source, Mode mode);
  void take(size_t row, const char* value, Source source);
  void take_over(const OptionParser& other, bool arguments_only);
  [[nodiscard]] const Given* strongest(const Row& row, Source* source) const;
  [[nodiscard]] std::optional<Source> source_of(std::string_view option) const;
  // --hint beside options that say themselves what it stands for. A hint that is typed counts above
  // variables, else it is passed over.
  enum class HintFault { kNone, kHintIsStronger, kHintIsWeaker, kBothTyped, kBothInEnvironment };
  [[nodiscard]] HintFault hint_fault() const;
  void tell_of_hint() const;
  [[nodiscard]] std::string shown_value(const Row& row, const Given& given,
                                        const Submission& applied) const;
  [[nodiscard]] bool is_passed_over(std::string_view option, Source source,
                                    const Given& given) const;
  // Another way to say the same was given later, or by a stronger source.
  [[nodiscard]] bool is_overridden(std::string_view option, Source source,
                                   const Given& given) const;
  [[nodiscard]] bool wants_no_gres() const;
  // What counts of what was given: of --switches with the wait that a variable says; of
  // SLURM_TRES_PER_TASK without the resources of which the command line says otherwise.
  [[nodiscard]] std::string value_of(const Row& row, Source source, const Given& given) const;
  [[nodiscard]] std::optional<int> read_foreign(std::string_view line);

  CommandSet command_;
  std::string name_;
  std::vector<Row> rows_;
  int32_t taken_ = 0;
  std::vector<std::string> operands_;
  std::vector<std::string> passed_over_;
};

// How many components the directives of a script are for: one more than there are lines `#SBATCH
// hetjob`.
struct ScriptComponents {
  size_t count = 1;
  bool old_word = false;  // a line said packjob
};
[[nodiscard]] ScriptComponents script_components(std::string_view script);

// The words of one directive line, without quotes and what follows a #. A backslash, in quotes too,
// takes the meaning from the quote, the # or the backslash behind it, but joins no words: there it
// is left away. The error is what follows `FILE: line N: `.
[[nodiscard]] Result<std::vector<std::string>> directive_words(std::string_view text);

// Prints `COMMAND: error: TEXT`.
void print_error(std::string_view command, std::string_view text);
// The exit status of a failure: SLURM_EXIT_ERROR, or 1.
[[nodiscard]] int error_exit();

}  // namespace sluice::cli
