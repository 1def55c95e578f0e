#include "dbd/import/history.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/hostlist.hpp"
#include "common/base/index_set.hpp"
#include "common/base/text.hpp"
#include "common/model/history.hpp"
#include "common/base/time.hpp"
#include "common/model/job_reason.hpp"
#include "common/names/job_states.hpp"
#include "dbd/history/ingest.hpp"

namespace sluice::dbd {
namespace {

constexpr size_t kJobsAtOnce = 2000;  // of one transaction
constexpr uint32_t kNoValue = 0xfffffffe, kInfinite = 0xffffffff;
constexpr uint32_t kStateBase = 0xff;
constexpr uint64_t kMemoryPerCpu = uint64_t{1} << 63;  // of mem_req: for each CPU, not each node

Time time_of(const SourceRow& row, std::string_view column) {
  const auto seconds = row.number<int64_t>(column);
  return seconds == 0 ? kNoTime : Time(std::chrono::seconds(seconds));
}

NamedTresList named(const std::string& text, const SourceNames& names) {
  NamedTresList out;
  for (const auto& [id, count] : parse_amounts(text)) {
    const auto found = names.tres.find(id);
    if (count != 0 && found != names.tres.end()) out.push_back({found->second, count});
  }
  std::ranges::sort(out, {}, &NamedTres::name);
  return out;
}

uint64_t count_of(const std::string& amounts, uint32_t tres) {
  for (const auto& [id, count] : parse_amounts(amounts))
    if (id == tres) return count;
  return 0;
}

// "0x3E", bit 0 being task 0, or "1-5,7". Nothing where it is neither.
std::optional<std::string> pending_tasks(const std::string& stored) {
  if (!stored.starts_with("0x")) return stored;
  constexpr std::string_view kDigits = "0123456789abcdef";
  IndexSet tasks;
  uint32_t task = 0;
  for (size_t at = stored.size(); at-- > 2; task += 4) {
    const size_t digit =
        kDigits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(stored[at]))));
    if (digit == kDigits.npos) return std::nullopt;
    for (uint32_t bit = 0; bit < 4; ++bit)
      if ((digit >> bit & 1) != 0) tasks.insert(task + bit);
  }
  return tasks.to_text();
}

// Of Slurm's numbers those that wait for what a site finds again; the text of others is left out.
std::string reason_of(uint32_t number) {
  constexpr uint32_t kHeldUser = 16, kNeverSatisfied = 39, kTaskLimit = 72;
  switch (number) {
    case kHeldUser: return std::string(reason_text(JobReason::kJobHeldUser));
    case kNeverSatisfied: return std::string(reason_text(JobReason::kDependencyNeverSatisfied));
    case kTaskLimit: return std::string(reason_text(JobReason::kJobArrayTaskLimit));
    default: return "None";
  }
}

Minutes limit_of(uint32_t stored) {
  if (stored == kNoValue) return 0;
  return stored == kInfinite ? kInfiniteMinutes : stored;
}

class HistoryImport {
 public:
  HistoryImport(Session& source, const std::string& cluster, const SourceNames& names,
                Database& target, ImportCounts& counts)
      : source_(source), cluster_(cluster), names_(names), target_(target), counts_(counts) {}

  Status run(Time now) {
    each_row(source_, "event_table", cluster_, "ORDER BY time_start",
             [&](const SourceRow& row) { add_event(row); });
    each_row(source_, "resv_table", cluster_, "WHERE deleted = 0 ORDER BY time_start",
             [&](const SourceRow& row) { add_reservation(row); });
    if (auto ok = write(now); !ok) return ok;
    uint64_t last = 0;
    while (true) {
      first_ = last;
      jobs_.clear();
      each_row(source_, "job_table", cluster_,
               fmt::format("WHERE deleted = 0 AND job_db_inx > {} ORDER BY job_db_inx LIMIT {}",
                           last, kJobsAtOnce),
               [&](const SourceRow& row) {
                 last = row.number<uint64_t>("job_db_inx");
                 add_job(row);
               });
      if (last == first_) return {};
      const std::string range =
          fmt::format("WHERE deleted = 0 AND job_db_inx > {} AND job_db_inx <= {}", first_, last);
      each_row(source_, "step_table", cluster_, range,
               [&](const SourceRow& row) { add_step(row); });
      add_blobs(last);
      if (auto ok = write(now); !ok) return ok;
    }
  }

 private:
  Status write(Time now) {
    Status done = store_past(target_, cluster_, records_, events_, now);
    records_.clear();
    events_.clear();
    return done;
  }

