// The reports: what they ask, and their lines.
#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <pwd.h>

#include "cli/sreport/account_tree.hpp"
#include "cli/sreport/report.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/standard_tres.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::cli::sreport {

using protocol::QueryReportReply;
using protocol::UsageReport;

namespace {

std::optional<QueryReportReply> ask(Session& session, Asked& asked, UsageReport report) {
  Client* client = session.open();
  if (client == nullptr || asked.refused) return std::nullopt;
  asked.request.report = report;
  Result<QueryReportReply> reply = client->call<QueryReportReply>(asked.request, kPatience);
  if (reply) return std::move(*reply);
  tell_no_answer("sreport", *client, reply.error());
  session.exit_code = 1;
  return std::nullopt;
}

// CPU alone, where no TRES are asked for.
bool cpus_alone(const Session& session, Asked& asked) {
  if (session.tres.empty() && asked.request.tres.empty()) {
    asked.request.tres = {"cpu"};
    return true;
  }
  if (asked.request.tres.size() == 1 && iequals(asked.request.tres[0], "all"))
    asked.request.tres.clear();
  return false;
}

uint64_t seconds_of(const Asked& asked) {
  return static_cast<uint64_t>((asked.request.until - asked.request.from) /
                               std::chrono::seconds(1));
}

std::string span(const Asked& asked, bool seconds) {
  const Time last = asked.request.until - std::chrono::seconds(1);
  std::string out = fmt::format("{} - {}", format_time(asked.request.from), format_time(last));
  if (seconds) out += fmt::format(" ({} secs)", seconds_of(asked));
  return out;
}

std::string in_time(TimeForm form) {
  switch (form) {
    case TimeForm::kSeconds: return "Seconds";
    case TimeForm::kMinutes: return "Minutes";
    case TimeForm::kHours: return "Hours";
    case TimeForm::kPercent: return "Percentage of Total";
    case TimeForm::kSecPer: return "Seconds/Percentage of Total";
    case TimeForm::kMinPer: return "Minutes/Percentage of Total";
    case TimeForm::kHourPer: return "Hours/Percentage of Total";
  }
  return {};
}

std::string units(TimeForm form, bool cpu) {
  const char* what = form == TimeForm::kPercent ? "" : cpu ? "CPU " : "TRES ";
  return fmt::format("Usage reported in {}{}", what, in_time(form));
}

// Of a column that is `plain` wide where an amount has no percentage behind it.
int width_of_amount(TimeForm form, int plain) {
  constexpr int kPercentage = 9;
  return form >= TimeForm::kSecPer ? plain + kPercentage : plain;
}

std::string proper_name(const std::string& user) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
  const passwd* entry = user.empty() ? nullptr : ::getpwnam(user.c_str());
  if (entry == nullptr || entry->pw_gecos == nullptr) return {};
  const std::string_view gecos = entry->pw_gecos;
  return std::string(gecos.substr(0, gecos.find(',')));
}

