#include "sim/command.hpp"

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "common/base/errno_text.hpp"
#include "common/base/time_text.hpp"
#include "common/config_files/load.hpp"
#include "common/os/read_file.hpp"
#include "common/os/replace_file.hpp"
#include "sim/png.hpp"
#include "sim/read_trace.hpp"
#include "sim/report/chart.hpp"
#include "sim/report/text.hpp"
#include "sim/run/node_command.hpp"
#include "sim/run/reservation_lines.hpp"
#include "sim/run/simulator.hpp"
#include "sim/trace/lublin.hpp"

namespace sluice::sim {
namespace {

struct Arguments {
  std::string conf, compare, trace, until, reservations, requested = "trace", unit = "cpu";
  std::vector<std::string> nodes;
  std::string csv, svg, png;
  uint64_t seed = 1;
  uint32_t jobs = 10'000;
  double load = 0;
  bool times = false;
};

int fail(const std::string& what) {
  std::fprintf(stderr, "sluice sim: error: %s\n", what.c_str());
  return 1;
}

void add_options(CLI::App& app, Arguments& a) {
  app.add_option("-f,--conf", a.conf,
                 "slurm.conf of the cluster (default: $SLURM_CONF or /etc/slurm/slurm.conf)");
  app.add_option("--compare", a.compare, "another slurm.conf, simulated beside the first");
  app.add_option(
         "--trace", a.trace,
         "file of jobs: SWF or what sacct --parsable2 prints, plain or compressed by gzip; a "
         "StateSaveLocation: the jobs that its controller knows; or lublin: a load made by the "
         "model of Lublin and Feitelson")
      ->required();
  app.add_option("--jobs", a.jobs, "how many jobs --trace lublin makes (default: 10000)")
      ->check(CLI::Range(1U, 10'000'000U));
  app.add_option(
         "--load", a.load,
         "stretch or squeeze the times between submissions to this offered load, in percent")
      ->check(CLI::Range(0.1, 1000.0));
  app.add_option(
         "--requested", a.requested,
         "time limits: trace (where it has them, else the run times), exact (the run times) or "
         "factor (the run times times 1 to 5, by the seed)")
      ->check(CLI::IsMember({"trace", "exact", "factor"}));
  app.add_option("--unit", a.unit, "what a processor of the trace is: cpu, or a whole node")
      ->check(CLI::IsMember({"cpu", "node"}));
  app.add_option("--nodes", a.nodes,
                 "so many nodes in place of the file's, like its first: 1000, or "
                 "1000:CPUs=64,RealMemory=256000; several add up");
  app.add_option("--reservations", a.reservations,
                 "file of reservations, a line each as scontrol create reservation takes it; times "
                 "are UTC, or from the trace's beginning on: StartTime=now+2hours");
  app.add_option("--seed", a.seed, "of everything that is random (default: 1)");
  app.add_option("--until", a.until, "stop after so much of the trace's time: 30-0, 12:00:00");
  app.add_option("--csv", a.csv, "write a line for each job to this file");
  app.add_option("--svg", a.svg, "draw the machine over time into this file");
  app.add_option("--png", a.png, "the same as PNG");
  app.add_flag("--times", a.times, "tell how much CPU time passes took, too");
}

Result<std::shared_ptr<const ClusterConfig>> configuration(const std::string& path,
                                                           const std::vector<std::string>& nodes) {
  WholeConfig loaded = load_whole_config(path);
  std::string wrong;
  for (const std::string& error : loaded.errors) wrong += (wrong.empty() ? "" : "\n") + error;
  if (!wrong.empty()) return failure(wrong);
  if (Status ok = replace_nodes(nodes, loaded.config); !ok) return tl::unexpected(ok.error());
  if (loaded.config.nodes.empty() || loaded.config.partitions.empty())
    return failure(path + ": there is no node, or no partition");
  // accounts and QOS are in a database, which is not asked
  loaded.config.accounting_storage_enforce.clear();
  return std::make_shared<const ClusterConfig>(std::move(loaded.config));
}

uint64_t units_of(const ClusterConfig& config, Unit unit) {
  if (unit == Unit::kNode) return config.nodes.size();
  uint64_t cpus = 0;
  for (const NodeConfig& node : config.nodes) cpus += node.cpus;
  return cpus;
}

struct Load {
  Trace trace;
  Heading heading;
};

Result<Load> make_load(const Arguments& a, uint64_t units) {
  Load load;
  if (a.trace == "lublin") {
    load.trace = lublin_load(a.jobs, static_cast<uint32_t>(units), a.seed);
    load.heading.trace = fmt::format("lublin, seed {}", a.seed);
  } else {
    auto read = read_trace(a.trace);
    if (!read) return tl::unexpected(read.error());
    load.trace = std::move(*read);
    load.heading.trace = load.trace.name;
  }
  const RequestedTime how = a.requested == "exact"    ? RequestedTime::kExact
                            : a.requested == "factor" ? RequestedTime::kFactor
                                                      : RequestedTime::kTrace;
  size_t told = 0;
  for (const TraceJob& job : load.trace.jobs) {
    told += job.limit_s > 0 ? 1 : 0;
    load.heading.end_at_limit += job.ends_at_limit ? 1 : 0;
  }
  load.heading.requested = how == RequestedTime::kFactor
                               ? fmt::format("run times x 1 to 5, seed {}", a.seed)
                           : how == RequestedTime::kExact || told == 0
                               ? "run times"
                               : fmt::format("of the trace, for {} of its jobs run times",
                                             load.trace.jobs.size() - told);
  if (how == RequestedTime::kTrace && told == load.trace.jobs.size())
    load.heading.requested = "of the trace";
  set_requested_times(load.trace, how, a.seed);
  if (a.load > 0) scale_to_load(load.trace, a.load / 100, units);
  load.heading.passed_over = load.trace.passed_over;
  load.heading.load = offered_load(load.trace, units);
  return load;
}

// Of the thread, as each configuration has one.
Duration cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(time.tv_nsec));
}