  void add_job(const SourceRow& row) {
    const auto stored = row.number("state");
    if ((stored & kStateBase) > static_cast<uint32_t>(JobState::kOutOfMemory)) {
      ++counts_.skipped;
      return;
    }
    JobHistory job;
    job.id = row.number("id_job");
    job.state = static_cast<JobState>(stored & kStateBase);
    if (!set_place(row, job)) {
      ++counts_.skipped;
      return;
    }
    set_texts(row, job);
    job.submit = time_of(row, "time_submit");
    job.eligible = time_of(row, "time_eligible");
    job.start = time_of(row, "time_start");
    job.end = time_of(row, "time_end");
    if (job.end != kNoTime)
      job.suspended = std::chrono::seconds(row.number<int64_t>("time_suspended"));
    job.time_limit = limit_of(row.number("timelimit"));
    job.priority = row.number("priority");
    job.exit_status = row.number<int32_t>("exit_code");
    job.derived_exit_status = row.number<int32_t>("derived_ec");
    if (!row.is_null("kill_requid")) job.ended_by = row.number("kill_requid", UINT32_MAX);
    job.reason = reason_of(row.number("state_reason_prev"));
    job.backfilled = (row.number("flags") & 8) != 0;
    const std::string asked = row.text("tres_req"), held = row.text("tres_alloc");
    job.requested_tres = named(asked, names_);
    job.allocated_tres = named(held, names_);
    job.requested_cpus = row.number("cpus_req");
    job.requested_nodes = static_cast<uint32_t>(count_of(asked, kTresNode));
    job.requested_memory_mib = count_of(asked, kTresMem);
    if (const auto memory = row.number<uint64_t>("mem_req"); (memory & kMemoryPerCpu) != 0)
      job.requested_memory_per_cpu_mib = memory & ~kMemoryPerCpu;
    job.cpus = static_cast<uint32_t>(count_of(held, kTresCpu));
    job.nodes = row.text("nodelist");
    if (job.nodes == "None assigned" || job.nodes == "(null)") job.nodes.clear();
    job.node_count = row.number("nodes_alloc");
    jobs_[row.number<uint64_t>("job_db_inx")] = {job.id, job.submit};
    ++counts_.jobs;
    records_.push_back({.job = std::make_shared<const JobHistory>(std::move(job))});
  }

  // False where the tasks of an array cannot be read.
  static bool set_place(const SourceRow& row, JobHistory& job) {
    if (const auto array = row.number("id_array_job"); array != 0) {
      job.array_job = array;
      const auto task = row.number("id_array_task", kNoValue);
      job.array_task = task == kNoValue ? kNoTask : task;
      job.array_limit = job.array_task == kNoTask ? row.number("array_max_tasks") : 0;
      if (job.array_task == kNoTask) {
        auto tasks = pending_tasks(row.text("array_task_str"));
        if (!tasks) return false;
        job.array_tasks = std::move(*tasks);
      }
    }
    if (const auto het = row.number("het_job_id"); het != 0) {
      job.het_job = het;
      job.het_offset = row.number("het_job_offset");
    }
    return true;
  }

  void set_texts(const SourceRow& row, JobHistory& job) const {
    const auto& associations = names_.associations.at(cluster_);
    if (const auto found = associations.find(row.number("id_assoc")); found != associations.end()) {
      job.account = found->second.first;
      job.user = found->second.second;
    }
    if (job.account.empty()) job.account = row.text("account");
    if (const auto qos = names_.qos.find(row.number("id_qos")); qos != names_.qos.end())
      job.qos = qos->second;
    job.uid = row.number("id_user");
    job.gid = row.number("id_group");
    job.name = row.text("job_name");
    job.partition = row.text("partition");
    job.wckey = row.text("wckey");
    job.comment = row.text("derived_es");
    job.admin_comment = row.text("admin_comment");
    job.system_comment = row.text("system_comment");
    job.mcs_label = row.text("mcs_label");
    job.constraint = row.text("constraints");
    job.container = row.text("container");
    job.submit_line = row.text("submit_line");
    job.work_dir = row.text("work_dir");
    job.reservation_id = row.number("id_resv");
    if (const auto resv = reservations_.find(job.reservation_id); resv != reservations_.end())
      job.reservation = job.requested_reservations = resv->second;
    if (const auto script = row.number<uint64_t>("script_hash_inx"); script != 0)
      job.script_blob = blob_key("script", script);
    if (const auto variables = row.number<uint64_t>("env_hash_inx"); variables != 0)
      job.environment_blob = blob_key("environment", variables);
    job.batch = !job.script_blob.empty();
  }

  static std::string blob_key(std::string_view kind, uint64_t number) {
    return fmt::format("slurmdbd-{}-{}", kind, number);
  }

