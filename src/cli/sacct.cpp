// sacct: what was run.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/sacct/current_jobs.hpp"
#include "cli/sacct/current_priority.hpp"
#include "cli/sacct/history_json.hpp"
#include "cli/sacct/options.hpp"
#include "cli/sacct/values.hpp"
#include "cli/sacct/waiting_records.hpp"
#include "cli/shared/client.hpp"
#include "common/base/contains.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/history/history_filter.hpp"
#include "common/model/accounting_daemon.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"
#include "common/names/job_states.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::cli {
namespace {

constexpr std::string_view kPriority = "Priority";  // the field
constexpr int kMostWidth = 1 << 20;                 // of a column
constexpr Duration kAnswerTimeout = std::chrono::minutes(15);

struct Column {
  const SacctField* field = nullptr;
  int width = 0;
};

int fail(const std::string& text) {
  std::fprintf(stderr, "sacct: error: %s\n", text.c_str());
  return 1;
}

// Nothing when a field is not known, which was said.
std::optional<std::vector<Column>> parse_format(const std::string& format) {
  std::vector<Column> columns;
  for (const std::string& item : split_list(format)) {
    const size_t percent = std::min(item.find('%'), item.size());
    const std::string name = item.substr(0, percent);
    if (iequals(name, "all")) {
      for (const SacctField& field : sacct_fields()) columns.push_back({&field, field.width});
      continue;
    }
    Column column{find_sacct_field(name), 0};
    if (column.field == nullptr) {
      fail(fmt::format("Invalid field requested: \"{}\"", name));
      return std::nullopt;
    }
    column.width = column.field->width;
    if (percent < item.size()) {
      const auto width = to_number<int>(std::string_view(item).substr(percent + 1));
      if (width && *width != 0) column.width = std::clamp(*width, -kMostWidth, kMostWidth);
    }
    columns.push_back(column);
  }
  return columns;
}

class Table {
 public:
  Table(const SacctOptions& options, std::vector<Column> columns)
      : options_(options), columns_(std::move(columns)) {}

  void print_header() const {
    if (!options_.header) return;
    std::string line;
    for (const Column& column : columns_) add(column, column.field->name, SacctCut::kEnd, line);
    line += '\n';
    if (options_.layout == SacctLayout::kColumns) {
      for (const Column& column : columns_)
        line.append(static_cast<size_t>(std::abs(column.width)), '-').append(" ");
      line += '\n';
    }
    std::fputs(line.c_str(), stdout);
  }

  void print(const SacctRow& row, const SacctContext& context) const {
    std::string line;
    for (const Column& column : columns_)
      add(column, shown_cell(column.field->render(row, context)), column.field->cut, line);
    line += '\n';
    std::fputs(line.c_str(), stdout);
  }

 private:
  void add(const Column& column, std::string_view value, SacctCut cut, std::string& line) const {
    if (options_.layout != SacctLayout::kColumns) {
      line += value;
      if (options_.layout == SacctLayout::kParsable || &column != &columns_.back())
        line += options_.delimiter;
      return;
    }
    const auto width = static_cast<size_t>(std::abs(column.width));
    std::string text(value);
    if (text.size() > width && cut == SacctCut::kMark) text = text.substr(0, width - 1) + "+";
    if (text.size() > width && cut == SacctCut::kEnd) text.resize(width);
    const std::string padding(width - std::min(width, text.size()), ' ');
    line.append(column.width < 0 ? text + padding : padding + text).append(" ");
  }

