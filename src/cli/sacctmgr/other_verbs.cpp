// What is neither a change nor a list of accounting's records: the daemon, configuration, history.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>

#include "cli/sacctmgr/history_list.hpp"
#include "cli/sacctmgr/session.hpp"
#include "common/base/contains.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/base/version.hpp"
#include "common/config_files/load.hpp"
#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"
#include "common/names/node_events.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting.hpp"
#include "common/protocol/accounting_daemon.hpp"
#include "common/protocol/accounting_usage.hpp"

namespace sluice::cli::sacctmgr {

using protocol::QueryAccountingDaemonReply;
using protocol::QueryAccountingDaemonRequest;
using protocol::QueryReportReply;
using protocol::QueryReportRequest;
using protocol::UsageReport;

namespace {

const char* or_null(const std::string& text) { return text.empty() ? "(null)" : text.c_str(); }

void show_configuration(Session& session) {
  const Client* client = session.open();
  if (client == nullptr) return;
  const ClusterConfig& c = client->config();
  std::printf("Configuration data as of %s\n", format_time(net::now()).c_str());
  const auto line = [](const char* name, const std::string& value) {
    std::printf("%-22s = %s\n", name, value.c_str());
  };
  line("AccountingStorageBackupHost ", or_null(c.accounting_storage_backup_host));
  line("AccountingStorageHost ", c.accounting_storage_host);
  line("AccountingStoragePort ", std::to_string(c.accounting_storage_port));
  line("AccountingStorageType ", c.accounting_storage_type);
  line("AccountingStorageUser ", "N/A");
  line("AuthType", c.auth_type);
  line("MessageTimeout", fmt::format("{} sec", c.message_timeout / std::chrono::seconds(1)));
  line("PrivateData", c.private_data.empty() ? "none" : join(c.private_data, ","));
  line("SlurmUserId", fmt::format("{}({})", c.slurm_user, c.slurm_user_id));
  line("SLURM_CONF", or_null(readable_config_path()));
  line("SLURM_VERSION", kSlurmVersion);
  line("TCPTimeout", fmt::format("{} sec", c.tcp_timeout / std::chrono::seconds(1)));
  line("TrackWCKey", c.track_wckey ? "Yes" : "No");
  const auto reply = session.ask<QueryAccountingDaemonReply>(QueryAccountingDaemonRequest{});
  if (!reply) return;
  std::printf("\nSlurmDBD configuration:\n");
  for (const protocol::DaemonValue& one : reply->config) line(one.key.c_str(), one.value);
}

void print_calls(const std::vector<protocol::DaemonCalls>& calls, bool users) {
  for (const protocol::DaemonCalls& one : calls) {
    const int64_t took = one.took.count();
    const uint64_t average = one.count == 0 ? 0 : static_cast<uint64_t>(took) / one.count;
    std::string name = one.name;
    if (users) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
      const passwd* entry = ::getpwuid(one.uid);
      name = fmt::format("{:<20}({:>10})", entry != nullptr ? entry->pw_name : "", one.uid);
    }
    std::printf("\t%-32s count:%-6llu ave_time:%-6llu total_time:%lld\n", name.c_str(),
                static_cast<unsigned long long>(one.count),
                static_cast<unsigned long long>(average), static_cast<long long>(took));
  }
}

constexpr const char* kNoPrivilege =
    "sacctmgr: error: Your user doesn't have privilege to perform this action";

void show_statistics(Session& session) {
  QueryAccountingDaemonRequest request;
  request.statistics = true;
  session.denial = kNoPrivilege;
  const auto reply = session.ask<QueryAccountingDaemonReply>(request);
  if (!reply) return;
  constexpr const char* kRule =
      "*******************************************************************";
  std::printf(
      "%s\nsacctmgr show stats output at %s\nData since                    %s\n"
      "All statistics are in microseconds\n%s\n\n",
      kRule, format_time_and_seconds(reply->now).c_str(),
      format_time_and_seconds(reply->since).c_str(), kRule);
  const int64_t cycles = static_cast<int64_t>(reply->rollups);
  std::printf(
      "Internal DBD rollup last ran %s\n\tLast cycle:   %lld\n\tMax cycle:    %lld\n"
      "\tTotal time:   %lld\n\tTotal cycles: %lld\n\tMean cycle:   %lld\n\n",
      format_time_and_seconds(reply->last_rollup).c_str(),
      static_cast<long long>(reply->last_cycle.count()),
      static_cast<long long>(reply->longest_cycle.count()),
      static_cast<long long>(reply->all_cycles.count()), static_cast<long long>(cycles),
      static_cast<long long>(cycles == 0 ? 0 : reply->all_cycles.count() / cycles));
  std::printf("Remote Procedure Call statistics by message type\n");
  print_calls(reply->methods, false);
  std::printf("\nRemote Procedure Call statistics by user\n");
  print_calls(reply->users, true);
}

// Each daemon for itself; the status is 0 where one answers.
void ping(Session& session) {
  Client* client = session.open();
  if (client == nullptr) return;
  const ClusterConfig& config = client->config();
  bool any = false;
  const auto ask = [&](const char* role, const std::string& host) {
    ClusterConfig alone = config;
    alone.accounting_storage_host = host;
    alone.accounting_storage_backup_host.clear();
    auto one = Client::open(std::move(alone));
    const auto reply =
        one ? one->call<protocol::PingAccountingReply>(protocol::PingAccountingRequest{})
            : Result<protocol::PingAccountingReply>(tl::unexpected<Error>(one.error()));
    std::printf("slurmdbd(%s) at %s is %s\n", role, reply ? reply->host.c_str() : host.c_str(),
                reply ? "UP" : "DOWN");
    any |= reply.has_value();
  };
  ask("primary", config.accounting_storage_host);
  if (!config.accounting_storage_backup_host.empty())
    ask("backup", config.accounting_storage_backup_host);
  if (!any) session.exit_code = 1;
}

std::string user_of(const std::string& uid) {
  const auto number = to_number<uint32_t>(uid);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
  const passwd* entry = number ? ::getpwuid(*number) : nullptr;
  return entry == nullptr ? uid : fmt::format("{}({})", entry->pw_name, uid);
}

bool has_part(const std::vector<std::string>& list, const std::string& text) {
  return list.empty() || std::any_of(list.begin(), list.end(), [&](const std::string& one) {
           return to_lower(text).find(to_lower(one)) != std::string::npos;
         });
}

// Of "cpu=4,mem=4000M".
uint64_t cpus_of(const std::string& tres) {
  for (const std::string& one : split(tres, ',')) {
    if (one.starts_with("cpu=")) return to_number<uint64_t>(one.substr(4)).value_or(0);
  }
  return 0;
}

size_t nodes_of(const protocol::EventRow& row) {
  const auto nodes = expand_hosts(row.node.empty() ? row.nodes : row.node);
  return nodes ? nodes->size() : 0;
}

bool is_meant(const HistoryWords& asked, const protocol::EventRow& row, const std::string& user) {
  const uint64_t cpus = cpus_of(row.tres);
  return (row.node.empty() ? asked.of_clusters : asked.of_nodes) && cpus >= asked.least_cpus &&
         cpus <= asked.most_cpus && has_part(asked.states, row.state) &&
         has_part(asked.reasons, row.reason) && has_part(asked.users, user) &&
         (!asked.open_only || row.end == kNoTime);
}

void list_events(Session& session, const Words& words) {
  HistoryWords asked;
  Client* client = session.open();
  if (client == nullptr) return;
  asked.request.clusters = {client->config().cluster_name};
  if (!read_history_words(session, words, asked)) return;
  std::vector<TextColumn> columns = {{"Cluster", "Cluster", 10},
                                     {"NodeName", "NodeName", -15, 5},
                                     {"TimeStart", "TimeStart", 19},
                                     {"TimeEnd", "TimeEnd", 19},
                                     {"State", "State", 6},
                                     {"Reason", "Reason", 30},
                                     {"User", "User", 10},
                                     {"ClusterNodes", "Cluster Nodes", 20},
                                     {"Duration", "Duration", 13},
                                     {"Event", "Event", 7},
                                     {"Start", "TimeStart", 19},
                                     {"End", "TimeEnd", 19},
                                     {"TRES", "TRES", 20},
                                     {"EventRaw", "EventRaw", 8},
                                     {"NodeCount", "NodeCount", 9, 5},
                                     {"CPUCount", "CPU Cnt", 7}};
  const size_t usual = asked.fields.empty() ? 7 : asked.fields.size();
  if (!choose_columns(session, asked.fields, columns)) return;
  asked.request.report = UsageReport::kEvents;
  if (!asked.nodes.empty()) asked.request.names = asked.nodes;
  const auto reply = session.ask<QueryReportReply>(asked.request);
  if (!reply) return;
  std::vector<TextLine> lines;
  for (const protocol::EventRow& row : reply->events) {
    const std::string user = row.node.empty() ? "" : user_of(row.user);
    if (!is_meant(asked, row, user)) continue;
    const Time until = row.end == kNoTime ? net::now() : row.end;
    lines.push_back({{"Cluster", row.cluster},
                     {"NodeName", row.node},
                     {"TimeStart", format_time(row.start)},
                     {"TimeEnd", end_text(row.end)},
                     {"Start", format_time(row.start)},
                     {"End", end_text(row.end)},
                     {"State", node_event_state(row.state)},
                     {"Reason", row.reason},
                     {"User", user},
                     {"ClusterNodes", row.nodes},
                     {"Duration", format_span(until - row.start)},
                     {"Event", row.node.empty() ? "Cluster" : "Node"},
                     {"TRES", row.tres},
                     {"EventRaw", row.node.empty() ? "1" : "2"},
                     {"NodeCount", std::to_string(nodes_of(row))},
                     {"CPUCount", std::to_string(cpus_of(row.tres))}});
  }
  print_table(session, {"events", columns, usual}, lines);
}

// Whether one of the nodes that are asked for is among those of a host list.
bool has_node(const std::vector<std::string>& asked, const std::string& nodes) {
  const auto wanted = expand_hosts(fmt::format("{}", fmt::join(asked, ",")));
  const auto there = expand_hosts(nodes);
  return asked.empty() || (wanted && there && std::ranges::any_of(*there, [&](const auto& node) {
                             return contains(*wanted, node);
                           }));
}

void list_reservations(Session& session, const Words& words) {
  HistoryWords asked;
  Client* client = session.open();
  if (client == nullptr) return;
  asked.request.clusters = {client->config().cluster_name};
  if (!read_history_words(session, words, asked)) return;
  std::vector<TextColumn> columns = {
      {"Cluster", "Cluster", 10},     {"Name", "Name", 10},       {"TRES", "TRES", 20},
      {"TimeStart", "TimeStart", 19}, {"TimeEnd", "TimeEnd", 19}, {"UnusedWall", "UnusedWall", 10},
      {"Associations", "Assocs", 10}, {"Flags", "Flags", 20},     {"NodeNames", "NodeName", 15},
      {"Start", "TimeStart", 19},     {"End", "TimeEnd", 19},     {"ID", "ID", 6}};
  if (asked.fields.empty())
    asked.fields = {"Cluster", "Name%15", "TRES%30", "TimeStart", "TimeEnd", "UnusedWall"};
  const size_t usual = asked.fields.size();
  if (!choose_columns(session, asked.fields, columns)) return;
  asked.request.report = UsageReport::kReservations;
  const auto reply = session.ask<QueryReportReply>(asked.request);
  if (!reply) return;
  std::vector<TextLine> lines;
  for (const protocol::ReservationUsageRow& row : reply->reservations) {
    const std::string id = std::to_string(row.id);
    if (!has_node(asked.nodes, row.nodes)) continue;
    if (!asked.ids.empty() && !contains(asked.ids, id)) continue;
    const std::string tres = fmt::format("{}={}", row.tres, row.count);
    const std::string start = format_time(row.start);
    if (lines.empty() || lines.back()["Name"] != row.name || lines.back()["TimeStart"] != start)
      lines.push_back({{"Cluster", row.cluster},
                       {"Name", row.name},
                       {"ID", id},
                       {"TimeStart", start},
                       {"TimeEnd", end_text(row.end)},
                       {"Start", start},
                       {"End", end_text(row.end)},
                       {"Associations", row.accounts.empty() ? row.users : row.accounts},
                       {"Flags", row.flags},
                       {"NodeNames", row.nodes}});
    TextLine& line = lines.back();
    line["TRES"] += (line["TRES"].empty() ? "" : ",") + tres;
    if (row.tres == "cpu" && row.count != 0)
      line["UnusedWall"] =
          fmt::format("{:.6f}", static_cast<double>(row.idle) / static_cast<double>(row.count));
  }
  print_table(session, {"reservations", columns, usual}, lines);
}

}  // namespace