// One line that is written over; it goes when all is done.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_ != SteadyTime{}) std::fputs("\r\033[K", stderr);
  }
  void show(const Progress& progress, const Trace& trace) {
    constexpr Duration kBetween = std::chrono::milliseconds(200);
    const auto now = std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
    if (now - shown_ < kBetween) return;
    shown_ = now;
    const size_t of = std::max<size_t>(1, progress.of);
    std::fprintf(
        stderr, "\r%3zu %%  %s  %zu of %zu jobs, %llu waiting, %llu running\033[K",
        100 * progress.submitted / of,
        format_span(std::chrono::floor<std::chrono::seconds>(progress.now - trace.begin)).c_str(),
        progress.submitted, progress.of, static_cast<unsigned long long>(progress.waiting),
        static_cast<unsigned long long>(progress.running));
    std::fflush(stderr);
  }

 private:
  SteadyTime shown_{};
};

// All of them at once, each on a thread of its own. The line of progress is of the first that has
// not ended.
std::vector<SimResult> simulate(const std::vector<std::shared_ptr<const ClusterConfig>>& configs,
                                const std::vector<std::string>& names, const Trace& trace,
                                const SimOptions& options) {
  ProgressLine line;
  std::atomic<size_t> shown{0};
  const bool to_terminal = ::isatty(STDERR_FILENO) != 0;
  std::vector<std::future<SimResult>> runs;
  for (size_t i = 0; i < configs.size(); ++i) {
    SimOptions own = options;
    own.name = names[i];
    if (to_terminal)
      own.on_progress = [&, i](const Progress& progress) {
        if (shown == i) line.show(progress, trace);
      };
    runs.push_back(std::async(std::launch::async, [&trace, config = configs[i], own] {
      return Simulator(config, trace, own).run();
    }));
  }
  std::vector<SimResult> results;
  for (std::future<SimResult>& run : runs) {
    results.push_back(run.get());
    ++shown;
  }
  return results;
}

Status write_files(const Arguments& a, const SimResult& result) {
  if (!a.csv.empty()) {
    if (Status ok = replace_file(a.csv, csv_text(result), {.mode = 0644}); !ok) return ok;
  }
  if (!a.svg.empty()) {
    SvgCanvas canvas(kChartWidth, kChartHeight);
    draw_chart(result, canvas);
    if (Status ok = replace_file(a.svg, canvas.finished(), {.mode = 0644}); !ok) return ok;
  }
  return a.png.empty() ? Status() : write_png(result, a.png);
}

Status read_reservations(const std::string& path, Time begin, SimOptions& options) {
  errno = 0;
  const auto text = read_file(path);
  if (!text) return failure(path + ": " + errno_text(errno));
  auto read = parse_reservations(*text, path, begin);
  if (!read) return tl::unexpected(read.error());
  options.reservations = std::move(*read);
  return {};
}

// Of each configuration, before any takes long.
Status check_reservations(const std::vector<std::shared_ptr<const ClusterConfig>>& configs,
                          const Trace& trace, const SimOptions& options) {
  Trace nothing;
  nothing.begin = trace.begin;
  SimOptions own;
  own.reservations = options.reservations;
  for (const auto& config : configs) {
    const SimResult result = Simulator(config, nothing, own).run();
    if (!result.refused_reservations.empty())
      return failure("reservation " + result.refused_reservations.front());
  }
  return {};
}

int run(const Arguments& a) {
  if (std::isnan(a.load)) return fail("--load: nan is no percentage");
  SimOptions options;
  options.unit = a.unit == "node" ? Unit::kNode : Unit::kCpu;
  if (a.times) options.cpu_clock = cpu_time;
  if (!a.until.empty()) {
    const auto until = parse_span(a.until);
    if (!until || *until <= Duration(0))
      return fail(fmt::format("--until: \"{}\" is no span of time like 30-0 or 12:00:00", a.until));
    options.until = *until;
  }
  std::vector<std::string> paths{config_path(a.conf)};
  if (!a.compare.empty()) paths.push_back(config_path(a.compare));
  std::vector<std::shared_ptr<const ClusterConfig>> configs;
  for (const std::string& path : paths) {
    auto config = configuration(path, a.nodes);
    if (!config) return fail(config.error().text);
    configs.push_back(std::move(*config));
  }
  const auto load = make_load(a, units_of(*configs.front(), options.unit));
  if (!load) return fail(load.error().text);
  if (!a.reservations.empty()) {
    ::setenv("TZ", "UTC0", 1);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
    Status ok = read_reservations(a.reservations, load->trace.begin, options);
    if (ok) ok = check_reservations(configs, load->trace, options);
    if (!ok) return fail(ok.error().text);
  }
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::string& path : paths) names.push_back(path.substr(path.rfind('/') + 1));
  const std::vector<SimResult> results = simulate(configs, names, load->trace, options);
  if (Status ok = write_files(a, results.front()); !ok) return fail(ok.error().text);
  std::vector<const SimResult*> shown;
  shown.reserve(results.size());
  for (const SimResult& result : results) shown.push_back(&result);
  std::fputs(report_text(load->heading, shown, {.times = a.times}).c_str(), stdout);
  return 0;
}

}  // namespace

int command_main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Runs the scheduler on a trace of jobs, on a virtual clock, and tells how it went.",
               "sluice sim");
  add_options(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 1; }
  return run(a);
}

}  // namespace sluice::sim
