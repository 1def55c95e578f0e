#include "cli/usage/output.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/format/shown_text.hpp"
#include "common/base/time_text.hpp"

namespace sluice::cli {
namespace {

constexpr double kDay = 86400;

double days(Duration period) { return static_cast<double>(to_seconds(period)) / kDay; }
double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// Rows under headings, as wide as what is in them; the first columns are texts.
class Columns {
 public:
  Columns(size_t texts, std::vector<std::string> headings)
      : texts_(texts), rows_{std::move(headings)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void append_to(std::string& out) const {
    std::vector<size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (size_t at = 0; at < widths.size(); ++at)
        widths[at] = std::max(widths[at], row[at].size());
    }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t at = 0; at < widths.size(); ++at) {
        const std::string gap = at == 0 ? "  " : "   ";
        line += at < texts_ ? fmt::format("{}{:<{}}", gap, row[at], widths[at])
                            : fmt::format("{}{:>{}}", gap, row[at], widths[at]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
  }

 private:
  size_t texts_;
  std::vector<std::vector<std::string>> rows_;
};

std::string name_of(const UsageAssociation& one) {
  return one.partition.empty() ? one.account : one.account + "/" + one.partition;
}

void add_used(const UsageReport& report, std::string& out) {
  out += "\nUsed\n";
  std::vector<std::string> headings = {"Account", "CPU-hours", "Core-years"};
  if (report.tracks_gpus) headings.insert(headings.end(), {"GPU-hours", "GPU-years"});
  Columns table(1, std::move(headings));
  for (const UsageAssociation& one : report.associations) {
    std::vector<std::string> row = {name_of(one), fmt::format("{:.2f}", one.used.cpu_hours),
                                    fmt::format("{:.4f}", one.used.core_years)};
    if (report.tracks_gpus) {
      row.push_back(fmt::format("{:.2f}", one.used.gpu_hours));
      row.push_back(fmt::format("{:.4f}", one.used.gpu_years));
    }
    table.add(std::move(row));
  }
  table.append_to(out);
  if (!report.tracks_gpus)
    out += "  GPUs are not counted: AccountingStorageTRES has no gres/gpu.\n";
}

std::string of_average(double average, double target) {
  return fmt::format("{:.1f} of {:.1f}", average, target);
}

void add_targets(const UsageReport& report, std::string& out) {
  out += "\nTarget\n";
  if (report.period == Duration(0)) {
    out += "  There is none: usage is never forgotten here, so that it has no period.\n";
    return;
  }
  if (!report.shows_cluster) {
    out += "  It is not known: no node is shown to you.\n";
    return;
  }
  std::vector<std::string> headings = {"Account", "Share", "Core-years", "Used", "Average cores"};
  if (report.tracks_gpus) headings.insert(headings.end(), {"GPU-years", "Used", "Average GPUs"});
  Columns table(1, std::move(headings));
  for (const UsageAssociation& one : report.associations) {
    const UsageTarget& t = *one.target;
    std::string name = name_of(one);
    if (!t.account.empty()) name += " (all of " + t.account + ")";
    std::vector<std::string> row = {
        std::move(name), fmt::format("{:.2f}%", 100 * t.cluster_share),
        fmt::format("{:.4f}", t.core_years),
        fmt::format("{:.0f}%", percent(t.used.core_years, t.core_years)),
        of_average(t.average_cores, t.cores)};
    if (report.tracks_gpus) {
      row.push_back(fmt::format("{:.4f}", t.gpu_years));
      row.push_back(fmt::format("{:.0f}%", percent(t.used.gpu_years, t.gpu_years)));
      row.push_back(of_average(t.average_gpus, t.gpus));
    }
    table.add(std::move(row));
  }
  table.append_to(out);
  out += "  The target is what your share of the cluster comes to over the period.\n";
  out += report.in_priority
             ? "  Using more lowers the priority of your jobs; no job is refused for it.\n"
             : "  No job is refused for using more; nor does it lower priority on this cluster.\n";
}

void add_shares(const UsageReport& report, std::string& out) {
  out += "\nShares\n";
  Columns table(1, {"Account", "RawShares", "NormShares", "EffectvUsage", "FairShare"});
  for (const UsageAssociation& one : report.associations) {
    table.add({name_of(one), one.raw_shares, fmt::format("{:.6f}", one.norm_shares),
               fmt::format("{:.6f}", one.effective_usage), fmt::format("{:.6f}", one.factor)});
  }
  table.append_to(out);
}

void add_limits(const UsageReport& report, std::string& out) {
  out += "\nLimits\n";
  if (report.limits.empty()) {
    out += "  There are none.\n";
    return;
  }
  Columns table(3, {"Of", "Limit", "Unit", "Used", "At most", "Used%"});
  for (const UsageLimit& one : report.limits) {
    std::string part = "each job";
    if (one.used) {
      part = one.limit > 0 ? fmt::format("{:.0f}%", percent(static_cast<double>(*one.used),
                                                            static_cast<double>(one.limit)))
                           : "100%";
    } else if (one.unit.starts_with('%')) {
      part = "";
    }
    table.add({one.owner, one.name, one.unit, one.used ? std::to_string(*one.used) : "",
               std::to_string(one.limit), part});
  }
  table.append_to(out);
}

void add_jobs(const UsageReport& report, std::string& out) {
  constexpr size_t kMostName = 24;
  out += "\nLast jobs\n";
  if (!report.history_missing.empty()) {
    out += "  " + report.history_missing + "\n";
    return;
  }
  if (report.jobs.empty()) {
    out += "  None ended in the last 30 days.\n";
    return;
  }
  Columns table(3, {"JobID", "JobName", "State", "Elapsed", "CPU", "Memory"});
  for (const UsageJob& one : report.jobs) {
    const JobEfficiency& e = one.efficiency;
    const std::string name = shown_cell(one.name).substr(0, kMostName);
    table.add(
        {one.id, name, one.state, format_span(std::chrono::seconds(e.wall)),
         e.core_wall > 0 ? fmt::format("{:.0f}%", e.cpu_percent()) : "-",
         e.core_wall > 0 && e.memory_given > 0 ? fmt::format("{:.0f}%", e.memory_percent()) : "-"});
  }
  table.append_to(out);
}

Json used_json(const UsedResources& used) {
  return {{"cpu_hours", used.cpu_hours},
          {"gpu_hours", used.gpu_hours},
          {"core_years", used.core_years},
          {"gpu_years", used.gpu_years}};
}

Json target_json(const UsageTarget& t) {
  return {{"share_of_account", t.account},
          {"cluster_share", t.cluster_share},
          {"core_years", t.core_years},
          {"gpu_years", t.gpu_years},
          {"cores", t.cores},
          {"gpus", t.gpus},
          {"used", used_json(t.used)},
          {"average_cores", t.average_cores},
          {"average_gpus", t.average_gpus}};
}

}  // namespace

std::string usage_text(const UsageReport& report) {
  std::string out = fmt::format("Usage of {} on cluster {}", report.user, report.cluster);
  if (report.period > Duration(0))
    out += fmt::format(", period of {:.1f} days ({})", days(report.period), report.period_text);
  out += '\n';
  add_used(report, out);
  add_targets(report, out);
  add_shares(report, out);
  add_limits(report, out);
  add_jobs(report, out);
  return out;
}

Json usage_json(const UsageReport& report) {
  Json associations = Json::array(), limits = Json::array(), jobs = Json::array();
  for (const UsageAssociation& one : report.associations) {
    associations.push_back({{"account", one.account},
                            {"partition", one.partition},
                            {"raw_shares", one.raw_shares},
                            {"norm_shares", one.norm_shares},
                            {"effective_usage", one.effective_usage},
                            {"fair_share", one.factor},
                            {"used", used_json(one.used)},
                            {"target", one.target ? target_json(*one.target) : Json()}});
  }
  for (const UsageLimit& one : report.limits) {
    limits.push_back({{"of", one.owner},
                      {"limit", one.name},
                      {"unit", one.unit},
                      {"at_most", one.limit},
                      {"used", one.used ? Json(*one.used) : Json()}});
  }
  for (const UsageJob& one : report.jobs) {
    const JobEfficiency& e = one.efficiency;
    jobs.push_back({{"job_id", one.id},
                    {"name", one.name},
                    {"state", one.state},
                    {"elapsed", e.wall},
                    {"cpu_percent", e.cpu_percent()},
                    {"memory_percent", e.memory_percent()}});
  }
  return {{"user", report.user},
          {"cluster", report.cluster},
          {"period_seconds", to_seconds(report.period)},
          {"gpus_are_counted", report.tracks_gpus},
          {"lowers_priority", report.in_priority},
          {"associations", associations},
          {"limits", limits},
          {"jobs", jobs},
          {"history_missing", report.history_missing}};
}

}  // namespace sluice::cli
