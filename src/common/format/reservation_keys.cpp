// See reservation_keys.hpp.
#include "common/format/reservation_keys.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/environment/gres_env.hpp"
#include "common/model/gres.hpp"
#include "common/format/show_lines.hpp"

namespace sluice {
namespace {

using protocol::ListChange;
using protocol::NameList;
using protocol::ReservationValues;

constexpr std::chrono::minutes kPurgeDefault{5};
constexpr std::chrono::hours kInfiniteCountsAs{24 * 365};

constexpr size_t kShownOnly = 1000;  // follows from the nodes that were asked for: cannot be given
struct ReservationFlagName {
  ReservationFlags flag;
  std::string_view name;
  size_t least;  // letters that are enough
};
// In the order in which they are shown.
constexpr ReservationFlagName kFlags[] = {
    {kReservationMaint, "MAINT", 3},
    {kReservationFlex, "FLEX", 1},
    {kReservationOverlap, "OVERLAP", 1},
    {kReservationIgnoreJobs, "IGNORE_JOBS", 1},
    {kReservationHourly, "HOURLY", 1},
    {kReservationDaily, "DAILY", 1},
    {kReservationWeekday, "WEEKDAY", 1},
    {kReservationWeekend, "WEEKEND", 5},
    {kReservationWeekly, "WEEKLY", 5},
    {kReservationSpecNodes, "SPEC_NODES", kShownOnly},
    {kReservationAllNodes, "ALL_NODES", kShownOnly},
    {kReservationAnyNodes, "ANY_NODES", 1},
    {kReservationStatic, "STATIC", 1},
    {kReservationPartNodes, "PART_NODES", 2},
    {kReservationTimeFloat, "TIME_FLOAT", 1},
    {kReservationReplace, "REPLACE", 1},
    {kReservationReplaceDown, "REPLACE_DOWN", 8},
    {kReservationPurge, "PURGE_COMP", 2},
    {kReservationNoHold, "NO_HOLD_JOBS_AFTER_END", 1},
    {kReservationMagnetic, "MAGNETIC", 3},
    {kReservationUserDelete, "USER_DELETE", 1},
};

// Other ways to write some of them.
constexpr ReservationFlagName kOtherNames[] = {
    {kReservationIgnoreJobs, "IGNORE_RUNNING", 8},
    {kReservationStatic, "STATIC_ALLOC", 7},
    {kReservationAnyNodes, "LICENSE_ONLY", 1},
};

ReservationFlags flag_named(std::string_view name) {
  const auto fits = [&](const ReservationFlagName& row) {
    return name.size() >= row.least && starts_with_i(row.name, name);
  };
  for (const ReservationFlagName& row : kFlags) {
    if (fits(row)) return row.flag;
  }
  for (const ReservationFlagName& row : kOtherNames) {
    if (fits(row)) return row.flag;
  }
  return 0;
}

Status refuse(std::string text) { return failure(ErrorCode::kBadRequest, std::move(text)); }

// A sign before a name says for that flag what += and -= say for all.
Status set_flags(std::string_view text, ListChange change, ReservationValues& values) {
  const auto bad = [&] { return refuse("Error parsing flags " + std::string(text) + "."); };
  for (std::string word : split_list(text)) {
    bool removes = change == ListChange::kRemove;
    if (word.starts_with('+') || word.starts_with('-')) {
      removes = word.front() == '-';
      word.erase(0, 1);
    }
    const size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, equals);
    ReservationFlags flag = flag_named(name);
    const bool negated = flag == 0 && starts_with_i(name, "NO_");
    if (negated) flag = flag_named(name.substr(3));
    if (flag == 0 || (equals != std::string::npos && flag != kReservationPurge)) return bad();
    if (negated || removes) {
      values.remove_flags |= flag;
      continue;
    }
    values.add_flags |= flag;
    if (flag != kReservationPurge) continue;
    const auto span = equals == std::string::npos ? std::optional<Duration>(kPurgeDefault)
                                                  : parse_span(word.substr(equals + 1));
    if (!span) return bad();
    values.purge_after = *span;
  }
  return {};
}

// In whole minutes, begun ones count.
Status set_duration(std::string_view text, ListChange change, std::string_view typed,
                    ReservationValues& values) {
  values.duration_change = change;
  if (iequals(text, "infinite") || iequals(text, "unlimited") || text == "-1") {
    values.duration = kInfiniteCountsAs;
    return {};
  }
  const auto span = parse_span(text);
  if (!span || *span <= Duration(0)) return refuse("Invalid duration " + std::string(typed) + ".");
  values.duration = std::chrono::ceil<std::chrono::minutes>(*span);
  return {};
}

constexpr std::string_view kGres = "gres/";

void append(std::string& list, std::string_view name, uint64_t count) {
  if (!list.empty()) list += ',';
  list.append(name).append(":").append(std::to_string(count));
}

// "gres/gpu=4", "gres/gpu:a100=2", also with a colon before the number.
Status add_gres(const std::string& word, std::string& list) {
  const auto items = gres_items(word);
  const size_t number = word.find_last_of("=:");
  if (!items || items->size() != 1 || number == std::string::npos ||
      !parse_count(word.substr(number + 1)))
    return refuse("invalid TRES '" + word + "'");
  const GresItem& item = items->front();
  if (is_shared_gres(item.name)) {
    return refuse("TRES type 'gres/" + item.name.str() + "' not supported with reservations");
  }
  append(list, item.type.empty() ? item.name.str() : item.name.str() + ":" + item.type.str(),
         item.count);
  return {};
}

// "node=2,cpu=8,license/foo=3,gres/gpu=4".
Status set_tres(std::string_view text, ReservationValues& values) {
  constexpr std::string_view kLicense = "license/";
  std::string licenses, gres;
  for (const std::string& word : split_list(text)) {
    if (starts_with_i(word, kGres)) {
      if (Status ok = add_gres(word, gres); !ok) return ok;
      continue;
    }
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return refuse("invalid TRES '" + word + "'");
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    const auto count = parse_count(value);
    if (!count) return refuse("invalid TRES " + name + " value '" + value + "'");
    if (iequals(name, "node")) {
      values.node_count = *count;
    } else if (iequals(name, "cpu")) {
      values.core_counts = {*count};
    } else if (starts_with_i(name, kLicense)) {
      append(licenses, std::string_view(name).substr(kLicense.size()), *count);
    } else {
      return refuse("TRES type '" + name + "' not supported with reservations");
    }
  }
  if (!licenses.empty()) values.licenses = std::move(licenses);
  if (!gres.empty()) values.gres = std::move(gres);
  return {};
}

// Of each node nothing but generic resources.
Status set_tres_per_node(std::string_view text, ReservationValues& values) {
  std::string gres;
  for (const std::string& word : split_list(text)) {
    if (!starts_with_i(word, kGres)) {
      const std::string name = word.substr(0, word.find('='));
      return refuse("TRES type '" + name + "' not supported with reservations");
    }
    if (Status ok = add_gres(word, gres); !ok) return ok;
  }
  if (gres.empty()) return refuse("invalid TRES '" + std::string(text) + "'");
  values.gres_per_node = std::move(gres);
  return {};
}

struct Given {
  std::string_view value;
  ListChange change;
  std::string_view typed;
  Time now;
};

template <std::optional<NameList> ReservationValues::*member>
Status set_names(const Given& given, ReservationValues& values) {
  if (values.*member)
    return refuse("Parameter " + std::string(given.typed) + " specified more than once");
  values.*member = NameList{std::string(given.value), given.change};
  return {};
}
template <std::optional<std::string> ReservationValues::*member>
Status set_word(const Given& given, ReservationValues& values) {
  values.*member = std::string(given.value);
  return {};
}
template <std::optional<Time> ReservationValues::*member>
Status set_time(const Given& given, ReservationValues& values) {
  const auto at = parse_time(given.value, given.now);
  if (!at) {
    const bool start = member == &ReservationValues::start;
    return refuse(at.error().text + "\nInvalid " + (start ? "start" : "end") + " time " +
                  std::string(given.typed) + ".");
  }
  values.*member = *at;
  return {};
}
Status set_nodes(const Given& given, ReservationValues& values) {
  values.nodes = std::string(given.value);
  return {};
}
Status set_node_count(const Given& given, ReservationValues& values) {
  const auto count = parse_count(given.value);
  if (!count || *count == 0) return refuse("Invalid node count " + std::string(given.value));
  values.node_count = *count;
  return {};
}
Status set_start_delay(const Given& given, ReservationValues& values) {
  const auto span = parse_span(given.value);
  if (!span) return refuse("Invalid duration " + std::string(given.typed) + ".");
  values.max_start_delay = *span;
  return {};
}
// "4", or of one node after the other "4,2".
Status set_core_counts(const Given& given, ReservationValues& values) {
  values.core_counts.clear();
  for (const std::string& word : split_list(given.value)) {
    const auto count = parse_count(word);
    if (!count) return refuse("Invalid core count " + std::string(given.value));
    values.core_counts.push_back(*count);
  }
  if (values.core_counts.empty()) return refuse("Invalid core count " + std::string(given.value));
  return {};
}
Status set_none(const Given& given, ReservationValues&) {
  return refuse(std::string(given.typed) + " is not supported.");
}

struct Key {
  std::string_view name;
  size_t least;  // letters that are enough
  Status (*set)(const Given&, ReservationValues&);
  bool changes = false;  // += and -= change what is there
};
constexpr Key kKeys[] = {
    {"StartTime", 1, set_time<&ReservationValues::start>},
    {"EndTime", 1, set_time<&ReservationValues::end>},
    {"Duration", 1,
     [](const Given& g, ReservationValues& v) {
       return set_duration(g.value, g.change, g.typed, v);
     },
     true},
    {"Flags", 2,
     [](const Given& g, ReservationValues& v) { return set_flags(g.value, g.change, v); }, true},
    {"Features", 2, set_word<&ReservationValues::features>},
    {"Nodes", 1, set_nodes},
    {"NodeCnt", 5, set_node_count},
    {"NodeCount", 5, set_node_count},
    {"PartitionName", 1, set_word<&ReservationValues::partition>},
    {"Users", 1, set_names<&ReservationValues::users>, true},
    {"Groups", 1, set_names<&ReservationValues::groups>, true},
    {"Accounts", 1, set_names<&ReservationValues::accounts>, true},
    {"Comment", 3, set_word<&ReservationValues::comment>},
    {"MaxStartDelay", 1, set_start_delay},
    {"TRES", 1, [](const Given& g, ReservationValues& v) { return set_tres(g.value, v); }},
    {"CoreCnt", 4, set_core_counts},
    {"CoreCount", 4, set_core_counts},
    {"CPUCnt", 3, set_core_counts},
    {"CPUCount", 3, set_core_counts},
    {"Licenses", 1, set_word<&ReservationValues::licenses>},
    {"BurstBuffer", 1, set_none},
    {"AllowedPartitions", 2, set_none},
    {"QOS", 1, set_none},
    {"TRESPerNode", 5,
     [](const Given& g, ReservationValues& v) { return set_tres_per_node(g.value, v); }},
};

bool is_among(int weekday, ReservationFlags flags) {
  if ((flags & kReservationDaily) != 0) return true;
  const bool weekend = weekday == 0 || weekday == 6;
  if ((flags & kReservationWeekday) != 0) return !weekend;
  if ((flags & kReservationWeekend) != 0) return weekend;
  return true;
}

std::string or_null(std::string_view text) { return text.empty() ? "(null)" : std::string(text); }

// Empty: nothing that is counted.
std::string tres_of(const protocol::ReservationRecord& record,
                    const std::vector<std::string>& accounting_tres) {
  std::string out = record.cpus == 0 ? "" : fmt::format(",cpu={}", record.cpus);
  GresShares gres;
  for (const ReservedGres& part : record.reservation.gres) add_shares(gres, part.shares);
  // what is reserved is told in any case, of types what accounting counts
  std::vector<std::string> shown;
  for (const GresShare& share : gres) {
    std::string name = std::string(kGres) + share.name.str();
    if (std::ranges::find(shown, name) == shown.end()) shown.push_back(std::move(name));
  }
  for (const std::string& tres : accounting_tres) {
    const bool is_type = tres.starts_with(kGres) && tres.find(':') != std::string::npos;
    if (is_type) shown.push_back(tres);
  }
  out += gres_tres(gres, shown);
  out += license_tres(record.reservation.licenses, accounting_tres);
  return out.substr(out.empty() ? 0 : 1);
}

}  // namespace