// What all of a cluster's TRES could have given, for percentages.
class Wholes {
 public:
  explicit Wholes(const QueryReportReply& reply) {
    for (const protocol::ClusterUsageRow& row : reply.cluster)
      of_[{row.cluster, row.tres}] =
          row.allocated + row.down + row.planned_down + row.idle + row.planned;
  }
  [[nodiscard]] uint64_t of(const std::string& cluster, const std::string& tres) const {
    const auto it = of_.find({cluster, tres});
    return it == of_.end() ? 0 : it->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, uint64_t> of_;
};

void utilization(Session& session, Asked& asked) {
  const bool cpu = cpus_alone(session, asked);
  if (std::ranges::find(asked.request.tres, "node") != asked.request.tres.end())
    return void(
        session.fail("sreport: fatal: TRES node usage is no longer reported in the Cluster "
                     "Utilization report.  Please use TRES CPU instead."));
  auto reply = ask(session, asked, UsageReport::kCluster);
  if (!reply) return;
  std::ranges::stable_sort(reply->cluster, {}, [](const protocol::ClusterUsageRow& row) {
    return std::pair(std::string_view(row.cluster), tres_order(row.tres));
  });
  const int width = width_of_amount(session.form, 8);
  const std::vector<Column> all = {{"Cluster", "Cluster", 9},
                                   {"Count", "TRES Count", 10},
                                   {"Allocated", "Allocated", width},
                                   {"Down", "Down", width},
                                   {"PlannedDown", "PLND Down", width},
                                   {"PlndDown", "PLND Down", width},
                                   {"Idle", "Idle", width},
                                   {"Overcommitted", "Over Comm", 9},
                                   {"Planned", "Planned", width},
                                   {"Reserved", "Planned", width},
                                   {"Reported", "Reported", width},
                                   {"TresName", "TRES Name", 14},
                                   {"TresCount", "TRES Count", 10}};
  std::vector<Line> lines;
  for (const protocol::ClusterUsageRow& row : reply->cluster) {
    const uint64_t whole = row.allocated + row.down + row.planned_down + row.idle + row.planned;
    // the cluster may not have been known for all of the time
    const uint64_t asked_for = row.count * seconds_of(asked);
    const auto text = [&](uint64_t amount) { return amount_text(session.form, amount, whole); };
    lines.push_back({{"Cluster", row.cluster},
                     {"TresName", row.tres},
                     {"Count", std::to_string(row.count)},
                     {"TresCount", std::to_string(row.count)},
                     {"Allocated", text(row.allocated)},
                     {"Down", text(row.down)},
                     {"PlannedDown", text(row.planned_down)},
                     {"PlndDown", text(row.planned_down)},
                     {"Idle", text(row.idle)},
                     {"Overcommitted", text(row.over)},
                     {"Planned", text(row.planned)},
                     {"Reserved", text(row.planned)},
                     {"Reported", amount_text(session.form, whole, asked_for)}});
  }
  std::vector<std::string> usual = {"Cluster", "Allocated", "Down",    "PlannedDown",
                                    "Idle",    "Planned",   "Reported"};
  if (!cpu) usual.insert(usual.begin() + 1, "TresName");
  print_report(session, asked,
               {"Cluster Utilization " + span(asked, false), units(session.form, cpu)}, all, usual,
               lines);
}

std::vector<Column> usage_columns(const Session& session, bool tree) {
  const int width = width_of_amount(session.form, 8);
  return {{"Cluster", "Cluster", 9},     {"Account", "Account", tree ? -20 : 15},
          {"Login", "Login", 9},         {"Proper", "Proper Name", 15},
          {"WCKey", "WCKey", 15},        {"QOS", "QOS", 10},
          {"TresName", "TRES Name", 14}, {"Used", "Used", width},
          {"Energy", "Energy", width}};
}
std::vector<std::string> usual_usage(std::vector<std::string> names, bool cpu, bool energy) {
  if (!cpu) names.emplace_back("TresName");
  names.emplace_back("Used");
  if (cpu && energy) names.emplace_back("Energy");
  return names;
}

// An account's line has what all below it used.
void by_account(Session& session, Asked& asked) {
  const bool cpu = cpus_alone(session, asked);
  const auto tree = tree_of(session, asked);
  if (!tree) return;
  const Named named(asked, *tree);
  const auto reply = ask(session, asked, UsageReport::kJobs);
  if (!reply) return;
  const Wholes wholes(*reply);
  using Key = std::pair<AssociationId, std::string>;  // and the TRES
  std::map<Key, uint64_t> used;
  std::set<TresOrder> names;
  for (const protocol::JobUsageRow& row : reply->jobs) {
    names.insert(tres_order(row.tres));
    // of several partitions one association stands for the user
    const AssociationRecord* at = nullptr;
    for (const AssociationRecord& record : tree->records)
      if (at == nullptr && record.cluster == row.cluster && iequals(record.account, row.account) &&
          iequals(record.user, row.user))
        at = &record;
    for (const AssociationRecord& record : tree->records)
      if (at == nullptr && record.cluster == row.cluster && iequals(record.account, row.account) &&
          record.user.empty())
        at = &record;
    if (at == nullptr) continue;
    for (const AssociationRecord* above : tree->path(*at)) used[{above->id, row.tres}] += row.used;
  }
  std::vector<Line> lines;
  for (const AssociationRecord& record : tree->records) {
    if (!named.shows(record)) continue;
    for (const auto& [number, name] : names) {
      const std::string tres(name);
      const auto it = used.find({record.id, tres});
      if (it == used.end() || it->second == 0) continue;
      const std::string indent =
          asked.tree ? std::string(tree->path(record).size() - 1, ' ') : std::string();
      lines.push_back(
          {{"Cluster", record.cluster},
           {"Account", indent + record.account},
           {"Login", record.user},
           {"Proper", proper_name(record.user)},
           {"TresName", tres},
           {"Used", amount_text(session.form, it->second, wholes.of(record.cluster, tres))},
           {"Energy", amount_text(session.form, 0, 0)}});
    }
  }
  print_report(session, asked,
               {"Cluster/Account/User Utilization " + span(asked, true), units(session.form, cpu)},
               usage_columns(session, asked.tree),
               usual_usage({"Cluster", "Account", "Login", "Proper"}, cpu, true), lines);
}

// Sums by some of a row's columns, the greatest first within a cluster.
struct Sum {
  std::string cluster, account, user, wckey, qos, tres;
  uint64_t used = 0;
};
std::vector<Sum> sums_by(const QueryReportReply& reply, bool account, bool user, bool wckey,
                         bool qos, bool users_alone) {
  using Key = std::pair<std::vector<std::string>, TresOrder>;
  std::map<Key, Sum> sums;
  for (const protocol::JobUsageRow& row : reply.jobs) {
    // what a reservation of an account kept idle is no user's
    if (row.used == 0 || (users_alone && row.user.empty()) || (wckey && row.wckey.empty()))
      continue;
    const std::string none;
    const std::vector<std::string> key = {row.cluster, account ? row.account : none,
                                          user ? row.user : none, wckey ? row.wckey : none,
                                          qos ? row.qos : none};
    Sum& sum = sums[{key, tres_order(row.tres)}];
    sum = {key[0], key[1], key[2], key[3], key[4], row.tres, sum.used + row.used};
  }
  std::vector<Sum> out;
  out.reserve(sums.size());
  for (auto& [key, sum] : sums) out.push_back(std::move(sum));
  return out;
}
std::vector<Line> lines_of(const Session& session, const std::vector<Sum>& sums,
                           const Wholes& wholes) {
  std::vector<Line> out;
  out.reserve(sums.size());
  for (const Sum& sum : sums)
    out.push_back({{"Cluster", sum.cluster},
                   {"Account", sum.account},
                   {"Login", sum.user},
                   {"Proper", proper_name(sum.user)},
                   {"WCKey", sum.wckey},
                   {"QOS", sum.qos},
                   {"TresName", sum.tres},
                   {"Used", amount_text(session.form, sum.used, wholes.of(sum.cluster, sum.tres))},
                   {"Energy", amount_text(session.form, 0, 0)}});
  return out;
}

struct UsageTable {
  const char* title;
  std::vector<std::string> columns;
  bool account, user, wckey, qos, energy;
};
void usage_report(Session& session, Asked& asked, const UsageTable& table) {
  const bool cpu = cpus_alone(session, asked);
  const auto reply = ask(session, asked, UsageReport::kJobs);
  if (!reply) return;
  std::vector<Sum> sums =
      sums_by(*reply, table.account, table.user, table.wckey, table.qos, table.user);
  if (table.columns[1] == "Login") {  // who used the most first
    std::ranges::stable_sort(sums, std::greater<>(), &Sum::used);
  } else if (table.columns[1] == "WCKey") {  // each with a line of its own before its users
    const std::vector<Sum> all = sums_by(*reply, false, false, true, false, true);
    sums.insert(sums.begin(), all.begin(), all.end());
    std::ranges::stable_sort(sums, {},
                             [](const Sum& sum) { return std::tie(sum.cluster, sum.wckey); });
  }
  print_report(session, asked,
               {std::string(table.title) + " " + span(asked, true), units(session.form, cpu)},
               usage_columns(session, false), usual_usage(table.columns, cpu, table.energy),
               lines_of(session, sums, Wholes(*reply)));
}

}  // namespace

