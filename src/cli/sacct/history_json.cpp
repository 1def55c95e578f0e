// The order of keys is the parser's (data_parser v0.0.44).
#include "cli/sacct/history_json.hpp"

#include <algorithm>

#include "cli/format/job_json.hpp"
#include "cli/sacct/values.hpp"
#include "common/base/hostlist.hpp"
#include "common/base/text.hpp"
#include "common/model/standard_tres.hpp"
#include "common/names/step_names.hpp"

namespace sluice::cli {
namespace {

uint64_t seconds_of(Time time) {
  return time == kNoTime ? 0 : static_cast<uint64_t>(to_seconds(time));
}
Json cpu_json(Duration time) {
  constexpr int64_t kMillion = 1'000'000;
  return {{"seconds", to_seconds(time)}, {"microseconds", time.count() % kMillion}};
}
Json limit_json(Minutes limit) {
  if (limit == kInfiniteMinutes) return json_infinite();
  return limit == 0 ? json_unset() : json_number(limit);
}

// The daemon's own numbers of others are not sent.
Json tres_json(std::string_view name, uint64_t count) {
  const size_t slash = name.find('/');
  const std::string_view rest = slash == name.npos ? "" : name.substr(slash + 1);
  return {{"type", std::string(name.substr(0, slash))},
          {"name", std::string(rest)},
          {"id", standard_tres_id(name)},
          {"count", count}};
}
Json tres_json(NamedTresList list) {
  std::ranges::stable_sort(list, {}, [](const NamedTres& one) {
    const TresId id = standard_tres_id(one.name);
    return id != 0 ? id : UINT32_MAX;
  });
  Json out = Json::array();
  for (const NamedTres& one : list) out.push_back(tres_json(one.name, one.count));
  return out;
}

struct Measured {
  std::string_view name;
  UsageExtent UsageHistory::*extent;  // null: nothing here measures it
};
constexpr Measured kIn[] = {{"cpu", &UsageHistory::cpu},
                            {"mem", &UsageHistory::memory},
                            {"energy", nullptr},
                            {"fs/disk", &UsageHistory::read},
                            {"vmem", &UsageHistory::virtual_memory},
                            {"pages", &UsageHistory::pages}};
constexpr Measured kOut[] = {{"energy", nullptr}, {"fs/disk", &UsageHistory::written}};

Json usage_json(std::span<const Measured> kinds, const UsageHistory& usage) {
  constexpr uint64_t kMicrosInMilli = 1000;
  Json most = Json::array(), least = Json::array(), average = Json::array(), total = Json::array();
  for (const Measured& kind : kinds) {
    if (usage.tasks == 0) break;
    UsageExtent e = kind.extent != nullptr ? usage.*kind.extent : usage.cpu;
    if (kind.extent == nullptr) e.max = e.min = e.total = 0;
    if (kind.name == "cpu") {
      for (uint64_t* part : {&e.max, &e.min, &e.total}) *part /= kMicrosInMilli;
    }
    const auto with_place = [&](uint64_t count, uint32_t task, const std::string& node) {
      Json out = tres_json(kind.name, count);
      out["task"] = task;
      out["node"] = node;
      return out;
    };
    most.push_back(with_place(e.max, e.max_task, e.max_node));
    least.push_back(with_place(e.min, e.min_task, e.min_node));
    average.push_back(tres_json(kind.name, e.total / usage.tasks));
    total.push_back(tres_json(kind.name, e.total));
  }
  return {{"max", most}, {"min", least}, {"average", average}, {"total", total}};
}

Json step_to_json(const protocol::HistoryJob& record, const StepHistory& step,
                  const SacctContext& context) {
  const SacctRow row{record, &step};
  JsonFields out(14);
  out["time"] = {{"elapsed", to_seconds(sacct_elapsed(row, context))},
                 {"end", json_number(seconds_of(step.end), step.end != kNoTime)},
                 {"start", json_number(seconds_of(step.start), step.start != kNoTime)},
                 {"suspended", to_seconds(step.suspended)},
                 {"system", cpu_json(step.usage.system_cpu)},
                 {"limit", step.time_limit == 0 ? json_infinite() : limit_json(step.time_limit)},
                 {"total", cpu_json(step.usage.user_cpu + step.usage.system_cpu)},
                 {"user", cpu_json(step.usage.user_cpu)}};
  out["exit_code"] = exit_code_to_json(step.exit_status);
  const auto names = expand_hosts(step.nodes);
  out["nodes"] = {{"count", step.node_count},
                  {"range", step.nodes},
                  {"list", names ? Json(*names) : Json::array()}};
  out["tasks"] = {{"count", step.tasks}};
  out["pid"] = "";
  out["CPU"] = {{"requested_frequency", {{"min", json_number(0)}, {"max", json_number(0)}}},
                {"governor", "0"}};
  out["kill_request_user"] = step.ended_by == UINT32_MAX || context.user_name == nullptr
                                 ? std::string()
                                 : context.user_name(step.ended_by);
  out["state"] = Json::array({sacct_step_state(step, false)});
  out["statistics"] = {{"CPU", {{"actual_frequency", 0}}},
                       {"energy", {{"consumed", json_number(0)}}}};
  out["step"] = {{"id", step_id_text(step.id)},
                 {"name", step.name},
                 {"stderr", step.std_err},
                 {"stdin", step.std_in},
                 {"stdout", step.std_out},
                 {"stderr_expanded", sacct_file(row, step.std_err, true)},
                 {"stdin_expanded", sacct_file(row, step.std_in, true)},
                 {"stdout_expanded", sacct_file(row, step.std_out, true)}};
  out["task"] = {{"distribution", step.layout.empty() ? "Unknown" : step.layout}};
  out["tres"] = {{"requested", usage_json(kIn, step.usage)},
                 {"consumed", usage_json(kOut, step.usage)},
                 {"allocated", tres_json(step.allocated_tres)}};
  return std::move(out).take();
}

Json time_json(const SacctRow& row, const SacctContext& context) {
  const JobHistory& job = row.record.job;
  const UsageHistory usage = sacct_usage(row.record);
  return {
      {"elapsed", to_seconds(sacct_elapsed(row, context))},
      {"eligible", seconds_of(job.eligible)},
      {"end", seconds_of(job.end)},
      {"planned", json_number(static_cast<uint64_t>(to_seconds(sacct_planned(job, context.now))))},
      {"start", seconds_of(job.start)},
      {"submission", seconds_of(job.submit)},
      {"suspended", to_seconds(sacct_suspended(job, context.now))},
      {"system", cpu_json(usage.system_cpu)},
      {"limit", limit_json(job.time_limit)},
      {"total", cpu_json(usage.user_cpu + usage.system_cpu)},
      {"user", cpu_json(usage.user_cpu)}};
}

Json array_json(const JobHistory& job) {
  const bool task = job.array_job != kNoJob && job.array_task != kNoTask;
  return {{"job_id", job.array_job},
          {"limits", {{"max", {{"running", {{"tasks", job.array_limit}}}}}}},
          {"task_id", json_number(task ? job.array_task : 0, task)},
          {"task", job.array_tasks}};
}

Json required_json(const JobHistory& job) {
  const uint64_t per_cpu = job.requested_memory_per_cpu_mib;
  const uint64_t per_node =
      per_cpu > 0 ? 0 : job.requested_memory_mib / std::max(1U, job.requested_nodes);
  return {{"CPUs", job.requested_cpus},
          {"memory_per_cpu", json_number(per_cpu, per_cpu > 0)},
          {"memory_per_node", json_number(per_node, per_cpu == 0)}};
}

}  // namespace

Json history_to_json(const protocol::HistoryJob& record, const SacctContext& context) {
  const JobHistory& job = record.job;
  const SacctRow row{record, nullptr};
  JsonFields out(64);
  out["account"] = job.account;
  out["comment"] = {
      {"administrator", job.admin_comment}, {"job", job.comment}, {"system", job.system_comment}};
  out["allocation_nodes"] = job.node_count;
  out["array"] = array_json(job);
  out["association"] = {{"account", ""},
                        {"cluster", record.cluster},
                        {"partition", ""},
                        {"user", ""},
                        {"id", record.association}};
  out["block"] = "";
  out["cluster"] = record.cluster;
  out["constraints"] = job.constraint;
  out["container"] = job.container;
  out["derived_exit_code"] = exit_code_to_json(job.derived_exit_status);
  out["time"] = time_json(row, context);
  out["exit_code"] = exit_code_to_json(job.exit_status);
  out["extra"] = job.extra;
  out["failed_node"] = job.failed_node;
  Json flags = Json::array();
  if (job.start != kNoTime)
    flags = {job.backfilled ? "STARTED_ON_BACKFILL" : "STARTED_ON_SCHEDULE", "START_RECEIVED"};
  out["flags"] = std::move(flags);
  out["group"] = job.group;
  const bool het = job.het_job != kNoJob;
  out["het"] = {{"job_id", job.het_job}, {"job_offset", json_number(job.het_offset, het)}};
  out["job_id"] = job.id;
  out["name"] = job.name;
  out["licenses"] = job.licenses;
  out["mcs"] = {{"label", job.mcs_label}};
  out["nodes"] = job.nodes.empty() ? "None assigned" : job.nodes;
  out["partition"] = job.partition;
  out["hold"] = false;
  out["priority"] = json_number(job.priority);
  out["qos"] = job.qos.empty() ? "normal" : job.qos;
  out["qosreq"] = job.qos_asked;
  out["required"] = required_json(job);
  out["kill_request_user"] = job.ended_by == UINT32_MAX || context.user_name == nullptr
                                 ? std::string()
                                 : context.user_name(job.ended_by);
  out["restart_cnt"] = job.restarts;
  out["reservation"] = {{"id", job.reservation_id},
                        {"name", job.reservation},
                        {"requested", job.requested_reservations}};
  out["script"] = "";
  out["segment_size"] = 0;
  out["stdin_expanded"] = sacct_file(row, job.std_in, true);
  out["stdout_expanded"] = sacct_file(row, job.std_out, true);
  out["stderr_expanded"] = sacct_file(row, job.std_err, true);
  out["stdout"] = job.std_out;
  out["stderr"] = job.std_err;
  out["stdin"] = job.std_in;
  out["state"] = {{"current", Json::array({sacct_job_state(job, false)})}, {"reason", job.reason}};
  Json steps = Json::array();
  for (const StepHistory& step : record.steps) steps.push_back(step_to_json(record, step, context));
  out["steps"] = std::move(steps);
  out["submit_line"] = job.submit_line;
  out["tres"] = {{"allocated", tres_json(job.allocated_tres)},
                 {"requested", tres_json(job.requested_tres)}};
  out["used_gres"] = "";
  out["user"] = job.user;
  out["wckey"] = {{"wckey", job.wckey}, {"flags", Json::array()}};
  out["working_directory"] = job.work_dir;
  return std::move(out).take();
}

}  // namespace sluice::cli