  const SacctOptions& options_;
  const std::vector<Column> columns_;
};

// Whether a line of the job itself is asked for, not of single steps of it.
bool wants_job(const SacctOptions& o, const JobHistory& job) {
  const auto& names = o.request.jobs;
  return names.empty() || std::ranges::any_of(names, [&](const protocol::HistoryJobName& name) {
           return name.step == UINT32_MAX && history::is_named(job, name);
         });
}

// By its association (-x). With --whole-hetjob=no a job's number is that of one component.
bool is_wanted(const SacctOptions& o, const protocol::HistoryJob& record) {
  const JobHistory& job = record.job;
  if (!o.associations.empty() &&
      std::ranges::find(o.associations, record.association) == o.associations.end())
    return false;
  const auto& names = o.request.jobs;
  if (o.whole_het_job.value_or(true) || names.empty() || job.het_job == kNoJob) return true;
  return std::ranges::any_of(names, [&](const protocol::HistoryJobName& name) {
    return history::is_named(job, name) &&
           (name.offset != protocol::kNoOffset || name.job == job.id);
  });
}

// With --whole-hetjob=yes whoever names a component asks for all.
void name_leaders(Client& client, protocol::QueryHistoryRequest& request) {
  if (request.jobs.empty()) return;
  protocol::QueryHistoryRequest look = request;
  look.steps = false;
  (void)client.stream<protocol::HistoryChunk>(  // an error shows itself in the query that follows
      look,
      [&](protocol::HistoryChunk&& chunk) {
        for (const protocol::HistoryJob& record : chunk.jobs)
          if (record.job.het_job != kNoJob) request.jobs.push_back({.job = record.job.het_job});
        return true;
      },
      kAnswerTimeout);
}

void print_job(const SacctOptions& o, const Table& table, const protocol::HistoryJob& record,
               const SacctContext& context) {
  const JobHistory& job = record.job;
  if (!is_wanted(o, record)) return;
  const bool waits = job.array_job != kNoJob && job.array_task == kNoTask;
  if (waits && o.expand_arrays) {
    const auto tasks = IndexSet::parse(job.array_tasks);
    protocol::HistoryJob one = record;
    if (tasks) {
      tasks->for_each([&](uint32_t task) {
        one.job.array_task = task;
        table.print({one, nullptr}, context);
      });
      return;
    }
  }
  if (wants_job(o, job)) table.print({record, nullptr}, context);
  for (const StepHistory& step : record.steps) table.print({record, &step}, context);
}

SacctContext context_of(const SacctOptions& o) {
  SacctContext context;
  context.now = current_time();
  context.time_form = environment("SLURM_TIME_FORMAT").value_or("");
  context.convert = o.convert;
  context.unit = o.unit;
  context.truncate = o.truncate;
  context.from = o.request.from;
  context.until = std::max(o.request.from, std::min(o.request.until, context.now));
  context.expand_patterns = o.expand_patterns;
  return context;
}

bool has_flags(const SacctOptions& o, const protocol::HistoryJob& record,
               const SacctContext& context) {
  if (o.job_flags.empty()) return true;
  const std::vector<std::string> flags =
      split_list(find_sacct_field("Flags")->render({record, nullptr}, context));
  return std::ranges::any_of(o.job_flags, [&](const std::string& one) {
    return std::ranges::find(flags, one) != flags.end();
  });
}

// Says of which clusters the newest records wait for the daemon; gives what was said.
std::vector<std::string> tell_waiting(Client& client,
                                      const std::vector<protocol::WaitingHistory>& waiting) {
  if (waiting.empty()) return {};
  const std::string own = client.config().cluster_name;
  const bool of_own =
      std::ranges::any_of(waiting, [&](const auto& one) { return iequals(one.cluster, own); });
  std::vector<std::string> lines =
      waiting_lines(waiting, own, of_own ? records_in_controller(client) : std::nullopt);
  for (const std::string& line : lines) std::fprintf(stderr, "sacct: warning: %s\n", line.c_str());
  return lines;
}

// With these a daemon takes no records either.
bool cannot_store(ErrorCode code) {
  return code == ErrorCode::kUnreachable || code == ErrorCode::kDamaged ||
         code == ErrorCode::kStorageFull || code == ErrorCode::kRetry;
}

// What the daemon answers, else what the controller does; whether all of it came is the result.
// `waiting`: which records the daemon has yet to get.
bool read_history(Client& client, const protocol::QueryHistoryRequest& request,
                  const std::function<void(protocol::HistoryChunk&&)>& take,
                  std::vector<protocol::WaitingHistory>& waiting) {
  bool begun = false;
  const Status done = client.stream<protocol::HistoryChunk>(
      request,
      [&](protocol::HistoryChunk&& chunk) {
        begun = true;
        waiting.insert(waiting.end(), chunk.waiting.begin(), chunk.waiting.end());
        take(std::move(chunk));
        return true;
      },
      kAnswerTimeout);
  if (done) return true;
  const bool away = done.error().code == ErrorCode::kUnreachable;
  fail(fmt::format("Problem talking to the database: {}",
                   away ? "Connection refused" : error_text(done.error())));
  const std::string& own = client.config().cluster_name;
  if (waiting.empty() && cannot_store(done.error().code) && contains(request.clusters, own))
    waiting.push_back({own, kNoTime, {}});
  if (!away || begun) return false;
  if (const Status current = stream_current_jobs(client, request, take); !current) {
    fail(error_text(current.error()));
    waiting.clear();
    return false;
  }
  fail("History is missing: these are the jobs that the controller knows");
  return false;
}

// The same; then says what waits. `warnings`: what is missing nevertheless.
bool stream_history(Client& client, const protocol::QueryHistoryRequest& request,
                    const std::function<void(protocol::HistoryChunk&&)>& take,
                    std::vector<std::string>& warnings) {
  std::vector<protocol::WaitingHistory> waiting;
  const bool complete = read_history(client, request, take, waiting);
  warnings = tell_waiting(client, waiting);
  return complete;
}

// Whether all QOS that are asked for are there (else that was told). A daemon that is away is told
// of where the jobs are asked for.
bool are_qos(Client& client, const std::vector<std::string>& asked) {
  if (asked.empty()) return true;
  protocol::QueryAccountingRequest request;
  request.entity = protocol::AccountingEntity::kQos;
  const auto reply = client.call<protocol::QueryAccountingReply>(request);
  if (!reply) return true;
  std::vector<std::string> names;
  for (const QosRecord& qos : reply->all_qos) names.push_back(qos.name);
  for (const std::string& name : asked) {
    if (std::ranges::any_of(names, [&](const auto& known) { return iequals(known, name); }))
      continue;
    fail(fmt::format("You gave a bad qos '{}'. Valid QOS's are {}", name, join(names, ",")));
    std::fputs("sacct: fatal: problem processing qos list\n", stderr);
    return false;
  }
  return true;
}

// "Sat Nov 28 02:50:44 2026", of whole seconds.
std::string moment(Time at) { return at <= kNoTime ? "Epoch 0" : format_time(at, kDayAndTime); }

// -v: which jobs are asked for, as Slurm says it.
void tell_window(const SacctOptions& o) {
  const protocol::QueryHistoryRequest& request = o.request;
  std::vector<JobState> states = request.states;
  std::ranges::sort(states);
  std::vector<std::string> names;
  names.reserve(states.size());
  for (const JobState state : states) names.emplace_back(job_state_text(state));
  for (const std::string_view flag : job_state_list(JobState::kPending, request.flags))
    if (flag != job_state_text(JobState::kPending)) names.emplace_back(flag);
  const Time until =
      std::max(std::min(request.until, net::now()), request.from + std::chrono::seconds(1));
  std::fprintf(stderr, "sacct: Jobs %s in the time window from %s to %s\n",
               names.empty() ? "Eligible" : join(names, ",").c_str(), moment(request.from).c_str(),
               moment(until).c_str());
}

int print_text(Client& client, const SacctOptions& o, bool variables) {
  const std::string rule(80, '-');
  std::set<JobId> jobs;
  for (const protocol::HistoryJobName& name : o.request.jobs) {
    if (!jobs.insert(name.job).second) continue;
    const auto reply = client.call<protocol::QueryJobTextReply>(
        protocol::QueryJobTextRequest{o.request.clusters.front(), name, variables});
    std::string text = "NONE\n";
    if (reply) text = reply->text;
    else if (reply.error().code == ErrorCode::kInvalidJobId) continue;
    else if (reply.error().code != ErrorCode::kNotFound) return fail(error_text(reply.error()));
    if (variables) std::ranges::replace(text, '\0', '\n');
    std::printf(variables ? "Environment used for %u (must be batch to display)\n%s\n"
                          : "Batch Script for %u\n%s\n",
                name.job, rule.c_str());
    std::printf("%s\n", text.c_str());
  }
  return 0;
}

int print_structured(Client& client, const SacctOptions& o, const SacctContext& context) {
  const CurrentPriorities priorities(client, o.request);
  DocumentPrinter printer(o.form, "jobs");
  StructuredDocument document;
  const bool complete = stream_history(
      client, o.request,
      [&](protocol::HistoryChunk&& chunk) {
        priorities.fill(chunk);
        for (const protocol::HistoryJob& record : chunk.jobs)
          if (is_wanted(o, record) && has_flags(o, record, context))
            printer.add(history_to_json(record, context));
      },
      document.warnings);
  document.command_line = o.command_line;
  document.cluster = client.config().cluster_name;
  document.accounting_storage = client.config().accounting_storage_type;
  if (!complete) document.errors.emplace_back("the accounting daemon did not answer");
  printer.finish(document);
  return complete ? 0 : 1;
}

}  // namespace