void cluster_report(Session& session, std::string_view report, const Words& words) {
  const bool known =
      is(report, "AccountUtilizationByUser", 1) || is(report, "AccountUtilizationByQOS", 22) ||
      is(report, "UserUtilizationByAccount", 18) || is(report, "UserUtilizationByWCKey", 18) ||
      is(report, "Utilization", 2) || is(report, "WCKeyUtilizationByUser", 1);
  if (!known)
    return void(session.fail(fmt::format(
        "Not valid report {}\nValid cluster reports are, \"AccountUtilizationByQOS\", "
        "\"AccountUtilizationByUser\", \"UserUtilizationByAccount\", \"UserUtilizationByWckey\", "
        "\"Utilization\", and \"WCKeyUtilizationByUser\"",
        report)));
  Asked asked;
  read_words(session, words, asked);
  if (is(report, "AccountUtilizationByQOS", 22))
    return usage_report(session, asked,
                        {"Cluster/Account/QOS Utilization",
                         {"Cluster", "Account", "QOS"},
                         true,
                         false,
                         false,
                         true,
                         true});
  if (is(report, "AccountUtilizationByUser", 1)) return by_account(session, asked);
  if (is(report, "Utilization", 2)) return utilization(session, asked);
  if (is(report, "UserUtilizationByWCKey", 18) && !is(report, "UserUtilizationByAccount", 18))
    return usage_report(session, asked,
                        {"Cluster/User/WCKey Utilization",
                         {"Cluster", "Login", "Proper", "WCKey"},
                         false,
                         true,
                         true,
                         false,
                         false});
  if (is(report, "UserUtilizationByAccount", 18))
    return usage_report(session, asked,
                        {"Cluster/User/Account Utilization",
                         {"Cluster", "Login", "Proper", "Account"},
                         true,
                         true,
                         false,
                         false,
                         true});
  usage_report(session, asked,
               {"Cluster/WCKey/User Utilization",
                {"Cluster", "WCKey", "Login", "Proper"},
                false,
                true,
                true,
                false,
                false});
}

