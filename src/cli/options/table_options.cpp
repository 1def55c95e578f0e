#include "cli/options/table_options.hpp"

#include "cli/format/environment.hpp"
#include "common/base/text.hpp"

namespace sluice::cli {

int TableCommand::fail(const std::string& text) const {
  std::fprintf(stderr, "%s: error: %s\n", name, text.c_str());
  return 1;
}

std::optional<int> read_table_environment(const TableCommand& command, TableOptions& o) {
  if (const auto v = environment(command.sort_variable)) o.sort = *v;
  if (const auto v = environment("SLURM_CLUSTERS")) o.cluster = *v;
  return choose_structured(command.name, o.form);
}

std::optional<int> take_iterate(const TableCommand& command, const char* text, TableOptions& o) {
  const auto seconds = to_number<uint32_t>(std::string_view(text));
  if (!seconds || *seconds == 0)
    return command.fail(std::string(command.before_seconds) + text + command.after_seconds);
  o.iterate_seconds = *seconds;
  return std::nullopt;
}

bool long_beside_format(const TableCommand& command, const TableOptions& o) {
  if (!o.long_form || (!o.letters && !o.names)) return false;
  std::fprintf(stderr,
               "%s: fatal: Options -%s and -l(--long) are mutually exclusive. Please remove one "
               "and retry.\n",
               command.name, o.letters ? "o(--format)" : "O(--Format)");
  return true;
}

}  // namespace sluice::cli