int sacct_main(int argc, char** argv) {
  SacctOptions o;
  if (const auto status = read_sacct_options(argc, argv, o)) return *status;
  auto columns = parse_format(o.format.value_or(std::string(kSacctFormat)));
  if (!columns) return 1;
  if (o.verbose > 0) tell_window(o);
  Result<Client> client = Client::open();
  if (!client) return report("sacct", client.error());
  const std::string& completions = client->config().job_comp_type;
  if (o.completion && (completions.empty() || iequals(completions, "jobcomp/none"))) {
    std::fputs("Slurm job completion is disabled\n", stderr);
    return 1;
  }
  if (!has_accounting_daemon(client->config())) {
    std::fputs("Slurm accounting storage is disabled\n", stderr);
    return 1;
  }
  if (!o.all_clusters && !iequals(o.clusters, "all")) {
    o.request.clusters = split_list(o.clusters);
    if (o.request.clusters.empty()) o.request.clusters.push_back(client->config().cluster_name);
  }
  if (!are_qos(*client, o.request.qos)) return 1;
  if (o.script || o.variables) return print_text(*client, o, o.variables);
  if (o.whole_het_job.value_or(false)) name_leaders(*client, o.request);
  const SacctContext context = context_of(o);
  if (o.form) return print_structured(*client, o, context);
  std::optional<CurrentPriorities> priorities;
  if (std::ranges::any_of(*columns, [](const Column& one) { return one.field->name == kPriority; }))
    priorities.emplace(*client, o.request);
  const Table table(o, std::move(*columns));
  table.print_header();
  std::vector<std::string> warnings;  // which are on the standard error
  const bool complete = stream_history(
      *client, o.request,
      [&](protocol::HistoryChunk&& chunk) {
        if (priorities) priorities->fill(chunk);
        for (const protocol::HistoryJob& record : chunk.jobs)
          if (has_flags(o, record, context)) print_job(o, table, record, context);
      },
      warnings);
  return complete ? 0 : 1;
}

}  // namespace sluice::cli