void user_report(Session& session, std::string_view report, const Words& words) {
  if (!is(report, "TopUsage", 1))
    return void(session.fail(
        fmt::format("Not valid report {}\nValid user reports are, \"TopUsage\"", report)));
  Asked asked;
  read_words(session, words, asked);
  const bool cpu = cpus_alone(session, asked);
  const auto reply = ask(session, asked, UsageReport::kJobs);
  if (!reply) return;
  std::vector<Sum> sums = sums_by(*reply, !asked.group, true, false, false, true);
  if (asked.group) {
    for (Sum& sum : sums) {
      std::set<std::string> accounts;
      for (const protocol::JobUsageRow& row : reply->jobs)
        if (row.user == sum.user && row.cluster == sum.cluster) accounts.insert(row.account);
      sum.account = fmt::format("{}", fmt::join(accounts, ", "));
    }
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.used > b.used; });
  if (sums.size() > asked.top) sums.resize(asked.top);
  print_report(
      session, asked,
      {fmt::format("Top {} Users {}", asked.top, span(asked, true)), units(session.form, cpu)},
      usage_columns(session, false),
      usual_usage({"Cluster", "Login", "Proper", "Account"}, cpu, true),
      lines_of(session, sums, Wholes(*reply)));
}

namespace {

std::vector<std::string> size_headings(const protocol::QueryReportRequest& request) {
  const std::vector<uint32_t>& sizes = request.sizes;
  std::vector<std::string> out;
  if (request.each_size) {
    for (const uint32_t size : sizes) out.push_back(fmt::format("{} CPUs", size));
    return out;
  }
  uint32_t from = 0;
  for (const uint32_t size : sizes) {
    out.push_back(fmt::format("{}-{} CPUs", from, size - 1));
    from = size;
  }
  out.push_back(fmt::format(">= {} CPUs", from));
  return out;
}

// grouping=individual: each row gets all sizes that any has; they become those of the request.
void spread_sizes(QueryReportReply& reply, protocol::QueryReportRequest& request) {
  std::set<uint32_t> found;
  for (const protocol::JobSizeRow& row : reply.sizes)
    found.insert(row.cpus.begin(), row.cpus.end());
  request.sizes.assign(found.begin(), found.end());
  for (protocol::JobSizeRow& row : reply.sizes) {
    protocol::JobSizeRow all = row;
    all.cpus = request.sizes;
    all.cpu_seconds.assign(found.size(), 0);
    all.jobs.assign(found.size(), 0);
    for (size_t i = 0; i < row.cpus.size(); ++i) {
      const auto at = std::ranges::lower_bound(all.cpus, row.cpus[i]) - all.cpus.begin();
      all.cpu_seconds[static_cast<size_t>(at)] = row.cpu_seconds[i];
      all.jobs[static_cast<size_t>(at)] = row.jobs[i];
    }
    row = std::move(all);
  }
}

// Which line of the report a job's account belongs to; several where accounts stand in each other.
std::vector<std::string> lines_for(const Asked& asked, const Tree& tree,
                                   const protocol::JobSizeRow& row,
                                   const std::vector<std::string>& accounts) {
  const auto is_named = [&](const std::string& account) {
    return std::ranges::any_of(accounts, [&](const auto& one) { return iequals(one, account); });
  };
  if (asked.flat && !accounts.empty() && !is_named(row.account)) return {};
  if (asked.flat) return {row.account};
  std::vector<std::string> path;  // from the account upwards
  for (const AssociationRecord& record : tree.records) {
    if (record.cluster != row.cluster || !record.user.empty() ||
        !iequals(record.account, row.account))
      continue;
    for (const AssociationRecord* above : tree.path(record)) path.push_back(above->account);
  }
  if (path.empty()) path = {row.account, "root"};
  std::vector<std::string> out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (accounts.empty() ? path[i] != "root" : !is_named(path[i])) continue;
    if (!asked.as_parent) out.push_back(path[i]);
    else if (i > 0) out.push_back(path[i - 1]);
  }
  return out;
}

