// What is neither a change nor a list of accounting's records: the daemon, configuration, history.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>

#include "cli/format/shown_text.hpp"
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
#include "common/protocol/query.hpp"

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

std::string stamp(Time at) {
  const std::time_t seconds = to_seconds(at);
  std::array<char, 64> text{};
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::strftime(text.data(), text.size(), "%a %b %d %H:%M:%S %Y", &parts);
  return fmt::format("{} ({})", text.data(), seconds);
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

void show_statistics(Session& session) {
  QueryAccountingDaemonRequest request;
  request.statistics = true;
  const auto reply = session.ask<QueryAccountingDaemonReply>(request);
  if (!reply) return;
  constexpr const char* kRule =
      "*******************************************************************";
  std::printf(
      "%s\nsacctmgr show stats output at %s\nData since                    %s\n"
      "All statistics are in microseconds\n%s\n\n",
      kRule, stamp(reply->now).c_str(), stamp(reply->since).c_str(), kRule);
  const int64_t cycles = static_cast<int64_t>(reply->rollups);
  std::printf(
      "Internal DBD rollup last ran %s\n\tLast cycle:   %lld\n\tMax cycle:    %lld\n"
      "\tTotal time:   %lld\n\tTotal cycles: %lld\n\tMean cycle:   %lld\n\n",
      stamp(reply->last_rollup).c_str(), static_cast<long long>(reply->last_cycle.count()),
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

struct TextColumn {
  std::string name, heading;
  int width;
  size_t least = 1;  // letters that name it
};
using TextLine = std::map<std::string, std::string>;

// The columns that format= names, of `all`; false where one is none (then it was told).
bool choose_columns(Session& session, const std::vector<std::string>& fields,
                    std::vector<TextColumn>& all) {
  if (fields.empty()) return true;
  std::vector<TextColumn> out;
  for (const std::string& text : fields) {
    const size_t percent = text.find('%');
    const std::string name = text.substr(0, percent);
    const auto found = std::find_if(all.begin(), all.end(), [&](const TextColumn& one) {
      return name.size() >= one.least && starts_with_i(one.name, name);
    });
    if (found == all.end()) return session.fail(fmt::format("Unknown field '{}'", name));
    out.push_back(*found);
    if (percent != std::string::npos)
      out.back().width =
          to_number<int>(std::string_view(text).substr(percent + 1)).value_or(out.back().width);
  }
  all = std::move(out);
  return true;
}

void print_table(const Session& session, const std::vector<TextColumn>& columns, size_t usual,
                 const std::vector<TextLine>& lines) {
  const size_t shown = std::min(usual, columns.size());
  const auto row = [&](auto text_of, bool mark) {
    std::string out;
    for (size_t i = 0; i < shown; ++i) {
      const std::string text = shown_cell(text_of(columns[i]));
      const auto room = static_cast<size_t>(std::abs(columns[i].width));
      if (session.parsable != Parsable::kNo) {
        out += text;
        if (session.parsable == Parsable::kEnding || i + 1 < shown) out += '|';
        continue;
      }
      std::string cut = text.substr(0, room);
      if (mark && text.size() > room && room > 0) cut.back() = '+';
      out += columns[i].width < 0 ? fmt::format("{:<{}} ", cut, room)
                                  : fmt::format("{:>{}} ", cut, room);
    }
    std::printf("%s\n", out.c_str());
  };
  if (session.header) {
    row([](const TextColumn& column) { return column.heading; }, false);
    if (session.parsable == Parsable::kNo)
      row(
          [](const TextColumn& column) {
            return std::string(static_cast<size_t>(std::abs(column.width)), '-');
          },
          false);
  }
  for (const TextLine& line : lines)
    row(
        [&](const TextColumn& column) {
          const auto it = line.find(column.name);
          return it == line.end() ? std::string() : it->second;
        },
        true);
}

std::string user_of(const std::string& uid) {
  const auto number = to_number<uint32_t>(uid);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
  const passwd* entry = number ? ::getpwuid(*number) : nullptr;
  return entry == nullptr ? uid : fmt::format("{}({})", entry->pw_name, uid);
}

// What list event, reservation and runawayjobs have in common. False where a word is none.
struct HistoryWords {
  QueryReportRequest request;
  std::vector<std::string> fields, nodes, states, reasons, users;
  bool open_only = false;
  // of events
  bool of_clusters = true, of_nodes = true;
  uint64_t least_cpus = 0, most_cpus = UINT64_MAX;
};
bool take_event(Session& session, const Option& option, HistoryWords& out) {
  out.of_clusters = out.of_nodes = false;
  for (const std::string& word : option.list()) {
    if (iequals(word, "Cluster")) out.of_clusters = true;
    else if (iequals(word, "Node")) out.of_nodes = true;
    else
      return session.fail(
          fmt::format(" Unknown event type: '{}'  Valid events are Cluster and Node.", word));
  }
  return true;
}
bool take_number(const Option& option, uint64_t& to) {
  const auto number = to_number<uint64_t>(option.value);
  to = number.value_or(to);
  return number.has_value();
}
bool read_history_words(Session& session, const Words& words, HistoryWords& out) {
  constexpr Duration kUsualSpan = std::chrono::hours(24);
  out.request.until = net::now();
  out.request.from = out.request.until - kUsualSpan;
  bool begins = false;  // it was said when
  for (size_t i = 1; i < words.size(); ++i) {
    const Option option = split_option(words[i]);
    const auto time = [&](Time& into) {
      const auto at = parse_time(option.value, net::now(), TimeBias::kPast);
      if (at) into = *at;
      return at.has_value();
    };
    bool good = true;
    if (iequals(words[i], "where")) continue;
    if (option.has_value && option.is("Event", 2)) {
      if (!take_event(session, option, out)) return false;
      continue;
    }
    if (!option.has_value && option.is("All_Clusters", 5)) out.request.clusters.clear();
    else if (!option.has_value && option.is("All_Time", 5)) out.request.from = kNoTime;
    else if (!option.has_value) good = false;
    else if (option.is("Clusters", 1)) out.request.clusters = option.list();
    else if (option.is("Format", 1)) out.fields = split_list(option.value);
    else if (option.is("Start", 2)) good = begins = time(out.request.from);
    else if (option.is("End", 2)) good = time(out.request.until);
    else if (option.is("Nodes", 2)) out.nodes = option.list();
    else if (option.is("Names", 2)) out.request.names = option.list();
    else if (option.is("States", 2)) out.states = option.list();
    else if (option.is("Reason", 1)) out.reasons = option.list();
    else if (option.is("User", 1)) out.users = option.list();
    else if (option.is("CondFlags", 2)) out.open_only = iequals(option.value, "Open");
    else if (option.is("MinCPUs", 2)) good = take_number(option, out.least_cpus);
    else if (option.is("MaxCPUs", 2)) good = take_number(option, out.most_cpus);
    else good = false;
    if (!good) return session.fail(" Unknown condition: " + words[i]);
  }
  if (!begins) out.request.from = std::min(out.request.from, out.request.until - kUsualSpan);
  return true;
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

bool is_meant(const HistoryWords& asked, const protocol::EventRow& row, const std::string& user) {
  const uint64_t cpus = cpus_of(row.tres);
  return (row.node.empty() ? asked.of_clusters : asked.of_nodes) && cpus >= asked.least_cpus &&
         cpus <= asked.most_cpus && has_part(asked.states, row.state) &&
         has_part(asked.reasons, row.reason) && has_part(asked.users, user) &&
         (!asked.open_only || row.end == kNoTime);
}

std::string end_text(Time end) { return end == kNoTime ? "Unknown" : format_time(end); }

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
                                     {"TRES", "TRES", 20}};
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
                     {"TRES", row.tres}});
  }
  print_table(session, columns, usual, lines);
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
      {"Cluster", "Cluster", 10},     {"Name", "Name", 15},       {"TRES", "TRES", 30},
      {"TimeStart", "TimeStart", 19}, {"TimeEnd", "TimeEnd", 19}, {"UnusedWall", "UnusedWall", 10},
      {"Associations", "Assoc", 10},  {"Flags", "Flags", 20},     {"NodeNames", "NodeNames", 20},
      {"Start", "TimeStart", 19},     {"End", "TimeEnd", 19}};
  const size_t usual = asked.fields.empty() ? 6 : asked.fields.size();
  if (!choose_columns(session, asked.fields, columns)) return;
  asked.request.report = UsageReport::kReservations;
  const auto reply = session.ask<QueryReportReply>(asked.request);
  if (!reply) return;
  std::vector<TextLine> lines;
  for (const protocol::ReservationUsageRow& row : reply->reservations) {
    if (!has_node(asked.nodes, row.nodes)) continue;
    const std::string tres = fmt::format("{}={}", row.tres, row.count);
    const std::string start = format_time(row.start);
    if (lines.empty() || lines.back()["Name"] != row.name || lines.back()["TimeStart"] != start)
      lines.push_back({{"Cluster", row.cluster},
                       {"Name", row.name},
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
  print_table(session, columns, usual, lines);
}

// Jobs without an end in the database that the controller does not know.
void list_runaway_jobs(Session& session, const Words& words) {
  HistoryWords asked;
  Client* client = session.open();
  if (client == nullptr) return;
  const std::string cluster = client->config().cluster_name;
  asked.request.clusters = {cluster};
  if (!read_history_words(session, words, asked)) return;
  if (asked.request.clusters != std::vector<std::string>{cluster})
    return void(session.fail("Runaway Jobs: only those of cluster " + cluster +
                             " can be told here: its controller is asked"));
  std::vector<TextColumn> columns = {{"ID", "ID", -12},
                                     {"Name", "Name", 10},
                                     {"Partition", "Partition", 10},
                                     {"Cluster", "Cluster", 10},
                                     {"State", "State", 10},
                                     {"TimeSubmit", "TimeSubmit", 19},
                                     {"TimeStart", "TimeStart", 19},
                                     {"TimeEnd", "TimeEnd", 19}};
  if (!choose_columns(session, asked.fields, columns)) return;
  asked.request.report = UsageReport::kRunawayJobs;
  // the database first: what begins after it is no matter
  auto reply = session.ask<QueryReportReply>(asked.request);
  if (!reply) return;
  std::set<uint32_t> known;
  protocol::QueryJobsRequest jobs;
  jobs.all_states = true;
  jobs.hidden_partitions = true;
  const Status asked_controller = client->query_jobs(jobs, [&](protocol::JobChunk&& chunk) {
    for (const protocol::JobRecord& record : chunk.jobs) known.insert(record.job.id);
    return true;
  });
  if (!asked_controller)
    return void(session.fail(
        "sacctmgr: error: Slurmctld running on cluster " + cluster +
        " is not up, can't check running jobs: " + error_text(asked_controller.error())));
  std::vector<TextLine> lines;
  protocol::EndRunawayJobsRequest fix;
  for (const protocol::RunawayRow& row : reply->runaway) {
    if (known.count(row.job) != 0) continue;
    fix.indexes.push_back(row.index);
    lines.push_back({{"ID", std::to_string(row.job)},
                     {"Name", row.name},
                     {"Partition", row.partition},
                     {"Cluster", row.cluster},
                     {"State", row.state},
                     {"TimeSubmit", format_time(row.submit)},
                     {"TimeStart", end_text(row.start)},
                     {"TimeEnd", "Unknown"}});
  }
  if (lines.empty()) {
    std::printf("Runaway Jobs: No runaway jobs found on cluster %s\n", cluster.c_str());
    return;
  }
  std::printf(
      "NOTE: Runaway jobs are jobs that don't exist in the controller but have a start "
      "time and no end time in the database\n");
  print_table(session, columns, columns.size(), lines);
  std::printf(
      "\nWould you like to fix these runaway jobs?\n"
      "(This will set the end time for each job to the latest out of the start, eligible, "
      "or submit times, and set the state to completed.\nOnce corrected, this will trigger "
      "the rollup to reroll usage from before the earliest submit time of all the runaway "
      "jobs.)\n\n");
  if (session.readonly) return;
  if (!confirmed(session, "")) return;
  (void)session.ask<protocol::EndRunawayJobsReply>(fix);
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
  if (word.is("Reservations", 4)) return list_reservations(session, words), true;
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
  if (words.size() > (clear ? 1U : 0U) && (clear || verb == "ping" || verb == "shutdown"))
    return void(session.fail(fmt::format("too many arguments for {} keyword", verb)));
  if (verb == "ping") return ping(session);
  if (clear || verb == "shutdown") {
    QueryAccountingDaemonRequest request;
    request.clear_statistics = clear;
    request.shut_down = !clear;
    (void)session.ask<QueryAccountingDaemonReply>(request);
    return;
  }
  if (verb == "clear") return void(session.fail("Only statistics can be cleared: clear stats"));
  session.fail(fmt::format(" The command {} is not supported by this version.", verb));
}

}  // namespace sluice::cli::sacctmgr
