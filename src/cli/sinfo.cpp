// sinfo: partitions and nodes, nodes that look alike on one line.
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/shared/client.hpp"
#include "cli/format/environment.hpp"
#include "cli/format/shown_text.hpp"
#include "cli/format/structured_output.hpp"
#include "cli/format/table_printer.hpp"
#include "cli/options/sinfo_options.hpp"
#include "cli/sinfo_verbose.hpp"
#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/protocol/node_query.hpp"
#include "common/protocol/reservation.hpp"
#include "common/names/errors.hpp"
#include "common/format/partition_show.hpp"
#include "cli/format/sinfo_fields.hpp"

namespace sluice::cli {
namespace {

using protocol::NodeRecord;
using protocol::PartitionRecord;

// Columns marked # in Slurm's layouts take the width of their longest value, at least 9.
struct Widths {
  size_t partition = 9;
  size_t node = 9;
};

Widths measure(const std::vector<const PartitionRecord*>& partitions,
               const std::vector<NodeRecord>& nodes) {
  Widths widths;
  for (const PartitionRecord* p : partitions) {
    widths.partition = std::max(widths.partition, p->config.name.size() + p->config.is_default);
  }
  for (const NodeRecord& n : nodes) { widths.node = std::max(widths.node, n.node.name.size()); }
  return widths;
}

std::string usual_format(const SinfoOptions& o, const Widths& widths) {
  const std::string left = "%" + std::to_string(widths.partition) + "P";
  const std::string right = "%." + std::to_string(widths.partition) + "P";
  const std::string node = "%" + std::to_string(widths.node) + "N";
  if (o.summarize) return left + " %.5a %.10l %.16F %N";
  if (o.node_form) {
    if (!o.long_form) return node + " %.6D " + right + " %6t";
    return node + " %.6D " + right + " %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
  }
  if (o.list_reasons) return o.long_form ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N";
  if (!o.long_form) return left + " %.5a %.10l %.6D %.6t %N";
  return left + " %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N";
}

// Every letter, with a blank before the bar from the capitals on, as Slurm has it.
std::string all_format() {
  std::string all;
  for (const char first : {'a', 'A'}) {
    for (char c = first; c < first + 26; ++c) {
      if (find_field(sinfo_fields(), c) == nullptr) continue;
      if (!all.empty())
        all += all.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos ? "|" : " |";
      all.append("%").push_back(c);
    }
  }
  return all;
}

TableFormat choose_format(const SinfoOptions& o, const Widths& widths) {
  if (o.names && !iequals(*o.names, "all")) return parse_name_format(*o.names);
  if (o.names || (o.letters && *o.letters == "%all")) return parse_letter_format(all_format());
  if (o.letters) return parse_letter_format(*o.letters);
  return parse_letter_format(usual_format(o, widths));
}

bool state_wanted(const SinfoOptions& o, const NodeRecord& node) {
  if (!o.any_state) return true;
  return std::any_of(o.any_state->begin(), o.any_state->end(), [&](const auto& all) {
    return std::all_of(all.begin(), all.end(), [&](const NodeStateName& name) {
      return name.matches(node.shown_base, node.shown_flags);
    });
  });
}

bool wanted(const SinfoOptions& o, const NodeRecord& node) {
  const bool silent = (node.shown_flags & kNodeNoRespond) != 0;
  if (o.dead && !silent) return false;
  if (o.responding && silent) return false;
  if (node.shown_base == NodeBaseState::kFuture && !o.future) return false;
  if (o.list_reasons && o.states_given.empty() && !o.any_state) {
    const bool bad = node.shown_base == NodeBaseState::kDown ||
                     (node.shown_flags & (kNodeDrain | kNodeFailing)) != 0;
    if (!bad || node.node.reason.empty()) return false;
  }
  if (o.nodes && !contains(*o.nodes, node.node.name)) return false;
  return state_wanted(o, node);
}

std::vector<const PartitionRecord*> choose_partitions(const SinfoOptions& o,
                                                      const protocol::QueryNodesReply& reply) {
  std::vector<const PartitionRecord*> out;
  for (const PartitionRecord& p : reply.partitions) {
    if (!o.partitions || contains(*o.partitions, p.config.name)) out.push_back(&p);
  }
  return out;
}

std::vector<SinfoRow> sorted(const SinfoOptions& o, std::vector<SinfoRow> rows,
                             const RenderContext& context) {
  static const std::vector<SinfoField> sort_fields = sinfo_sort_fields();
  std::string order = o.sort.value_or(o.node_form ? "N" : o.list_reasons ? "-H" : "#P,-t");
  for (size_t at; (at = order.find("#P")) != std::string::npos;) order.replace(at, 2, "#");
  std::string known;  // letters that are no field are passed over
  for (const char c : order) {
    if (c == '-' || c == '+' || c == ',' ||
        find_field(std::span<const SinfoField>(sort_fields), c) != nullptr) {
      known += c;
    }
  }
  char unknown = '\0';
  const auto fields = parse_sort(known, std::span<const SinfoField>(sort_fields), &unknown);
  // a node of several partitions comes with the last one first
  if (o.node_form && !o.sort) std::reverse(rows.begin(), rows.end());
  if (fields) sort_rows(rows, *fields, context);
  return rows;
}

StructuredDocument empty_document(const SinfoOptions& o, const Client& client) {
  StructuredDocument document;
  document.key = "sinfo";
  document.records = Json::array();
  document.command_line = o.command_line;
  document.cluster = client.config().cluster_name;
  document.accounting_storage = client.config().accounting_storage_type;
  return document;
}

int cannot_load(const SinfoOptions& o, const Client& client, const Error& error) {
  const bool nodes = error.code == ErrorCode::kAccessDenied &&
                     !has_option(client.config().private_data, "partitions");
  const std::string why =
      fmt::format("slurm_load_{}: {}", nodes ? "node" : "partitions", error_text(error));
  std::fprintf(stderr, "%s\n", why.c_str());
  if (o.form) {
    StructuredDocument document = empty_document(o, client);
    document.errors.push_back(why);
    print_document(o.form, std::move(document));
  }
  return 1;
}

int print_structured(const SinfoOptions& o, const Client& client,
                     const protocol::QueryNodesReply& reply, const std::vector<SinfoRow>& rows,
                     const RenderContext& context) {
  StructuredDocument document = empty_document(o, client);
  for (const SinfoRow& row : rows) {
    document.records.push_back(
        sinfo_row_to_json(row, partition_tres(*row.partition, reply.nodes, context), context));
  }
  print_document(o.form, std::move(document));
  return 0;
}

int query_and_print(const SinfoOptions& o, Client& client, bool first) {
  protocol::QueryNodesRequest request;
  request.hidden_partitions = o.all || o.partitions;
  const auto reply = client.call<protocol::QueryNodesReply>(request);
  if (!reply) return cannot_load(o, client, reply.error());
  const RenderContext context = render_context(client.config(), reply->now, o.convert);
  const std::vector<const PartitionRecord*> partitions = choose_partitions(o, *reply);
  const TableFormat format = choose_format(o, measure(partitions, reply->nodes));
  if (o.verbose > 0 && first) std::fputs(sinfo_options_text(o, format).c_str(), stdout);
  const bool dated = !o.no_header && (o.iterate_seconds != 0 || o.long_form || o.verbose > 0);
  Table<SinfoRow> table("sinfo", o.names ? "job" : "node", sinfo_fields(), format);
  std::vector<const NodeRecord*> nodes;
  for (const NodeRecord& node : reply->nodes) {
    if (wanted(o, node)) nodes.push_back(&node);
  }
  SinfoGrouping grouping;
  for (size_t i = 0; i < table.size(); ++i) grouping.fields.push_back(&table.field(i));
  const bool structured = static_cast<bool>(o.form);
  if (structured) {
    grouping.fields.clear();
    for (const SinfoField& field : sinfo_fields()) {
      const bool names_one =
          field.name == "NodeHost" || field.name == "NodeAddr" || field.name == "Port";
      if (!names_one) grouping.fields.push_back(&field);
    }
  }
  grouping.exact = o.exact;
  grouping.one_node_a_row = o.node_form;
  grouping.empty_rows = !o.node_form && !o.list_reasons && !structured;
  const auto rows = sorted(o, group_nodes(partitions, nodes, grouping, context), context);
  if (structured) return print_structured(o, client, *reply, rows, context);
  if (dated) print_date(context.now);
  std::string out;
  if (!o.cluster.empty() && !o.no_header)
    out.append("CLUSTER: ").append(client.config().cluster_name).append("\n");
  if (!o.no_header) table.append_header(out);
  for (const SinfoRow& row : rows) table.append_row(row, context, out);
  flush_text(out);
  return 0;
}

// sinfo -T
int print_reservations(const SinfoOptions& o, Client& client) {
  const auto reply =
      client.call<protocol::QueryReservationsReply>(protocol::QueryReservationsRequest{});
  if (!reply) {
    std::fprintf(stderr, "slurm_load_reservations: %s\n", error_text(reply.error()).c_str());
    return 1;
  }
  if (reply->reservations.empty()) {
    std::puts("No reservations in the system");
    return 0;
  }
  if (o.long_form && !o.no_header) print_date(reply->now);
  size_t width = 9;
  for (const auto& record : reply->reservations)
    width = std::max(width, record.reservation.name.size());
  const auto print = [&](auto&&... cells) {
    std::puts(
        shown_text(fmt::format("{:<{}}  {:>8}  {:>19}  {:>19}  {:>11}  {}", cells...), {}).c_str());
  };
  if (!o.no_header)
    print("RESV_NAME", width, "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST");
  for (const auto& record : reply->reservations) {
    const Reservation& r = record.reservation;
    print(r.name, width, record.active ? "ACTIVE" : "INACTIVE", format_time(r.start),
          format_time(r.end), format_span(r.end - r.start),
          record.node_list.empty() ? "(null)" : record.node_list);
  }
  return 0;
}

}  // namespace

int sinfo_main(int argc, char** argv) {
  SinfoOptions options;
  if (const auto status = parse_sinfo_options(argc, argv, options)) return *status;
  Result<Client> client = Client::open();
  if (!client) return report("sinfo", client.error());
  client->keep_asking();
  if (!accept_cluster("sinfo", options.cluster, client->config())) return 1;
  if (options.reservations) return print_reservations(options, *client);
  bool first = true;
  return repeat_every(options.iterate_seconds, [&] {
    return query_and_print(options, *client, std::exchange(first, false));
  });
}

}  // namespace sluice::cli
