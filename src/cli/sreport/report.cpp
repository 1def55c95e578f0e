#include "cli/sreport/report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>
#include <grp.h>

#include "cli/format/shown_text.hpp"
#include "cli/sacct/job_words.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/cluster_config.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting_admin.hpp"

namespace sluice::cli::sreport {

namespace {

constexpr const char* kRule =
    "--------------------------------------------------------------------------------";

Time midnight(Time at, int days_later) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  parts.tm_sec = parts.tm_min = parts.tm_hour = 0;
  parts.tm_mday += days_later;
  parts.tm_isdst = -1;
  return Time(std::chrono::seconds(std::mktime(&parts)));
}

std::vector<std::string> values(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& one : split_list(text)) out.emplace_back(unquote(trim(one)));
  return out;
}

bool read_sizes(std::string_view text, Asked& asked) {
  asked.request.sizes.clear();
  if (is(text, "individual", 1)) return asked.request.each_size = true;
  asked.request.each_size = false;
  for (const std::string& one : values(text)) {
    const auto size = to_number<uint32_t>(one);
    if (!size || *size == 0) return false;
    asked.request.sizes.push_back(*size);
  }
  std::sort(asked.request.sizes.begin(), asked.request.sizes.end());
  return true;
}

// What is refused is told: Slurm would leave it out, and report of more than was asked for.
void take_groups(std::string_view value, Session& session, Asked& asked) {
  for (const std::string& name : values(value)) {
    const auto number = to_number<uint32_t>(name);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a command has one thread here
    const group* found = ::getgrnam(name.c_str());
    if (found == nullptr && !number) {
      session.fail(fmt::format("sreport: error: Invalid group id: {}", name));
      asked.refused = true;
    } else {
      asked.request.gids.push_back(found != nullptr ? found->gr_gid : *number);
    }
  }
}

// Conditions of reports of jobs. False: it is none.
bool take_jobs_value(std::string_view key, std::string_view value, Session& session, Asked& asked) {
  if (is(key, "GID", 2)) return take_groups(value, session, asked), true;
  if (is(key, "Nodes", 1)) {
    asked.request.nodes = value;
    if (const auto hosts = expand_hosts(asked.request.nodes); hosts) return true;
    session.fail(fmt::format("sreport: error: Invalid node list: {}", value));
    return asked.refused = true;
  }
  if (!is(key, "Jobs", 1)) return false;
  if (const Status ok = add_job_names(std::string(value), asked.request.jobs); !ok) {
    session.fail("sreport: error: " + ok.error().text);
    asked.refused = true;
  }
  return true;
}

// False: it is no condition of a report. A time that is none is told.
bool take_value(std::string_view key, std::string_view value, Session& session, Asked& asked,
                Time& start, Time& end) {
  protocol::QueryReportRequest& request = asked.request;
  const auto time = [&](Time& into) {
    const auto at = parse_time(value, net::now(), TimeBias::kPast);
    if (at) into = *at;
    else session.fail(at.error().text);
    return true;
  };
  if (asked.of_jobs && take_jobs_value(key, value, session, asked)) return true;
  if (is(key, "Clusters", 1)) request.clusters = values(value);
  else if (is(key, "Accounts", 2)) request.accounts = values(value);
  else if (is(key, "Users", 1)) request.users = values(value);
  else if (is(key, "WCKeys", 1)) request.wckeys = values(value);
  else if (is(key, "QOS", 1)) request.qos = values(value);
  else if (is(key, "Partitions", 2)) request.partitions = values(value);
  else if (is(key, "Names", 2)) request.names = values(value);
  else if (is(key, "TRES", 2)) request.tres = values(value);
  else if (is(key, "Start", 1)) return time(start);
  else if (is(key, "End", 1)) return time(end);
  else if (is(key, "Format", 1)) {
    for (std::string& field : values(value)) asked.fields.push_back(std::move(field));
  } else if (is(key, "Grouping", 2)) return read_sizes(value, asked);
  else if (is(key, "TopCount", 1)) {
    const auto count = to_number<uint32_t>(value);
    if (count) asked.top = *count;
    else session.fail(fmt::format("sreport: error: Invalid value for TopCount ({})", value));
  } else {
    return false;
  }
  return true;
}

