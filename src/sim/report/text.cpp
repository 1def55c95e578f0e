#include "sim/report/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "common/base/time_text.hpp"

namespace sluice::sim {
namespace {

// Columns: the first to the left, the others to the right. An empty row is an empty line.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i)
        line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                       : fmt::format("  {:>{}}", row[i], widths[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string span(double seconds) {
  const auto whole = std::chrono::seconds(std::llround(std::abs(seconds)));
  return (seconds <= -0.5 ? "-" : "") + format_span(whole);
}
std::string number(double value) { return fmt::format("{:.2f}", value); }
std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string count(uint64_t value) { return fmt::format("{}", value); }
std::string milliseconds(Duration time) {
  return fmt::format("{:.2f} ms", static_cast<double>(time.count()) / 1000);
}

using Cell = std::function<std::string(const Figures&)>;
struct Row {
  const char* name;
  Cell cell;
};

std::vector<Row> job_rows() {
  return {
      {"Jobs", [](const Figures& f) { return count(f.jobs); }},
      {"  refused", [](const Figures& f) { return count(f.refused); }},
      {"  ended", [](const Figures& f) { return count(f.ended); }},
      {"    at their time limit", [](const Figures& f) { return count(f.timed_out); }},
      {"    after more than one run", [](const Figures& f) { return count(f.run_again); }},
      {"  running still", [](const Figures& f) { return count(f.running); }},
      {"  waiting still", [](const Figures& f) { return count(f.waiting); }},
      {"Utilisation", [](const Figures& f) { return percent(f.utilisation); }},
      {"  to the last submission", [](const Figures& f) { return percent(f.utilisation_busy); }},
      {"Wait, mean", [](const Figures& f) { return span(f.wait.mean); }},
      {"  median", [](const Figures& f) { return span(f.wait.median); }},
      {"  90 %", [](const Figures& f) { return span(f.wait.p90); }},
      {"  95 %", [](const Figures& f) { return span(f.wait.p95); }},
      {"  99 %", [](const Figures& f) { return span(f.wait.p99); }},
      {"  longest", [](const Figures& f) { return span(f.wait.most); }},
      {"Bounded slowdown, mean", [](const Figures& f) { return number(f.slowdown.mean); }},
      {"  median", [](const Figures& f) { return number(f.slowdown.median); }},
      {"  95 %", [](const Figures& f) { return number(f.slowdown.p95); }},
  };
}

std::vector<Row> scheduler_rows(const TextOptions& options) {
  std::vector<Row> rows = {
      {"Jobs with a forecast", [](const Figures& f) { return count(f.forecast_error.count); }},
      {"  off by, mean", [](const Figures& f) { return span(f.forecast_error.mean); }},
      {"  off by, median", [](const Figures& f) { return span(f.forecast_error.median); }},
      {"  off by, 95 %", [](const Figures& f) { return span(f.forecast_error.p95); }},
      {"  earlier by, mean", [](const Figures& f) { return span(f.forecast_early.mean); }},
      {"  started later", [](const Figures& f) { return count(f.forecast_late); }},
      {"Passes", [](const Figures& f) { return count(f.passes.passes); }},
      {"  that started jobs", [](const Figures& f) { return count(f.passes.starting); }},
      {"  jobs backfilled", [](const Figures& f) { return count(f.passes.backfilled); }},
      {"  jobs looked at, mean",
       [](const Figures& f) {
         const auto all = static_cast<double>(std::max<uint64_t>(1, f.passes.passes));
         return number(static_cast<double>(f.passes.looked_at) / all);
       }},
      {"  longest queue", [](const Figures& f) { return count(f.passes.longest_queue); }},
  };
  if (!options.times) return rows;
  rows.push_back({"  CPU time, all", [](const Figures& f) { return milliseconds(f.passes.cpu); }});
  rows.push_back({"  CPU time, mean", [](const Figures& f) {
                    const auto all = static_cast<int64_t>(std::max<uint64_t>(1, f.passes.passes));
                    return milliseconds(f.passes.cpu / all);
                  }});
  rows.push_back(
      {"  CPU time, most", [](const Figures& f) { return milliseconds(f.passes.slowest); }});
  return rows;
}

void add_rows(const std::vector<Row>& rows, const std::vector<Figures>& figures, Table& table) {
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const Figures& f : figures) cells.push_back(row.cell(f));
    table.add(std::move(cells));
  }
}

using GroupList = std::vector<GroupFigures> Figures::*;

std::string group_table(const std::string& name, const std::vector<Figures>& figures,
                        GroupList list) {
  Table table;
  const bool two = figures.size() > 1;
  std::vector<std::string> heading{name, "jobs", "share"};
  for (size_t i = 0; i < figures.size(); ++i) {
    const std::string which = two ? fmt::format(" ({})", i + 1) : "";
    for (const char* what : {"wait", "95 %", "slowdown"}) heading.push_back(what + which);
  }
  table.add(std::move(heading));
  for (const GroupFigures& group : figures.front().*list) {
    std::vector<std::string> cells{group.name, count(group.jobs), percent(group.share)};
    for (const Figures& f : figures) {
      const auto same = std::ranges::find(f.*list, group.name, &GroupFigures::name);
      if (same == (f.*list).end()) {
        cells.insert(cells.end(), 3, "-");
        continue;
      }
      cells.push_back(span(same->wait.mean));
      cells.push_back(span(same->wait.p95));
      cells.push_back(number(same->slowdown));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string heading_text(const Heading& heading, const SimResult& result) {
  std::string out = fmt::format("Trace          {}: {} jobs", heading.trace, result.jobs.size());
  if (heading.passed_over > 0) out += fmt::format(", {} more passed over", heading.passed_over);
  if (heading.end_at_limit > 0)
    out += fmt::format("; {} were not over and run to their time limits", heading.end_at_limit);
  out += fmt::format("\nMachine        {} nodes, {} CPUs\n", result.nodes.size(), result.cpus);
  out += fmt::format("Time limits    {}\n", heading.requested);
  out += fmt::format("Offered load   {}\n", percent(heading.load));
  const auto whole = std::chrono::floor<std::chrono::seconds>(result.end - result.begin);
  out += fmt::format("Simulated      {}{}\n", format_span(whole),
                     result.stopped ? ", stopped there" : "");
  return out;
}

}  // namespace

std::string report_text(const Heading& heading, const std::vector<const SimResult*>& results,
                        const TextOptions& options) {
  std::vector<Figures> figures;
  for (const SimResult* result : results) figures.push_back(make_figures(*result));
  std::string out = heading_text(heading, *results.front()) + "\n";
  Table table;
  if (results.size() > 1) {
    std::vector<std::string> names{""};
    for (size_t i = 0; i < results.size(); ++i)
      names.push_back(fmt::format("({}) {}", i + 1, results[i]->name));
    table.add(std::move(names));
  }
  add_rows(job_rows(), figures, table);
  add_rows(scheduler_rows(options), figures, table);
  out += table.text();
  out += "\n" + group_table("CPUs", figures, &Figures::by_size);
  if (figures.front().by_user.size() > 1)
    out += "\n" + group_table("User", figures, &Figures::by_user);
  for (size_t i = 0; i < results.size(); ++i) {
    for (const auto& [why, jobs] : results[i]->refused) {
      const std::string which = results.size() > 1 ? fmt::format("({}) ", i + 1) : "";
      out += fmt::format("\n{}{} refused: {}", which, jobs, why);
    }
  }
  if (out.back() != '\n') out += "\n";
  return out;
}

}  // namespace sluice::sim