  void add_step(const SourceRow& row) {
    constexpr int32_t kCyclic = 1, kBlock = 2;  // that both have a name here
    const auto job = jobs_.find(row.number<uint64_t>("job_db_inx"));
    const auto state = row.number("state");
    if (job == jobs_.end() || state > static_cast<uint32_t>(JobState::kOutOfMemory)) return;
    StepHistory step;
    step.id = {job->second.first, static_cast<StepNumber>(row.number<int32_t>("id_step"))};
    step.job_submit = job->second.second;
    step.name = row.text("step_name");
    step.nodes = row.text("nodelist");
    step.node_count = row.number("nodes_alloc");
    step.tasks = row.number("task_cnt");
    const auto layout = row.number<int32_t>("task_dist");
    step.layout = layout == kCyclic ? "Cyclic" : layout == kBlock ? "Block" : "";
    step.start = time_of(row, "time_start");
    step.end = time_of(row, "time_end");
    step.suspended = std::chrono::seconds(row.number<int64_t>("time_suspended"));
    step.state = step_state(static_cast<JobState>(state));
    step.exit_status = row.number<int32_t>("exit_code");
    if (!row.is_null("kill_requid")) step.ended_by = row.number("kill_requid", UINT32_MAX);
    step.container = row.text("container");
    step.submit_line = row.text("submit_line");
    step.allocated_tres = named(row.text("tres_alloc"), names_);
    step.cpus = static_cast<uint32_t>(count_of(row.text("tres_alloc"), kTresCpu));
    if (step.end != kNoTime) step.usage = usage_of(row, step);  // else its controller tells of it
    ++counts_.steps;
    records_.push_back({.step = std::make_shared<const StepHistory>(std::move(step))});
  }

  static StepState step_state(JobState state) {
    switch (state) {
      case JobState::kCompleted: return StepState::kCompleted;
      case JobState::kCancelled: return StepState::kCancelled;
      case JobState::kFailed: return StepState::kFailed;
      case JobState::kTimeout: return StepState::kTimeout;
      case JobState::kNodeFail: return StepState::kNodeFail;
      case JobState::kOutOfMemory: return StepState::kOutOfMemory;
      default: return StepState::kRunning;
    }
  }

  static UsageHistory usage_of(const SourceRow& row, const StepHistory& step) {
    constexpr uint64_t kMicrosOfMilli = 1000;
    UsageHistory usage;
    usage.user_cpu = std::chrono::seconds(row.number<int64_t>("user_sec")) +
                     Duration(row.number<int64_t>("user_usec"));
    usage.system_cpu = std::chrono::seconds(row.number<int64_t>("sys_sec")) +
                       Duration(row.number<int64_t>("sys_usec"));
    if (row.text("tres_usage_in_max").empty()) return usage;
    usage.tasks = step.tasks;
    const auto nodes = expand_hosts(step.nodes).value_or(std::vector<std::string>());
    const auto extent = [&](std::string_view way, uint32_t tres, uint64_t unit) {
      const auto part = [&](std::string_view which) {
        return count_of(row.text(fmt::format("tres_usage_{}_{}", way, which)), tres);
      };
      const auto node = [&](std::string_view which) {
        const uint64_t at = part(which);
        return at < nodes.size() ? nodes[at] : std::string();
      };
      UsageExtent out;
      out.max = part("max") * unit;
      out.min = part("min") * unit;
      out.total = part("tot") * unit;
      out.max_node = node("max_nodeid");
      out.min_node = node("min_nodeid");
      out.max_task = static_cast<uint32_t>(part("max_taskid"));
      out.min_task = static_cast<uint32_t>(part("min_taskid"));
      return out;
    };
    usage.cpu = extent("in", kTresCpu, kMicrosOfMilli);
    usage.memory = extent("in", kTresMem, 1);
    usage.virtual_memory = extent("in", kTresVmem, 1);
    usage.read = extent("in", kTresFsDisk, 1);
    usage.written = extent("out", kTresFsDisk, 1);
    usage.pages = extent("in", kTresPages, 1);
    return usage;
  }

  // Those of the jobs that were read last.
  void add_blobs(uint64_t last) {
    const auto add = [&](std::string_view table, std::string_view kind, std::string_view bytes) {
      each_row(source_, table, cluster_,
               fmt::format("WHERE hash_inx IN (SELECT {}_hash_inx FROM `{}_job_table` WHERE "
                           "job_db_inx > {} AND job_db_inx <= {})",
                           kind == "script" ? "script" : "env", cluster_, first_, last),
               [&](const SourceRow& row) {
                 BlobHistory blob;
                 blob.key = blob_key(kind, row.number<uint64_t>("hash_inx"));
                 blob.bytes = row.text(bytes);
                 records_.push_back({.blob = std::make_shared<const BlobHistory>(std::move(blob))});
               });
    };
    add("job_script_table", "script", "batch_script");
    add("job_env_table", "environment", "env_vars");
  }