bool take_flag(std::string_view word, Session& session, Asked& asked) {
  if (is(word, "All_Clusters", 1) && !is(word, "AcctAsParent", 2)) session.all_clusters = true;
  else if (is(word, "AcctAsParent", 2)) asked.as_parent = true;
  else if (is(word, "FlatView", 2)) asked.flat = true;
  else if (is(word, "Group", 1)) asked.group = true;
  else if (is(word, "PrintJobCount", 2)) asked.count_jobs = true;
  else if (is(word, "Tree", 4)) asked.tree = true;
  else return iequals(word, "where") || iequals(word, "set");
  return true;
}

std::string cell(std::string_view text, int width, bool cut_mark) {
  const auto room = static_cast<size_t>(std::abs(width));
  std::string shown(text.substr(0, room));
  if (cut_mark && text.size() > room && room > 0) shown.back() = '+';
  return width < 0 ? fmt::format("{:<{}} ", shown, room) : fmt::format("{:>{}} ", shown, room);
}

void print_lines(const Session& session, const std::vector<Column>& columns,
                 const std::vector<Line>& lines) {
  const auto row = [&](auto text_of, bool cut_mark) {
    std::string out;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string text = shown_cell(text_of(columns[i]));
      if (session.parsable == Parsable::kNo) {
        out += cell(text, columns[i].width, cut_mark);
        continue;
      }
      out += text;
      if (session.parsable == Parsable::kEnding || i + 1 < columns.size()) out += '|';
    }
    std::printf("%s\n", out.c_str());
  };
  if (session.header) {
    row([](const Column& column) { return column.heading; }, false);
    if (session.parsable == Parsable::kNo)
      row(
          [](const Column& column) {
            return std::string(static_cast<size_t>(std::abs(column.width)), '-');
          },
          false);
  }
  for (const Line& line : lines)
    row(
        [&](const Column& column) {
          const auto it = line.find(column.name);
          return it == line.end() ? std::string() : it->second;
        },
        true);
}

}  // namespace

bool is(std::string_view word, std::string_view name, size_t least) {
  return word.size() >= std::min(least, name.size()) && starts_with_i(name, word);
}

Client* Session::open() {
  if (!client) client = open_accounting("sreport", exit_code);
  return client ? &*client : nullptr;
}
bool Session::fail(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  exit_code = 1;
  return false;
}

std::optional<TimeForm> time_form(std::string_view word) {
  struct Row {
    const char* name;
    size_t least;
    TimeForm form;
  };
  static constexpr Row kRows[] = {
      {"SecPer", 6, TimeForm::kSecPer},   {"MinPer", 6, TimeForm::kMinPer},
      {"HourPer", 6, TimeForm::kHourPer}, {"Seconds", 1, TimeForm::kSeconds},
      {"Minutes", 1, TimeForm::kMinutes}, {"Hours", 1, TimeForm::kHours},
      {"Percent", 1, TimeForm::kPercent}};
  for (const Row& row : kRows)
    if (!word.empty() && is(word, row.name, row.least)) return row.form;
  return std::nullopt;
}

void settle_times(Time start, Time end, Time now, protocol::QueryReportRequest& request) {
  constexpr Duration kHour = std::chrono::hours(1);
  const auto nearest = [&](Time at) {
    const int64_t count = (at.time_since_epoch() + kHour / 2) / kHour;
    return Time(kHour * count);
  };
  request.until = end == kNoTime ? midnight(now, 0) : nearest(std::min(end, now));
  request.from = start == kNoTime ? midnight(now, -1) : nearest(std::min(start, now));
  if (request.until - request.from < kHour) request.until = request.from + kHour;
}

