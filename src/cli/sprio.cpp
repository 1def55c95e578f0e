// sprio: the priorities of waiting jobs, and what they are made of.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/priority_fields.hpp"
#include "cli/format/table_printer.hpp"
#include "cli/shared/client.hpp"
#include "cli/options/sprio_options.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {
namespace {

// What Slurm sorts by: fewer letters than there are columns.
constexpr std::string_view kOrders = "aAbBcfFijJNnopPqQrtTuyY";

// A column that is not known is left out, with the text behind it.
TableFormat known_columns(const std::string& layout) {
  TableFormat format = parse_letter_format(layout);
  const auto complain = [](const std::string& column) {
    std::fprintf(stderr, "sprio: error: Invalid job format specification: %s\n", column.c_str());
  };
  std::erase_if(format.columns, [&](const Column& column) {
    const bool known = find_field(priority_fields(), column.letter) != nullptr;
    if (!known) complain(std::string(1, column.letter));
    return !known;
  });
  if (std::exchange(format.ends_early, false)) {
    complain({});
    std::string& last = format.columns.empty() ? format.prefix : format.columns.back().suffix;
    last.erase(std::min(last.rfind('%'), last.size()));
  }
  return format;
}

// Nothing when a letter is wrong (said).
std::optional<std::vector<SortField<PriorityView>>> order_of(const SprioOptions& o) {
  const std::string sort = o.sort.value_or("i");
  char unknown = '\0';
  if (!is_order("sprio", sort, kOrders)) return std::nullopt;
  return parse_sort(sort, priority_fields(), &unknown);
}

int print(const SprioOptions& o, const protocol::PriorityChunk& all, const ClusterConfig& config) {
  if (o.by_jobs && !o.request.jobs.empty() && all.records.empty() && !o.weights_only) {
    std::puts("Unable to find jobs matching user/id(s) specified");
    return 0;
  }
  const PriorityLayout usual{o.long_form, o.normal, o.by_users, o.sibling};
  const RenderContext context = render_context(config, current_time(), true);
  Table<PriorityView> table("sprio", "job", priority_fields(),
                            known_columns(o.format.value_or(priority_layout(usual, all.weights))));
  std::string out;
  if (!o.no_header) table.append_header(out);
  flush_text(out);
  std::fflush(stdout);  // the heading comes before the error
  std::vector<PriorityView> rows;
  if (o.weights_only) rows.push_back({nullptr, &all});
  for (const protocol::PriorityRecord& record : all.records) rows.push_back({&record, &all});
  const auto order = order_of(o);
  if (!order) return 1;
  if (!o.weights_only) sort_rows(rows, *order, context);
  for (const PriorityView& row : rows) {
    table.append_row(row, context, out);
    if (out.size() > (1U << 16)) flush_text(out);
  }
  flush_text(out);
  return 0;
}

// Takes all chunks into one.
Status load(const SprioOptions& o, Client& client, protocol::PriorityChunk& all) {
  return client.stream<protocol::PriorityChunk>(o.request, [&](protocol::PriorityChunk&& chunk) {
    std::vector<protocol::PriorityRecord> records = std::move(all.records);
    if (!o.weights_only && !o.nobody)
      std::move(chunk.records.begin(), chunk.records.end(), std::back_inserter(records));
    all = std::move(chunk);
    all.records = std::move(records);
    return !o.weights_only && !o.nobody;
  });
}

}  // namespace

int sprio_main(int argc, char** argv) {
  SprioOptions o;
  if (const auto status = parse_sprio_options(argc, argv, o)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("sprio", client.error());
  client->keep_asking();
  if (!accept_cluster("sprio", o.cluster, client->config())) return 1;
  if (o.verbose > 0) std::fputs(sprio_options_text(o).c_str(), stdout);
  protocol::PriorityChunk all;
  if (const Status status = load(o, *client, all); !status) {
    std::fprintf(stderr, "Couldn't get priority factors from controller: %s\n",
                 error_text(status.error()).c_str());
    return 1;
  }
  if (all.priority_type != "priority/multifactor") {
    std::fprintf(stderr,
                 "You are not running a supported priority plugin\n(%s).\n"
                 "Only 'priority/multifactor' is supported.\n",
                 all.priority_type.c_str());
    return 1;
  }
  return print(o, all, client->config());
}

}  // namespace sluice::cli
