#include "dbd/import/source.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/base/check.hpp"

namespace sluice::dbd {
namespace {

using soci::into;
using soci::use;

// Those that are read, with all of their columns: one more or less is another version's.
const std::vector<SourceTable> kTables = {
    // clang-format off
    {"tres_table", false,
     {"creation_time", "deleted", "id", "type", "name"}},
    {"cluster_table", false,
     {"creation_time", "mod_time", "deleted", "name", "control_host", "control_port",
      "last_port", "rpc_version", "classification", "dimensions", "plugin_id_select", "flags",
      "federation", "features", "fed_id", "fed_state"}},
    {"acct_table", false,
     {"creation_time", "mod_time", "deleted", "name", "description", "organization"}},
    {"user_table", false,
     {"creation_time", "mod_time", "deleted", "name", "admin_level"}},
    {"acct_coord_table", false,
     {"creation_time", "mod_time", "deleted", "acct", "user"}},
    {"qos_table", false,
     {"creation_time", "mod_time", "deleted", "id", "name", "description", "flags", "grace_time",
      "max_jobs_pa", "max_jobs_per_user", "max_jobs_accrue_pa", "max_jobs_accrue_pu",
      "min_prio_thresh", "max_submit_jobs_pa", "max_submit_jobs_per_user", "max_tres_pa",
      "max_tres_pj", "max_tres_pn", "max_tres_pu", "max_tres_mins_pj", "max_tres_run_mins_pa",
      "max_tres_run_mins_pu", "min_tres_pj", "max_wall_duration_per_job", "grp_jobs",
      "grp_jobs_accrue", "grp_submit_jobs", "grp_tres", "grp_tres_mins", "grp_tres_run_mins",
      "grp_wall", "preempt", "preempt_mode", "preempt_exempt_time", "priority", "usage_factor",
      "usage_thres", "limit_factor"}},
    {"assoc_table", true,
     {"creation_time", "mod_time", "deleted", "is_def", "id_assoc", "user", "acct", "partition",
      "parent_acct", "lft", "rgt", "shares", "max_jobs", "max_jobs_accrue", "min_prio_thresh",
      "max_submit_jobs", "max_tres_pj", "max_tres_pn", "max_tres_mins_pj", "max_tres_run_mins",
      "max_wall_pj", "grp_jobs", "grp_jobs_accrue", "grp_submit_jobs", "grp_tres",
      "grp_tres_mins", "grp_tres_run_mins", "grp_wall", "priority", "def_qos_id", "qos",
      "delta_qos"}},
    {"wckey_table", true,
     {"creation_time", "mod_time", "deleted", "is_def", "id_wckey", "wckey_name", "user"}},
    {"job_table", true,
     {"job_db_inx", "mod_time", "deleted", "account", "admin_comment", "array_task_str",
      "array_max_tasks", "array_task_pending", "constraints", "container", "cpus_req",
      "derived_ec", "derived_es", "env_hash_inx", "exit_code", "flags", "job_name", "id_assoc",
      "id_array_job", "id_array_task", "id_block", "id_job", "id_qos", "id_resv", "id_wckey",
      "id_user", "id_group", "het_job_id", "het_job_offset", "kill_requid", "state_reason_prev",
      "mcs_label", "mem_req", "nodelist", "nodes_alloc", "node_inx", "partition", "priority",
      "script_hash_inx", "state", "timelimit", "time_submit", "time_eligible", "time_start",
      "time_end", "time_suspended", "gres_used", "wckey", "work_dir", "submit_line",
      "system_comment", "tres_alloc", "tres_req"}},
    {"step_table", true,
     {"job_db_inx", "deleted", "exit_code", "id_step", "step_het_comp", "kill_requid",
      "nodelist", "nodes_alloc", "node_inx", "state", "step_name", "task_cnt", "task_dist",
      "time_start", "time_end", "time_suspended", "user_sec", "user_usec", "sys_sec", "sys_usec",
      "act_cpufreq", "consumed_energy", "container", "req_cpufreq_min", "req_cpufreq",
      "req_cpufreq_gov", "submit_line", "tres_alloc", "tres_usage_in_ave", "tres_usage_in_max",
      "tres_usage_in_max_taskid", "tres_usage_in_max_nodeid", "tres_usage_in_min",
      "tres_usage_in_min_taskid", "tres_usage_in_min_nodeid", "tres_usage_in_tot",
      "tres_usage_out_ave", "tres_usage_out_max", "tres_usage_out_max_taskid",
      "tres_usage_out_max_nodeid", "tres_usage_out_min", "tres_usage_out_min_taskid",
      "tres_usage_out_min_nodeid", "tres_usage_out_tot"}},
    {"event_table", true,
     {"time_start", "time_end", "node_name", "cluster_nodes", "reason", "reason_uid", "state",
      "tres"}},
    {"resv_table", true,
     {"id_resv", "deleted", "assoclist", "flags", "nodelist", "node_inx", "resv_name",
      "time_start", "time_end", "tres", "unused_wall"}},
    {"job_script_table", true,
     {"hash_inx", "last_used", "script_hash", "batch_script"}},
    {"job_env_table", true,
     {"hash_inx", "last_used", "env_hash", "env_vars"}},
    // clang-format on
};

std::string full_name(const SourceTable& table, const std::string& cluster) {
  return table.of_cluster ? fmt::format("{}_{}", cluster, table.name) : std::string(table.name);
}

// A name within a statement, which cannot be bound.
std::string quoted(std::string_view name) {
  std::string out = "`";
  for (const char c : name) {
    if (c == '`') out += '`';
    out += c;
  }
  return out + '`';
}

Status check_table(Session& sql, const SourceTable& table, const std::string& cluster) {
  const std::string name = full_name(table, cluster);
  std::set<std::string, std::less<>> there;
  std::string column;
  soci::statement list =
      (sql.prepare << "SELECT CAST(column_name AS CHAR) FROM information_schema.columns WHERE "
                      "table_schema = DATABASE() AND table_name = :t",
       use(name), into(column));
  list.execute();
  while (list.fetch()) there.insert(column);
  if (there.empty())
    return failure(fmt::format("there is no table {}: this is no database of slurmdbd", name));
  for (const std::string_view wanted : table.columns) {
    if (there.erase(std::string(wanted)) == 0)
      return failure(
          fmt::format("table {} has no column {}: it is not of Slurm 22.05, whose "
                      "databases can be imported",
                      name, wanted));
  }
  if (there.empty()) return {};
  return failure(
      fmt::format("table {} has the column {}, which Slurm 22.05 does not know: only "
                  "its databases can be imported",
                  name, *there.begin()));
}

}  // namespace

const SourceTable& source_table(std::string_view name) {
  const auto found = std::ranges::find(kTables, name, &SourceTable::name);
  SLUICE_CHECK(found != kTables.end());
  return *found;
}

Status check_schema(Session& sql, const std::vector<std::string>& clusters) {
  for (const SourceTable& table : kTables) {
    if (!table.of_cluster) {
      if (auto ok = check_table(sql, table, ""); !ok) return ok;
      continue;
    }
    for (const std::string& cluster : clusters) {
      if (auto ok = check_table(sql, table, cluster); !ok) return ok;
    }
  }
  return {};
}

size_t SourceRow::position(std::string_view column) const {
  const auto found = std::ranges::find(table_.columns, column);
  SLUICE_CHECK(found != table_.columns.end());
  return static_cast<size_t>(found - table_.columns.begin());
}

std::string SourceRow::text(std::string_view column) const {
  return is_null(column) ? std::string() : values_[position(column)];
}

bool SourceRow::is_null(std::string_view column) const {
  return indicators_[position(column)] != soci::i_ok;
}

void each_row(Session& sql, std::string_view table, const std::string& cluster,
              const std::string& where, const std::function<void(const SourceRow&)>& take) {
  const SourceTable& source = source_table(table);
  std::vector<std::string> values(source.columns.size());
  std::vector<soci::indicator> indicators(source.columns.size(), soci::i_null);
  soci::statement read(sql);
  std::string text = "SELECT ";
  for (size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}CAST({} AS CHAR)", i == 0 ? "" : ", ", quoted(source.columns[i]));
    read.exchange(into(values[i], indicators[i]));
  }
  text += fmt::format(" FROM {} {}", quoted(full_name(source, cluster)), where);
  read.alloc();
  read.prepare(text);
  read.define_and_bind();
  read.execute();
  const SourceRow row(source, values, indicators);
  while (read.fetch()) take(row);
}

}  // namespace sluice::dbd
