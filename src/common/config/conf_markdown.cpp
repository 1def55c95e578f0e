// The tables of keys as Markdown.
#include "common/config/conf_markdown.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/config/keys/conf_ignored.hpp"
#include "common/config/keys/conf_keys.hpp"
#include "common/config/keys/conf_value.hpp"

namespace sluice::tables {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

// Long lists of options would hide the table; the manual page has them.
std::string value_words(const ConfRule& rule) {
  if (rule.kind == ConfKind::kOptions) return "a comma-separated list of NAME or NAME=VALUE";
  if (rule.kind == ConfKind::kWords && rule.allowed_text.empty()) return "a comma-separated list";
  return allowed_values(rule);
}

// Which of a key's options stop a start: "lua, throttle".
std::string stopping_options(const std::string& name) {
  std::string options;
  for (const StoppingKey& one : stopping_keys()) {
    if (!one.name.starts_with(name + "=")) continue;
    options += (options.empty() ? "" : ", ") + std::string(one.name.substr(name.size() + 1));
  }
  return options;
}

// `section`: what stands before the key's name in ClusterConfig::without_effect.
template <class Row>
std::string effect_words(const Row& row, std::string_view section) {
  const std::string needless =
      row.needless.empty() ? "" : "; not needed: " + join(split_list(row.needless), ", ");
  const std::string name = fmt::format("{}{}", section, row.name);
  const IgnoredClass is = ignored_class(name);
  const std::string stopping = stopping_options(name);
  const bool all = std::ranges::any_of(
      stopping_keys(), [&](const StoppingKey& one) { return iequals(one.name, name); });
  const std::string stops = stopping.empty() ? ""
                                             : fmt::format("; stops the start: {}{}", stopping,
                                                           all ? ", and any other" : "");
  switch (row.effect) {
    case ConfEffect::kActs:
      if (row.acting.empty()) return "acts" + stops;
      return fmt::format("acts: {}{}{}", join(split_list(row.acting), ", "), needless, stops);
    case ConfEffect::kUnproved:
      return fmt::format(
          "acts where accounting is enforced; else stops the start ({}), and where accepted acts on what users say",
          class_text(is));
    case ConfEffect::kNotYet:
      if (stops_start(is)) return fmt::format("stops the start ({})", class_text(is));
      return fmt::format("no effect ({}){}", class_text(is), stops);
    default: return "obsolete, accepted";
  }
}

template <class Keys>
void add_section(std::string& out, std::string_view title, std::string_view section,
                 const Keys& keys) {
  out += fmt::format(
      "\n## {}\n\n| key | value | default | effect | change |\n|---|---|---|---|---|\n", title);
  std::vector<const std::decay_t<decltype(*keys.begin())>*> rows;
  for (const auto& row : keys) {
    if (row.kind != ConfKind::kRuntime) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return iless(a->name, b->name); });
  for (const auto* row : rows) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", row->name, cell(value_words(rule_of(*row))),
                       row->fallback.empty() ? "" : "`" + cell(row->fallback) + "`",
                       effect_words(*row, section), row->restart ? "restart" : "reconfigure");
  }
}

}  // namespace

std::string conf_keys_markdown() {
  std::string out = kConfMarkdownStart;
  add_section(out, "slurm.conf: global keys", "", global_keys());
  add_section(out, "slurm.conf: NodeName lines", "NodeName.", node_keys());
  add_section(out, "slurm.conf: PartitionName lines", "PartitionName.", partition_keys());
  add_section(out, "slurm.conf: NodeSet lines", "NodeSet.", node_set_keys());
  add_section(out, "slurm.conf: DownNodes lines", "DownNodes.", down_nodes_keys());
  add_section(out, "slurm.conf: FrontendName lines", "FrontendName.", frontend_keys());
  add_section(out, "slurm.conf: PowerAction lines", "PowerAction.", power_action_keys());
  add_section(out, "cgroup.conf", "cgroup.conf: ", cgroup_keys());
  add_section(out, "gres.conf", "gres.conf.", gres_keys());
  add_section(out, "mpi.conf", "mpi.conf: ", mpi_keys());
  add_section(out, "job_container.conf", "job_container.conf: ", container_keys());
  add_section(out, "helpers.conf: global keys", "helpers.conf: ", helpers_keys());
  add_section(out, "helpers.conf: Feature lines", "Feature.", helper_line_keys());
  return out;
}

}  // namespace sluice::tables