std::vector<ReservationKeyName> reservation_key_names() {
  std::vector<ReservationKeyName> out;
  for (const Key& row : kKeys) out.push_back({row.name, row.set != set_none});
  return out;
}

std::vector<std::string_view> reservation_flag_names() {
  std::vector<std::string_view> out;
  for (const ReservationFlagName& row : kFlags) {
    if (row.least != kShownOnly) out.push_back(row.name);
  }
  for (const ReservationFlagName& row : kOtherNames) out.push_back(row.name);
  return out;
}

std::string reservation_flags_text(const Reservation& reservation) {
  std::string out;
  for (const ReservationFlagName& row : kFlags) {
    if ((reservation.flags & row.flag) == 0) continue;
    if (!out.empty()) out += ',';
    out += row.name;
    if (row.flag == kReservationPurge) out += "=" + format_span(reservation.purge_after);
  }
  return out;
}

Status set_reservation_key(std::string_view key, std::string_view value, ListChange change,
                           std::string_view typed, Time now, ReservationValues& values) {
  if (iequals(typed, "Skip")) {
    values.skip = true;
    return {};
  }
  for (const Key& row : kKeys) {
    if (key.size() < row.least || !starts_with_i(row.name, key)) continue;
    if (change != ListChange::kReplace && !row.changes) {
      return refuse("The +=/-= notation is not supported when updating " + std::string(key) + ".");
    }
    return row.set({value, change, typed, now}, values);
  }
  return failure(ErrorCode::kNotFound, "Unknown parameter " + std::string(typed) + ".");
}