bool list_other(Session& session, const Words& words) {
  const Option word = split_option(words[0]);
  if (word.has_value) return false;
  const bool configuration = word.is("Configuration", 2);
  if (configuration || word.is("Stats", 1)) {
    if (words.size() > 1) return session.fail(" Unknown condition: " + words[1]), true;
    configuration ? show_configuration(session) : show_statistics(session);
    return true;
  }
  if (word.is("Events", 1)) return list_events(session, words), true;
  if (word.is("Reservations", 4) || word.is("Resv", 4))
    return list_reservations(session, words), true;
  if (word.is("RunawayJobs", 2)) return list_runaway_jobs(session, words), true;
  for (const char* name : {"Federations", "Instances", "Jobs", "Resources"}) {
    if (!word.is(name, 1)) continue;
    session.fail(fmt::format(" {} cannot be listed with this version.", name));
    return true;
  }
  return false;
}

void other(Session& session, std::string_view verb, const Words& words) {
  const bool clear = verb == "clear" && !words.empty() && split_option(words[0]).is("stats", 1);
  const bool reconfigure = verb == "reconfigure";
  if (words.size() > (clear ? 1U : 0U) && (clear || verb != "clear"))
    return void(session.fail(fmt::format("too many arguments for {} keyword", verb)));
  if (verb == "ping") return ping(session);
  if (clear || reconfigure || verb == "shutdown") {
    QueryAccountingDaemonRequest request;
    request.clear_statistics = clear;
    request.reconfigure = reconfigure;
    request.shut_down = verb == "shutdown";
    session.denial = request.shut_down ? " Problem shutting down server: Access/permission denied"
                                       : kNoPrivilege;
    (void)session.ask<QueryAccountingDaemonReply>(request);
    return;
  }
  session.fail("Only statistics can be cleared: clear stats");
}

}  // namespace sluice::cli::sacctmgr