using SizeRows = std::map<std::pair<std::string, std::string>, protocol::JobSizeRow>;
// By what jobs are told apart.
struct Apart {
  bool by_wckey = false;
  bool by_both = false;
};

// By cluster and the name of a line.
SizeRows sum_of_lines(const Apart& apart, const Asked& asked, const Tree& tree,
                      const std::vector<protocol::JobSizeRow>& sizes,
                      const std::vector<std::string>& accounts) {
  SizeRows rows;
  for (const protocol::JobSizeRow& row : sizes) {
    if ((apart.by_wckey || apart.by_both) && row.wckey.empty()) continue;
    std::vector<std::string> names = {row.wckey};
    if (!apart.by_wckey) names = lines_for(asked, tree, row, accounts);
    for (std::string name : names) {
      if (apart.by_both) name += ":" + row.wckey;
      protocol::JobSizeRow& sum = rows[{row.cluster, name}];
      sum.cpu_seconds.resize(row.cpu_seconds.size());
      sum.jobs.resize(row.jobs.size());
      for (size_t i = 0; i < row.jobs.size(); ++i) {
        sum.cpu_seconds[i] += row.cpu_seconds[i];
        sum.jobs[i] += row.jobs[i];
      }
    }
  }
  return rows;
}

}  // namespace

void job_report(Session& session, std::string_view report, const Words& words) {
  const bool by_wckey = is(report, "SizesByWckey", 8);
  const bool both = is(report, "SizesByAccountAndWckey", 15);
  if (!by_wckey && !both && !is(report, "SizesByAccount", 1))
    return void(
        session.fail(fmt::format("Not valid report {}\nValid job reports are, \"SizesByAccount, "
                                 "SizesByAccountAndWckey, and SizesByWckey\"",
                                 report)));
  Asked asked;
  asked.request.sizes = {50, 250, 500, 1000};
  asked.of_jobs = true;
  read_words(session, words, asked);
  asked.request.tres = {"cpu"};
  const std::vector<std::string> accounts = std::exchange(asked.request.accounts, {});
  auto reply = ask(session, asked, UsageReport::kJobSizes);
  if (reply && asked.request.each_size) {
    spread_sizes(*reply, asked.request);
    if (asked.request.sizes.empty())
      return void(session.fail(" We need a grouping list to set up the print."));
  }
  const auto tree = reply ? tree_of(session, asked) : std::nullopt;
  if (!reply || !tree) return;
  const SizeRows rows = sum_of_lines({by_wckey, both}, asked, *tree, reply->sizes, accounts);
  const char* whose = by_wckey ? "Wckey" : "Account";
  const std::vector<std::string> headings = size_headings(asked.request);
  std::vector<Column> all = {{"Cluster", "Cluster", 9}, {whose, whose, both ? -20 : 9}};
  std::vector<std::string> usual = {"Cluster", whose};
  for (const std::string& heading : headings) {
    all.push_back({heading, heading, session.form >= TimeForm::kSecPer ? 20 : 13});
    if (asked.fields.empty()) usual.push_back(heading);
    else asked.fields.push_back(heading);
  }
  all.push_back({"% of cluster", "% of cluster", 12});
  (asked.fields.empty() ? usual : asked.fields).emplace_back("% of cluster");
  const Wholes wholes(*reply);
  const auto amounts = [&](const protocol::JobSizeRow& row) -> const std::vector<uint64_t>& {
    return asked.count_jobs ? row.jobs : row.cpu_seconds;
  };
  std::map<std::string, uint64_t> of_all;  // by cluster, as Slurm takes it: of what jobs had
  for (const auto& [key, row] : rows)
    for (const uint64_t amount : amounts(row)) of_all[key.first] += amount;
  std::vector<Line> lines;
  for (const auto& [key, row] : rows) {
    Line line = {{"Cluster", key.first}, {whose, key.second}};
    uint64_t total = 0;
    for (size_t i = 0; i < headings.size(); ++i) {
      total += amounts(row)[i];
      line[headings[i]] = asked.count_jobs ? std::to_string(row.jobs[i])
                                           : amount_text(session.form, row.cpu_seconds[i],
                                                         wholes.of(key.first, "cpu"));
    }
    line["% of cluster"] = amount_text(TimeForm::kPercent, total, of_all[key.first]);
    lines.push_back(std::move(line));
  }
  print_report(session, asked,
               {fmt::format("Job Sizes {}{}", by_wckey ? "by Wckey " : "", span(asked, true)),
                asked.count_jobs ? std::string("Units are in number of jobs ran")
                                 : fmt::format("Time reported in {}", in_time(session.form))},
               all, usual, lines);
}