std::string lacking_of_reservation(const ReservationValues& values) {
  if (!values.start) return "A start time must be given.";
  if (!values.end && !values.duration) return "An end time or duration must be given.";
  if (values.end && *values.end <= *values.start) return "Start time cannot be after end time.";
  if (values.end && values.duration &&
      std::chrono::abs(*values.end - *values.start - *values.duration) >= std::chrono::minutes(1)) {
    return "StartTime + Duration does not equal EndTime.";
  }
  const bool all = values.nodes && iequals(*values.nodes, "ALL");
  if ((values.add_flags & kReservationPartNodes) != 0 && (!values.partition || !all)) {
    return "PART_NODES flag requires specifying a Partition and ALL nodes.";
  }
  // a partition: its nodes
  const bool some = values.nodes
                        ? !values.nodes->empty()
                        : values.node_count || values.partition || !values.core_counts.empty() ||
                              values.gres || values.gres_per_node ||
                              (values.licenses && !values.licenses->empty());
  if (!some) return "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.";
  const auto names = [](const std::optional<NameList>& list) {
    return list && !list->names.empty();
  };
  if (names(values.users) && names(values.groups)) {
    return "Users and Groups are mutually exclusive.  You can have one or the other, but not both.";
  }
  if (!names(values.users) && !names(values.groups) && !names(values.accounts)) {
    return "Either Users/Groups and/or Accounts must be specified.";
  }
  return {};
}