// Whether the database has the clusters and one of the TRES; tells it otherwise.
bool names_are_known(Session& session, const protocol::QueryReportRequest& request) {
  if (session.open() == nullptr) return false;
  const std::string own = session.client->config().cluster_name;
  const bool other = std::any_of(request.clusters.begin(), request.clusters.end(),
                                 [&](const std::string& one) { return !iequals(one, own); });
  if (!other && request.tres.empty()) return true;
  protocol::QueryAccountingRequest asked;
  asked.entity = protocol::AccountingEntity::kCluster;
  asked.where.with_deleted = true;
  const auto reply = session.client->call<protocol::QueryAccountingReply>(asked);
  if (!reply) {
    tell_no_answer("sreport", *session.client, reply.error());
    session.exit_code = 1;
    return false;
  }
  for (const std::string& name : request.clusters) {
    const bool there =
        iequals(name, own) || std::any_of(reply->clusters.begin(), reply->clusters.end(),
                                          [&](const auto& one) { return iequals(one.name, name); });
    if (!there)
      return session.fail(fmt::format("sreport: error: No cluster '{}' known by database.", name));
  }
  const bool any_tres =
      request.tres.empty() ||
      std::any_of(request.tres.begin(), request.tres.end(), [&](const std::string& name) {
        return iequals(name, "ALL") ||
               std::any_of(reply->all_tres.begin(), reply->all_tres.end(), [&](const auto& one) {
                 return iequals(one.name.empty() ? one.type : one.type + "/" + one.name, name);
               });
      });
  return any_tres || session.fail("sreport: fatal: No valid TRES given");
}

void read_words(Session& session, const Words& words, Asked& asked) {
  Time start = kNoTime;
  Time end = kNoTime;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const bool known = equals == std::string::npos
                           ? take_flag(word, session, asked)
                           : take_value(key, unquote(std::string_view(word).substr(equals + 1)),
                                        session, asked, start, end);
    if (known || word.empty()) continue;
    session.fail(fmt::format(" Unknown condition: {}\nUse keyword set to modify value", word));
  }
  if (asked.request.clusters.empty()) asked.request.clusters = session.clusters;
  if (session.all_clusters) asked.request.clusters.clear();
  else if (asked.request.clusters.empty() && session.open() != nullptr)
    asked.request.clusters = {session.client->config().cluster_name};
  if (asked.request.tres.empty()) asked.request.tres = session.tres;
  settle_times(start, end, net::now(), asked.request);
  asked.refused |= !names_are_known(session, asked.request);
}

std::string amount_text(TimeForm form, uint64_t amount, uint64_t whole) {
  const double percent =
      whole == 0 ? 0.0 : 100.0 * static_cast<double>(amount) / static_cast<double>(whole);
  const bool minutes = form == TimeForm::kMinutes || form == TimeForm::kMinPer;
  const bool hours = form == TimeForm::kHours || form == TimeForm::kHourPer;
  const double shown = static_cast<double>(amount) / (minutes ? 60.0 : hours ? 3600.0 : 1.0);
  if (form == TimeForm::kPercent) return fmt::format("{:.2f}%", percent);
  std::string out = fmt::format("{:.0f}", shown);
  if (form >= TimeForm::kSecPer) out += fmt::format("({:.2f}%)", percent);
  return out;
}

void print_report(Session& session, const Asked& asked, const Heading& heading,
                  const std::vector<Column>& all, const std::vector<std::string>& usual,
                  const std::vector<Line>& lines) {
  std::vector<Column> columns;
  bool unknown = false;
  for (const std::string& text : asked.fields.empty() ? usual : asked.fields) {
    const size_t percent = text.find('%', 1);  // "% of cluster" begins with one
    std::string name = text.substr(0, percent);
    if (iequals(name, "Accounts")) name.pop_back();
    // "Planned" is a name of its own, and the beginning of another
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const Column& one) { return iequals(name, one.name); });
    if (found == all.end())
      found = std::find_if(all.begin(), all.end(),
                           [&](const Column& one) { return is(name, one.name, 1); });
    if (found == all.end() || name.empty()) {
      session.fail(fmt::format(" Unknown field '{}'", name));
      unknown = true;
      continue;
    }
    columns.push_back(*found);
    if (percent != std::string::npos)
      columns.back().width =
          to_number<int>(std::string_view(text).substr(percent + 1)).value_or(columns.back().width);
  }
  if (unknown) return;
  if (session.header) {
    std::printf("%s\n%s\n", kRule, heading.title.c_str());
    if (!heading.units.empty()) std::printf("%s\n", heading.units.c_str());
    std::printf("%s\n", kRule);
  }
  print_lines(session, columns, lines);
}

}  // namespace sluice::cli::sreport
