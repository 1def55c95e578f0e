// sluice explain JOB: why a job waits, in words, and what change would let it start; sluice explain
// --queue: when which job is to start, as a chart.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/format/queue_chart.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/shared/client.hpp"
#include "cli/shared/terminal.hpp"
#include "common/format/job_values.hpp"
#include "common/names/errors.hpp"
#include "common/protocol/job_query.hpp"
#include "common/protocol/query.hpp"

namespace sluice::cli {

namespace {

constexpr size_t kUsualWidth = 100;
constexpr size_t kMostLines = 200;

void add_job(const protocol::JobRecord& record, Chart& chart) {
  const Job& job = record.job;
  const std::string user =
      job.spec->user_name.empty() ? std::to_string(job.spec->uid) : job.spec->user_name.str();
  ChartJob row{.user = user, .partition = job.partition.str()};
  append_job_id({&record}, {}, row.id);
  if (job.state == JobState::kPending) {
    row.start = record.soft.expected_start;
    if (row.start == kNoTime) {
      ++chart.unplanned;
      return;
    }
    row.start = std::max(row.start, chart.now);
    const Minutes limit = job.time_limit != 0 ? job.time_limit : job.spec->time_limit;
    row.end = limit == kInfiniteMinutes ? kNever : row.start + std::chrono::minutes(limit);
    row.nodes = record.soft.planned_nodes.str();
    if (!record.soft.partition.empty()) row.partition = record.soft.partition.str();
  } else {
    if (!job.allocation) return;
    row.runs = true;
    row.start = chart.now;
    row.end = std::max(job.end == kNoTime ? chart.now : job.end, chart.now);
    row.nodes = job.allocation->node_list;
  }
  chart.jobs.push_back(std::move(row));
}

int explain_queue(Client& client) {
  Chart chart;
  const Status status = client.query_jobs({}, [&](protocol::JobChunk&& chunk) {
    chart.now = chunk.now;
    for (const protocol::JobRecord& record : chunk.jobs) add_job(record, chart);
    return true;
  });
  if (!status) return report("sluice", status.error());
  const auto size = terminal_size();
  const size_t width = size ? size->columns : kUsualWidth;
  for (const std::string& line : chart_lines(std::move(chart), width, kMostLines))
    std::puts(shown_text(line, {}).c_str());
  return 0;
}

}  // namespace

int explain_main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  const bool queue = word == "--queue" || word == "-q";
  if (argc != 2 || (word.starts_with('-') && !queue)) {
    const bool asked = word == "--help" || word == "-h";
    std::fputs("Usage: sluice explain JOB\n       sluice explain --queue\n",
               asked ? stdout : stderr);
    return asked ? 0 : 1;
  }
  Result<Client> client = Client::open();
  if (!client) return report("sluice", client.error());
  client->keep_asking();
  if (queue) return explain_queue(*client);
  protocol::ExplainRequest request;
  request.job = argv[1];
  const auto reply = client->call<protocol::ExplainReply>(request);
  if (!reply) return report("sluice", reply.error());
  for (const std::string& line : reply->lines) std::puts(shown_text(line, {}).c_str());
  return 0;
}

}  // namespace sluice::cli