Time next_occurrence(Time start, ReservationFlags flags) {
  if ((flags & kReservationHourly) != 0) return start + std::chrono::hours(1);
  const std::time_t from = to_seconds(start);
  std::tm local{};
  localtime_r(&from, &local);
  constexpr ReservationFlags kDays = kReservationDaily | kReservationWeekday | kReservationWeekend;
  const bool weekly = (flags & kReservationWeekly) != 0 && (flags & kDays) == 0;
  do {
    local.tm_mday += weekly ? 7 : 1;
    local.tm_isdst = -1;
    const std::time_t next = std::mktime(&local);  // puts the day of the week right, too
    if (next == -1) return start + std::chrono::hours(24);
    if (is_among(local.tm_wday, flags)) return from_seconds(next);
  } while (true);
}

std::string show_reservation(const protocol::ReservationRecord& record, bool one_line,
                             const std::vector<std::string>& accounting_tres) {
  const Reservation& r = record.reservation;
  ShowLines out(one_line);
  out.word("ReservationName", r.name)
      .word("StartTime", format_time(r.start))
      .word("EndTime", format_time(r.end));
  out.word("Duration", format_span(r.end - r.start));
  out.line()
      .word("Nodes", or_null(record.node_list))
      .word("NodeCnt", r.nodes.count())
      .word("CoreCnt", record.cores);
  out.word("Features", or_null(r.features)).word("PartitionName", or_null(r.partition));
  out.word("Flags", reservation_flags_text(r));
  for (const protocol::CoresOfNode& part : record.core_ids)
    out.line().word("  NodeName", part.node).word("CoreIDs", part.cores.to_text());
  out.line().word("TRES", or_null(tres_of(record, accounting_tres)));
  out.line().word("AllowedPartitions", "(null)").word("QOS", "(null)");
  out.line()
      .word("Users", or_null(r.users))
      .word("Groups", or_null(r.groups))
      .word("Accounts", or_null(r.accounts));
  out.word("Licenses", or_null(r.licenses))
      .word("State", record.active ? "ACTIVE" : "INACTIVE")
      .word("BurstBuffer", "(null)");
  const bool delays = r.max_start_delay > Duration(0);
  out.line().word("MaxStartDelay", delays ? format_span(r.max_start_delay) : "(null)");
  if (!r.comment.empty()) out.line().word("Comment", r.comment);
  return out.take();
}

