// squeue: the jobs (or steps) that wait and run. The controller filters; records arrive in chunks
// and are kept until they are sorted (--json and --yaml sort nothing, and keep none).
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/table_printer.hpp"
#include "cli/options/squeue_options.hpp"
#include "common/os/host_name.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/names/errors.hpp"
#include "common/format/gathered_tasks.hpp"
#include "cli/format/job_fields.hpp"
#include "cli/format/job_json.hpp"
#include "cli/format/step_fields.hpp"
#include "common/names/step_names.hpp"
#include "common/protocol/job_query.hpp"

namespace sluice::cli {
namespace {

using Records = std::vector<protocol::JobRecord>;

constexpr const char* kJobFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr const char* kLongFormat = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
constexpr const char* kStartFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
constexpr const char* kStateFormat = "%.18i %.2t";
constexpr const char* kStepFormat = "%.15i %.8j %.9P %.8u %.9M %N";

TableFormat choose_format(const SqueueOptions& o) {
  if (o.names) return parse_name_format(*o.names);
  if (o.letters && *o.letters != "%all") return parse_letter_format(*o.letters);
  if (o.letters) {
    std::string all;
    for (const char first : {'a', 'A'}) {
      for (char c = first; c < first + 26; ++c) {
        const bool known = o.step_mode ? find_field(step_fields(), c) != nullptr
                                       : find_field(job_fields(), c) != nullptr;
        if (known) all.append(all.empty() ? "%" : "|%").push_back(c);
      }
    }
    return parse_letter_format(all);
  }
  if (o.step_mode) return parse_letter_format(kStepFormat);
  if (o.only_state) return parse_letter_format(kStateFormat);
  if (o.start) return parse_letter_format(kStartFormat);
  return parse_letter_format(o.long_form ? kLongFormat : kJobFormat);
}

// What Slurm sorts jobs by: fewer letters than there are columns, and some that are none, which
// sort nothing here.
constexpr std::string_view kJobOrders = "bcdefghijlmnptuvzBCDGHIJLMNOPQSTUV";

// Nothing when a letter is wrong (said). Steps take any.
template <class Row>
std::optional<std::vector<SortField<Row>>> choose_order(const SqueueOptions& o,
                                                        std::span<const FieldRow<Row>> fields) {
  const std::string sort = o.sort.value_or(o.step_mode ? "P,i" : o.start ? "S" : "P,t,-p");
  if (!o.step_mode && !is_order("squeue", sort, kJobOrders)) return std::nullopt;
  std::string known;
  for (const char c : sort) {
    const bool sign = c == ',' || c == '-' || c == '+';
    if (sign || find_field(fields, c) != nullptr) known += c;
    else known.erase(known.find_last_not_of("-+") + 1);
  }
  char unknown = '\0';
  return parse_sort(known, fields, &unknown);
}

// The controller was asked for whole jobs: whether one of them was named but for this component.
bool is_other_component(const SqueueOptions& o, const Job& job) {
  if (job.het == nullptr || std::ranges::none_of(o.jobs, [](const NamedJob& named) {
        return named.component.has_value();
      }))
    return false;
  return std::ranges::none_of(o.jobs, [&](const NamedJob& named) {
    const auto id = to_number<JobId>(named.id);
    return (id == job.id || id == job.het->leader) &&
           named.component.value_or(job.het->offset) == job.het->offset;
  });
}

bool wanted(const SqueueOptions& o, const JobView& view, const RenderContext& context) {
  if (is_other_component(o, view.job())) return false;
  if (o.not_user && view.spec().uid == *o.not_user) return false;
  if (o.start && o.states_given.empty() && view.job().state != JobState::kPending) return false;
  if (o.running_over < Duration(0) && o.running_under < Duration(0)) return true;
  const Duration ran = run_time(view, context.now);
  const bool runs = view.job().state == JobState::kRunning;
  return runs && (o.running_over < Duration(0) || ran > o.running_over) &&
         (o.running_under < Duration(0) || ran < o.running_under);
}

void add_rows(const SqueueOptions& o, const JobView& view, std::vector<JobView>& rows) {
  if (!is_pending_array(view)) {
    rows.push_back(view);
    return;
  }
  const auto tasks = tasks_asked_for(o.request.ids, view);
  if (!o.one_row_a_task && !tasks) {
    rows.push_back(view);
    return;
  }
  view.job().array->pending.for_each([&](uint32_t task) {
    if (!tasks || tasks->contains(task)) rows.push_back({view.record, task, view.partition});
  });
}

// The lines of the records: one each, or one a waiting task, or one a partition asked for.
std::vector<JobView> make_rows(const SqueueOptions& o, const Records& records,
                               const RenderContext& context) {
  std::vector<JobView> rows;
  rows.reserve(records.size());
  for (const protocol::JobRecord& record : records) {
    JobView view{&record, kNoTask, {}};
    if (!wanted(o, view, context)) continue;
    const std::string_view all = view.spec().partitions;
    if (!o.one_row_a_partition || view.job().state != JobState::kPending || all.empty()) {
      add_rows(o, view, rows);
      continue;
    }
    for (size_t from = 0; from <= all.size();) {
      const size_t comma = std::min(all.find(',', from), all.size());
      view.partition = all.substr(from, comma - from);
      add_rows(o, view, rows);
      from = comma + 1;
    }
  }
  return rows;
}

using HostSet = std::set<std::string>;

// -s, -n and -w of a step: the name is its own or its job's, the nodes are those that it has of its
// job's.
bool step_wanted(const SqueueOptions& o, const StepView& view, const HostSet& nodes) {
  const auto has = [](const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
  };
  std::string id;
  append_step_id(view, id);
  if (!o.steps.empty() && !has(o.steps, id) && !has(o.steps, step_id_text(view.step->id)) &&
      !has(o.steps, step_id_text({view.step->id.job, number_of_step(view.step->id.step)})))
    return false;
  if (!o.step_names.empty() && !has(o.step_names, step_name(view)) &&
      !has(o.step_names, view.job().spec().name))
    return false;
  if (nodes.empty() || view.step->layout == nullptr) return true;
  return std::ranges::any_of(view.step->layout->nodes,
                             [&nodes](const StepNode& node) { return nodes.contains(node.name); });
}

std::vector<StepView> make_step_rows(const SqueueOptions& o, const Records& records,
                                     const RenderContext& context) {
  std::vector<StepView> rows;
  const auto given = expand_hosts(o.request.nodes);
  const HostSet nodes = given ? HostSet(given->begin(), given->end()) : HostSet();
  for (const protocol::JobRecord& record : records) {
    if (!wanted(o, {&record, kNoTask, {}}, context)) continue;
    for (const auto& step : record.job.steps) {
      const StepView view{&record, step.get()};
      if (step_wanted(o, view, nodes)) rows.push_back(view);
    }
  }
  return rows;
}

template <class Row>
int print_table(const SqueueOptions& o, std::span<const FieldRow<Row>> fields,
                std::vector<Row> rows, size_t records, const RenderContext& context) {
  Table<Row> table("squeue", std::is_same_v<Row, StepView> ? "job step" : "job", fields,
                   choose_format(o));
  std::string out;
  if (!o.no_header && (o.iterate_seconds != 0 || o.long_form || o.verbose > 0))
    print_date(context.now);
  if (o.verbose > 0)
    out = fmt::format("last_update_time={} records={}\n", to_seconds(context.now), records);
  if (!o.cluster.empty() && !o.no_header) out.append("CLUSTER: ").append(o.cluster).append("\n");
  if (!o.no_header) table.append_header(out);
  flush_text(out);
  std::fflush(stdout);  // the heading comes before the error
  const auto order = choose_order<Row>(o, fields);
  if (!order) return 1;
  sort_rows(rows, *order, context);
  for (const Row& row : rows) {
    table.append_row(row, context, out);
    if (out.size() > (1U << 16)) flush_text(out);
  }
  flush_text(out);
  return 0;
}

Status load(const SqueueOptions& o, Client& client,
            const std::function<void(protocol::JobChunk&&)>& take) {
  if (o.nobody || !o.empty_filters.empty()) return {};
  return client.query_jobs(
      o.request, [&](protocol::JobChunk&& chunk) { return take(std::move(chunk)), true; });
}

std::string cannot_load(const Status& status) {
  std::string why = "slurm_load_jobs error: " + error_text(status.error());
  std::fprintf(stderr, "%s\n", why.c_str());
  return why;
}

// Each chunk is written as it comes.
int print_structured(const SqueueOptions& o, Client& client) {
  const NodeShapes shapes = node_shapes(client.nodes());
  // begun when it is known that there is an answer, or none
  std::optional<DocumentPrinter> printer;
  Time now = kNoTime;
  const Status status = load(o, client, [&](protocol::JobChunk&& chunk) {
    now = chunk.now;
    if (!printer) printer.emplace(o.form, "jobs");
    const RenderContext context = render_context(client.config(), now, o.convert);
    for (const JobView& view : make_rows(o, chunk.jobs, context))
      printer->add(job_to_json(view, context, shapes));
  });
  if (!printer) printer.emplace(o.form, "jobs");
  StructuredDocument document;
  if (!status) document.errors.push_back(cannot_load(status));
  if (now == kNoTime) now = current_time();
  document.further["last_backfill"] = json_time(now);
  document.further["last_update"] = json_time(now);
  document.command_line = o.command_line;
  document.cluster = client.config().cluster_name;
  document.accounting_storage = client.config().accounting_storage_type;
  printer->finish(document);
  return status ? 0 : 1;
}

int query_and_print(const SqueueOptions& o, Client& client) {
  if (o.form) return print_structured(o, client);
  Records records;
  Time now = kNoTime;
  const Status status = load(o, client, [&](protocol::JobChunk&& chunk) {
    now = chunk.now;
    if (records.empty()) records = std::move(chunk.jobs);
    else std::move(chunk.jobs.begin(), chunk.jobs.end(), std::back_inserter(records));
  });
  if (!status) return cannot_load(status), 1;
  if (now == kNoTime) now = current_time();
  const RenderContext context = render_context(client.config(), now, o.convert);
  if (o.step_mode)
    return print_table(o, step_fields(), make_step_rows(o, records, context), records.size(),
                       context);
  std::vector<JobView> rows = make_rows(o, records, context);
  const auto gathered = o.one_row_a_task ? std::deque<GatheredTasks>{} : gather_waiting_tasks(rows);
  return print_table(o, job_fields(), std::move(rows), records.size(), context);
}

// -w: every name must be a node or a host of the cluster; localhost is this one. The nodes' names,
// folded.
std::optional<std::string> check_nodes(const std::string& list, Client& client) {
  std::vector<std::string> names;
  const auto given = expand_hosts(list);
  if (!given) {
    std::fprintf(stderr, "squeue: error: Invalid node name %s\n", list.c_str());
    return std::nullopt;
  }
  for (const std::string& name : *given) {
    const size_t before = names.size();
    const auto look = [&](const std::vector<NodeConfig>& nodes, const std::string& called) {
      for (const NodeConfig& node : nodes) {
        if (node.name == called || node.hostname == called) names.push_back(node.name);
        if (node.name == called) break;
      }
      return names.size() != before;
    };
    if (look(client.nodes(), name) || look(client.nodes_with_dynamic(), name)) continue;
    if (iequals(name, "localhost") && look(client.nodes(), short_host_name())) continue;
    std::fprintf(stderr, "squeue: error: Invalid node name %s\n", name.c_str());
    return std::nullopt;
  }
  return fold_hosts(names);
}

}  // namespace

int squeue_main(int argc, char** argv) {
  SqueueOptions options;
  if (const auto status = parse_squeue_options(argc, argv, options)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("squeue", client.error());
  client->keep_asking();
  if (!accept_cluster("squeue", options.cluster, client->config())) return 1;
  if (!options.cluster.empty()) options.cluster = client->config().cluster_name;  // of "all", too
  if (options.verbose > 0) std::fputs(squeue_options_text(options).c_str(), stdout);
  if (!options.node_list.empty()) {
    const auto nodes = check_nodes(options.node_list, *client);
    if (!nodes) return 1;
    options.request.nodes = *nodes;
  }
  options.request.steps = options.step_mode || options.form;
  // steps have names, too
  if (options.step_mode && !options.form)
    options.step_names = std::exchange(options.request.names, {});
  if (!options.step_mode && !options.request.ids.empty()) options.request.hidden_partitions = true;
  options.request.missing_is_error = !options.step_mode;
  if (options.start && options.states_given.empty()) options.request.states = {JobState::kPending};
  return repeat_every(options.iterate_seconds, [&] { return query_and_print(options, *client); });
}

}  // namespace sluice::cli