void reservation_report(Session& session, std::string_view report, const Words& words) {
  if (!is(report, "Utilization", 1))
    return void(session.fail(fmt::format(
        "Not valid report {}\nValid reservation reports are, \"Utilization\"", report)));
  Asked asked;
  read_words(session, words, asked);
  cpus_alone(session, asked);
  const auto reply = ask(session, asked, UsageReport::kReservations);
  if (!reply) return;
  const int width = width_of_amount(session.form, 20);
  const std::vector<Column> all = {{"Allocated", "Allocated", width},
                                   {"Associations", "Associations", 15},
                                   {"Cluster", "Cluster", 9},
                                   {"Count", "TRES count", 10},
                                   {"CpuTime", "TRES Time", 9},
                                   {"End", "End", 19},
                                   {"Flags", "Flags", 20},
                                   {"Idle", "Idle", width},
                                   {"Name", "Name", 9},
                                   {"Nodes", "Nodes", 15},
                                   {"ReservationId", "Id", 8},
                                   {"Start", "Start", 19},
                                   {"TotalTime", "TotalTime", 9},
                                   {"TresCount", "TRES count", 10},
                                   {"TresTime", "TRES Time", 9},
                                   {"TresName", "TRES Name", 14}};
  std::vector<Line> lines;
  for (const protocol::ReservationUsageRow& row : reply->reservations) {
    const uint64_t whole = row.allocated + row.idle;
    const auto text = [&](uint64_t amount) { return amount_text(session.form, amount, whole); };
    const std::string tres_time =
        format_span((row.end - row.start) * static_cast<int64_t>(row.count));
    lines.push_back({{"Allocated", text(row.allocated)},
                     {"Associations", row.accounts.empty() ? row.users : row.accounts},
                     {"Cluster", row.cluster},
                     {"Count", std::to_string(row.count)},
                     {"CpuTime", tres_time},
                     {"End", format_time(row.end)},
                     {"Flags", row.flags},
                     {"Idle", text(row.idle)},
                     {"Name", row.name},
                     {"Nodes", row.nodes},
                     {"ReservationId", std::to_string(row.id)},
                     {"Start", format_time(row.start)},
                     {"TotalTime", format_span(row.end - row.start)},
                     {"TresTime", tres_time},
                     {"TresCount", std::to_string(row.count)},
                     {"TresName", row.tres}});
  }
  print_report(session, asked,
               {"Reservation Utilization " + span(asked, false), units(session.form, false)}, all,
               {"Cluster", "Name", "Start", "End", "TresName", "Allocated", "Idle"}, lines);
}

}  // namespace sluice::cli::sreport