Json reservation_to_json(const protocol::ReservationRecord& record,
                         const std::vector<std::string>& accounting_tres) {
  const Reservation& r = record.reservation;
  Json flags = Json::array();
  for (const ReservationFlagName& row : kFlags) {
    if ((r.flags & row.flag) != 0) flags.push_back(row.name);
  }
  Json cores = Json::array();
  for (const protocol::CoresOfNode& part : record.core_ids)
    cores.push_back({{"node", part.node}, {"core", part.cores.to_text()}});
  const Duration purge = r.purge_after > Duration(0) ? r.purge_after : Duration(kPurgeDefault);
  Json out = Json::object();
  out["accounts"] = r.accounts;
  out["burst_buffer"] = "";
  out["core_count"] = record.cores;
  out["core_specializations"] = std::move(cores);
  out["end_time"] = json_time(r.end);
  out["features"] = r.features;
  out["flags"] = std::move(flags);
  out["groups"] = r.groups;
  out["licenses"] = r.licenses;
  out["max_start_delay"] = to_seconds(r.max_start_delay);
  out["name"] = r.name;
  out["node_count"] = r.nodes.count();
  out["node_list"] = record.node_list;
  out["partition"] = r.partition;
  out["purge_completed"] = {{"time", json_number(static_cast<uint64_t>(to_seconds(purge)))}};
  out["start_time"] = json_time(r.start);
  out["watts"] = Json::object();
  out["tres"] = tres_of(record, accounting_tres);
  out["users"] = r.users;
  return out;
}

}  // namespace sluice
