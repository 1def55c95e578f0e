#include "cli/sinfo_verbose.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/options/option_lines.hpp"
#include "common/base/text.hpp"
#include "cli/format/sinfo_fields.hpp"

namespace sluice::cli {
namespace {

const SinfoField* field_of(const Column& column) {
  if (column.letter != '\0') return find_field(sinfo_fields(), column.letter);
  return find_field(sinfo_fields(), column.name);
}

// A usual layout as -O would have it: "partition:9 ,available:.5 ,nodelist:0".
std::string as_names(const TableFormat& format) {
  std::string out;
  for (const Column& column : format.columns) {
    const SinfoField* field = field_of(column);
    if (field == nullptr) continue;
    const bool list = field->name == "NodeList";
    if (!out.empty()) out += ",";
    out += fmt::format("{}:{}{}{}", to_lower(field->name), column.right ? "." : "",
                       list ? 0 : column.width, &column == &format.columns.back() ? "" : " ");
  }
  return out;
}

// Fields by which nodes are told apart, as Slurm calls them. "default_time_flag =false" is as
// there.
struct FlagRow {
  std::string_view flag;
  std::string_view fields;  // of them, any
  std::string_view gap = " = ";
};
constexpr FlagRow kFlags[] = {
    {"alloc_mem_flag ", "AllocMem"},
    {"avail_flag     ", "Available"},
    {"comment_flag   ", "Comment"},
    {"cpus_flag      ", "CPUs"},
    {"default_time_flag ", "DefaultTime", "="},
    {"disk_flag      ", "Disk"},
    {"extra_flag     ", "Extra"},
    {"features_flag  ", "Features"},
    {"features_flag_act", "features_act"},
    {"groups_flag    ", "Groups"},
    {"gres_flag      ", "Gres"},
    {"gres_used_flag ", "GresUsed"},
    {"job_size_flag  ", "Size"},
    {"max_time_flag  ", "Time"},
    {"memory_flag    ", "Memory"},
    {"partition_flag ", "Partition,PartitionName"},
    {"port_flag      ", "Port"},
    {"priority_job_factor_flag  ", "PriorityJobFactor"},
    {"priority_tier_flag  ", "PriorityTier"},
    {"reason_flag    ", "Reason"},
    {"reason_timestamp_flag", "TimeStamp"},
    {"reason_user_flag", "User,UserLong"},
    {"reservation_flag", ""},
    {"root_flag      ", "Root"},
    {"oversubscribe_flag     ", "OverSubscribe,Share"},
    {"state_flag     ", "StateCompact,StateLong"},
    {"statecomplete_flag", "StateComplete"},
    {"weight_flag    ", "Weight"},
};

bool shows_any(const TableFormat& format, std::string_view fields) {
  const auto names = split_list(fields);
  return std::ranges::any_of(format.columns, [&](const Column& column) {
    const SinfoField* field = field_of(column);
    return field != nullptr && std::ranges::find(names, field->name) != names.end();
  });
}

void append_flags(const SinfoOptions& o, const TableFormat& format, OptionLines& lines) {
  lines.flag("all_flag        ", o.all || o.partitions);
  for (const FlagRow& row : kFlags) {
    const bool set = row.fields.empty() ? o.reservations : shows_any(format, row.fields);
    lines.raw(fmt::format("{}{}{}\n", row.flag, row.gap, set));
  }
}

}  // namespace

std::string sinfo_options_text(const SinfoOptions& o, const TableFormat& format) {
  const bool usual = !o.letters && !o.names;
  const std::string given = o.names ? *o.names : o.letters.value_or("");
  const std::string states = o.states_given.empty() && o.list_reasons ? "down" : o.states_given;
  OptionLines lines;
  lines.rule();
  lines.flag("dead", o.dead);
  lines.number("exact", o.exact);
  lines.flag("filtering", o.dead || o.responding || o.nodes || !states.empty());
  lines.text("format", usual ? as_names(format) : given);
  lines.number("iterate", o.iterate_seconds);
  lines.flag("long", o.long_form);
  lines.flag("no_header", o.no_header);
  lines.flag("node_field", o.node_form);
  lines.flag("node_format", o.node_form);
  lines.text("nodes", o.nodes_given, "n/a");
  lines.flag("part_field", usual && shows_any(format, "Partition"));
  lines.text("partition", o.partitions ? join(*o.partitions, ",") : std::string(), "n/a");
  lines.flag("responding", o.responding);
  lines.text("states", states);
  lines.text("sort", o.sort.value_or(""));
  lines.flag("summarize", o.summarize);
  lines.number("verbose", o.verbose);
  lines.rule();
  append_flags(o, format, lines);
  lines.rule();
  lines.raw("\n");
  return lines.out();
}

}  // namespace sluice::cli
