// The jobs as comma-separated values (RFC 4180, but for line ends).
#include <fmt/format.h>

#include "common/names/job_states.hpp"
#include "sim/report/text.hpp"

namespace sluice::sim {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// Seconds from the beginning; empty: it did not come to that.
std::string at(Time when, Time begin) {
  return when == kNoTime ? std::string() : fmt::format("{}", to_seconds(when - begin));
}

}  // namespace

std::string csv_text(const SimResult& result) {
  std::string out =
      "trace_job,job,user,partition,state,submit,start,end,wait,run,limit,cpus,nodes,runs,"
      "forecast,forecast_error,slowdown\n";
  std::vector<size_t> nodes(result.jobs.size());
  for (const SimRun& run : result.runs) nodes[run.job] = run.nodes.size();
  for (size_t i = 0; i < result.jobs.size(); ++i) {
    const SimJob& job = result.jobs[i];
    const bool refused = job.id == kNoJob, started = job.start != kNoTime;
    const bool ended = started && job.end != kNoTime;
    const bool foretold = started && job.forecast != kNoTime;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(job.trace->id),
        refused ? std::string() : std::to_string(job.id), quoted(job.trace->user),
        quoted(job.trace->partition), refused ? "REFUSED" : job_state_text(job.state),
        at(job.submit, result.begin), at(job.start, result.begin), at(job.end, result.begin),
        started ? fmt::format("{:.0f}", wait_of(job)) : "",
        ended ? fmt::format("{}", to_seconds(job.end - job.begun)) : "",
        refused ? std::string() : fmt::format("{}", uint64_t{job.limit} * 60),
        started ? job.cpus : job.trace->cpus, nodes[i], job.runs, at(job.forecast, result.begin),
        foretold ? fmt::format("{}", to_seconds(job.start - job.forecast)) : "",
        ended ? fmt::format("{:.4f}", slowdown_of(job)) : "");
  }
  return out;
}

}  // namespace sluice::sim