  void add_event(const SourceRow& row) {
    PastEvent event;
    event.start = time_of(row, "time_start");
    event.end = time_of(row, "time_end");
    const std::string node = row.text("node_name");
    if (node.empty()) {
      ClusterHistory cluster;
      cluster.time = event.start;
      cluster.nodes = row.text("cluster_nodes");
      cluster.tres = named(row.text("tres"), names_);
      event.record.cluster = std::make_shared<const ClusterHistory>(std::move(cluster));
    } else {
      NodeHistory history;
      history.node = node;
      history.start = event.start;
      history.end = event.end;
      history.state = node_state(row.number("state"));
      history.reason = row.text("reason");
      history.reason_uid = row.number("reason_uid");
      history.tres = named(row.text("tres"), names_);
      event.record.node = std::make_shared<const NodeHistory>(std::move(history));
    }
    ++counts_.events;
    events_.push_back(std::move(event));
  }

  static std::string node_state(uint32_t stored) {
    constexpr uint32_t kBase = 0xf, kDown = 1, kAllocated = 3, kMixed = 5, kDrain = 0x200;
    const uint32_t base = stored & kBase;
    std::string out = base == kDown        ? "DOWN"
                      : base == kAllocated ? "ALLOCATED"
                      : base == kMixed     ? "MIXED"
                                           : "IDLE";
    if ((stored & kDrain) != 0) out += "+DRAIN";
    return out;
  }

  // Those that have a name in 22.05, in the order of their numbers.
  static std::string reservation_flags(uint64_t stored) {
    static constexpr std::pair<uint32_t, std::string_view> kBits[] = {
        {0, "MAINT"},         {2, "DAILY"},       {4, "WEEKLY"},
        {6, "IGNORE_JOBS"},   {8, "ANY_NODES"},   {10, "STATIC"},
        {12, "PART_NODES"},   {14, "OVERLAP"},    {15, "SPEC_NODES"},
        {16, "FIRST_CORES"},  {17, "TIME_FLOAT"}, {18, "REPLACE"},
        {19, "ALL_NODES"},    {20, "PURGE_COMP"}, {21, "WEEKDAY"},
        {23, "WEEKEND"},      {25, "FLEX"},       {29, "NO_HOLD_JOBS_AFTER_END"},
        {30, "REPLACE_DOWN"}, {32, "MAGNETIC"},   {35, "HOURLY"}};
    std::vector<std::string_view> names;
    for (const auto& [bit, name] : kBits)
      if ((stored >> bit & 1) != 0) names.push_back(name);
    return fmt::format("{}", fmt::join(names, ","));
  }

  void add_reservation(const SourceRow& row) {
    ReservationHistory out;
    out.name = row.text("resv_name");
    out.id = row.number<uint32_t>("id_resv");
    out.nodes = row.text("nodelist");
    out.flags = reservation_flags(row.number<uint64_t>("flags"));
    out.start = time_of(row, "time_start");
    out.end = time_of(row, "time_end");
    out.tres = named(row.text("tres"), names_);
    std::vector<std::string> accounts, users;
    const auto& associations = names_.associations.at(cluster_);
    for (const std::string& word : split_list(row.text("assoclist"))) {
      const auto id = to_number<uint32_t>(word);
      const auto found = id ? associations.find(*id) : associations.end();
      if (found == associations.end()) continue;
      if (found->second.second.empty()) accounts.push_back(found->second.first);
      else users.push_back(found->second.second);
    }
    out.accounts = fmt::format("{}", fmt::join(accounts, ","));
    out.users = fmt::format("{}", fmt::join(users, ","));
    reservations_[row.number("id_resv")] = out.name;
    ++counts_.reservations;
    records_.push_back({.reservation = std::make_shared<const ReservationHistory>(std::move(out))});
  }

  Session& source_;
  const std::string& cluster_;
  const SourceNames& names_;
  Database& target_;
  ImportCounts& counts_;
  uint64_t first_ = 0;
  std::map<uint64_t, std::pair<JobId, Time>> jobs_;  // those read last, by their row
  std::map<uint32_t, std::string> reservations_;
  std::vector<HistoryRecord> records_;
  std::vector<PastEvent> events_;
};

}  // namespace

Status import_history(Session& source, const std::string& cluster, const SourceNames& names,
                      Database& target, ImportCounts& counts, Time now) {
  return HistoryImport(source, cluster, names, target, counts).run(now);
}

}  // namespace sluice::dbd
