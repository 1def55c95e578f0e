#include "cli/sacctmgr/history_list.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/format/shown_text.hpp"
#include "cli/sacctmgr/json.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/os/clock.hpp"

namespace sluice::cli::sacctmgr {
namespace {

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

}  // namespace

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

namespace {

const std::string& cell(const TextLine& line, const TextColumn& column) {
  static const std::string nothing;
  const auto at = line.find(column.name);
  return at == line.end() ? nothing : at->second;
}

}  // namespace

void print_table(const Session& session, const TextTable& table,
                 const std::vector<TextLine>& lines) {
  const std::vector<TextColumn>& columns = table.columns;
  const size_t shown = std::min(table.usual, columns.size());
  if (session.form) {
    Json records = Json::array();
    for (const TextLine& line : lines) {
      Json& record = records.emplace_back(Json::object());
      for (size_t i = 0; i < shown; ++i) record[to_lower(columns[i].name)] = cell(line, columns[i]);
    }
    print_records(session, table.key, std::move(records));
    return;
  }
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
    row([&](const TextColumn& column) { return cell(line, column); }, true);
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
      if (!at) return session.fail(at.error().text);
      into = *at;
      return true;
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
    else if (option.is("IDs", 1)) out.ids = option.list();
    else if (option.is("Start", 2)) {
      if (!time(out.request.from)) return false;
      begins = true;
    } else if (option.is("End", 2)) {
      if (!time(out.request.until)) return false;
    } else if (option.is("Nodes", 2)) out.nodes = option.list();
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

std::string end_text(Time end) { return end == kNoTime ? "Unknown" : format_time(end); }

}  // namespace sluice::cli::sacctmgr
