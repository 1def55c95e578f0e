// The rows.
#include "common/submit/update_keys.hpp"

#include <algorithm>
#include <vector>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/job_update.hpp"
#include "common/syntax/licenses.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice {
namespace {

using Base = UpdateBase;

Status bad_value(const Base& base, std::string_view value) {
  return failure(ErrorCode::kInvalidUpdate,
                 "Invalid " + std::string(base.key) + " value: " + std::string(value));
}
// Of a span of time the value is not repeated.
Status bad_span(const Base& base) {
  return failure(ErrorCode::kInvalidUpdate, "Invalid " + std::string(base.key) + " value");
}

template <std::optional<std::string> JobUpdate::*member>
Status set_text(std::string_view value, const Base&, JobUpdate& update) {
  update.*member = std::string(value);
  return {};
}
template <std::optional<uint32_t> JobUpdate::*member>
Status set_count(std::string_view value, const Base& base, JobUpdate& update) {
  const auto count = parse_count(value);
  if (!count) return bad_value(base, value);
  update.*member = *count;
  return {};
}
// ReqProcs is its old name: errors name the other one.
Status set_tasks(std::string_view value, const Base& base, JobUpdate& update) {
  Base named = base;
  named.key = "NumTasks";
  return set_count<&JobUpdate::num_tasks>(value, named, update);
}
template <std::optional<uint64_t> JobUpdate::*member>
Status set_memory(std::string_view value, const Base& base, JobUpdate& update) {
  const auto memory = parse_memory(value);
  if (!memory) return bad_value(base, value);
  update.*member = *memory;
  return {};
}
template <std::optional<bool> JobUpdate::*member>
Status set_bool(std::string_view value, const Base& base, JobUpdate& update) {
  const auto given = to_bool(value);
  if (!given) return bad_value(base, value);
  update.*member = *given;
  return {};
}
// A number; all but 0 say yes.
Status set_requeue(std::string_view value, const Base& base, JobUpdate& update) {
  const auto number = to_number<uint16_t>(value);
  if (!number) return set_bool<&JobUpdate::requeue>(value, base, update);
  update.requeue = *number != 0;
  return {};
}
template <std::optional<Time> JobUpdate::*member>
Status set_time(std::string_view value, const Base& base, JobUpdate& update) {
  const auto time = parse_time(value, base.now);
  if (!time) return tl::unexpected<Error>(time.error());
  update.*member = *time;
  return {};
}

// As options of submission have it, with gres/ before each. What cannot be read is for the
// controller to refuse.
template <std::optional<std::string> JobUpdate::*member>
Status set_gres(std::string_view value, const Base&, JobUpdate& update) {
  update.*member = parse_gres(value).value_or(std::string(value));
  return {};
}

// "cpu=2,gres/gpu:1,license/matlab=1": CPUs of a task are asked for here, too. The value is all
// that a task has, as in Slurm.
Status set_tres_per_task(std::string_view value, const Base& base, JobUpdate& update) {
  std::vector<std::string> gres, licenses;
  for (std::string item : split(value, ',')) {
    if (item.starts_with(kLicenseKind)) {
      licenses.push_back(std::move(item));
      continue;
    }
    std::ranges::replace(item, '=', ':');
    if (!item.starts_with("cpu:")) {
      gres.push_back(std::move(item));
    } else if (Status ok = set_count<&JobUpdate::cpus_per_task>(item.substr(4), base, update);
               !ok) {
      return ok;
    }
  }
  // none: what was asked for goes
  Status ok = set_gres<&JobUpdate::tres_per_task>(join(gres, ","), base, update);
  for (const std::string& license : licenses) {
    if (!update.tres_per_task->empty()) *update.tres_per_task += ',';
    *update.tres_per_task += license;
  }
  return ok;
}

// "gres/gpu:2": the number behind the name.
std::optional<uint64_t> number_per_gpu(std::string_view value) {
  const auto items = gres_items(value);
  if (!items || items->size() != 1 || items->front().name != "gpu" || !items->front().type.empty())
    return std::nullopt;
  return items->front().count;
}
Status set_cpus_per_gpu(std::string_view value, const Base& base, JobUpdate& update) {
  const auto number = number_per_gpu(value);
  if (!number) return bad_value(base, value);
  update.cpus_per_gpu = std::to_string(*number);
  return {};
}
Status set_memory_per_gpu(std::string_view value, const Base& base, JobUpdate& update) {
  const auto number = number_per_gpu(value);
  if (!number) return bad_value(base, value);
  update.memory_per_gpu_mib = *number;
  return {};
}

bool is_change(std::string_view value, const Base& base) {
  return base.relative || (!value.empty() && (value[0] == '+' || value[0] == '-'));
}

Status set_time_limit(std::string_view value, const Base& base, JobUpdate& update) {
  const bool relative = is_change(value, base);
  const auto minutes = parse_minutes(relative ? value.substr(1) : value);
  if (!minutes || (relative && *minutes == kInfiniteMinutes)) return bad_span(base);
  if (!relative) {
    update.time_limit = *minutes;
  } else if (base.time_limit == kInfiniteMinutes || base.time_limit == 0) {
    return {};  // without a limit it stays
  } else if (value[0] == '+') {
    update.time_limit = base.time_limit + *minutes;
  } else {
    if (*minutes > base.time_limit) {
      return failure(ErrorCode::kInvalidUpdate,
                     "TimeLimit decrement larger than current time limit (" +
                         std::to_string(*minutes) + " > " + std::to_string(base.time_limit) + ")");
    }
    update.time_limit = base.time_limit - *minutes;
  }
  return {};
}
Status set_time_min(std::string_view value, const Base& base, JobUpdate& update) {
  const auto minutes = parse_minutes(value);
  if (!minutes) return bad_span(base);
  update.time_min = *minutes;
  return {};
}
Status set_mail_type(std::string_view value, const Base&, JobUpdate& update) {
  update.mail_type = parse_mail_types(value);
  if (!update.mail_type)
    return failure(ErrorCode::kInvalidUpdate, "Invalid MailType: " + std::string(value));
  return {};
}
Status set_nodes(std::string_view value, const Base&, JobUpdate& update) {
  const size_t dash = value.find('-');
  const auto low = parse_count(value.substr(0, dash));
  const bool is_range = dash != std::string_view::npos;
  const auto high = is_range ? parse_count(value.substr(dash + 1)) : low;
  if (!low || !high) {
    return failure(ErrorCode::kInvalidUpdate, "Invalid numeric value \"" + std::string(value) +
                                                  "\" for requested node count.");
  }
  update.min_nodes = *low;
  if (is_range) update.max_nodes = *high;
  return {};
}
Status set_cpus(std::string_view value, const Base&, JobUpdate& update) {
  const size_t dash = value.find('-');
  const auto low = parse_count(value.substr(0, dash));
  if (low == 0U)
    return failure(ErrorCode::kInvalidUpdate, "Invalid NumCPUs value: " + std::string(value));
  if (!low) {
    return failure(ErrorCode::kInvalidUpdate, "Invalid numeric value \"" + std::string(value) +
                                                  "\" for NumCPUs.\n"
                                                  "scontrol: error: Invalid NumCPUs value: " +
                                                  std::string(value));
  }
  update.min_cpus = *low;
  if (dash == std::string_view::npos) return {};
  const auto high = parse_count(value.substr(dash + 1));
  if (!high || *high < *low) {
    return failure(ErrorCode::kInvalidUpdate, "Invalid NumCPUs value: " + std::string(value));
  }
  update.max_cpus = *high;
  return {};
}
Status set_delay_boot(std::string_view value, const Base& base, JobUpdate& update) {
  const auto minutes = parse_minutes(value);
  if (!minutes) return bad_span(base);
  update.delay_boot_seconds = minutes_in_seconds(*minutes);
  return {};
}
// What is taken from a priority, or added to it; nothing at all is 0.
template <std::optional<int32_t> JobUpdate::*member>
Status set_adjustment(std::string_view value, const Base& base, JobUpdate& update) {
  const auto number = value.empty() ? std::optional<int64_t>(0)
                                    : to_number<int64_t>(value[0] == '+' ? value.substr(1) : value);
  constexpr int64_t kMost = 2147483645;  // as for sbatch --nice
  if (!number) return bad_value(base, value);
  if (*number > kMost || *number < -kMost) {
    return failure(ErrorCode::kInvalidUpdate, std::string(base.key) + " value out of range (+/- " +
                                                  std::to_string(kMost) + "). Value ignored");
  }
  update.*member = static_cast<int32_t>(*number);
  return {};
}
Status set_priority(std::string_view value, const Base& base, JobUpdate& update) {
  if (iequals(value, "TOP")) {
    update.priority = UINT32_MAX - 1;
    return {};
  }
  const auto priority = to_number<uint32_t>(value);
  if (!priority) return bad_value(base, value);
  update.priority = *priority;
  return {};
}
// "1@00:05:00"; 0 takes the wish back.
Status set_switches(std::string_view value, const Base& base, JobUpdate& update) {
  const auto count = value.empty() ? std::optional<uint32_t>(0)
                                   : to_number<uint32_t>(value.substr(0, value.find('@')));
  if (!count) return bad_value(base, value);
  update.switches = *count == 0 ? std::string() : std::string(value);
  return {};
}
Status set_sharing(std::string_view value, const Base&, JobUpdate& update) {
  if (iequals(value, "YES") || value == "1") update.sharing = Sharing::kOversubscribe;
  else if (iequals(value, "NO") || value == "0") update.sharing = Sharing::kExclusive;
  // of Shared, too
  else
    return failure(ErrorCode::kInvalidUpdate, "Invalid OverSubscribe value: " + std::string(value));
  return {};
}

constexpr JobUpdateKey kJobKeys[] = {
    {"Account",
     [](std::string_view value, const Base&, JobUpdate& update) {
       update.account = to_lower(value);
       return Status();
     }},
    {"AdminComment", set_text<&JobUpdate::admin_comment>},
    {"ArrayTaskThrottle", set_count<&JobUpdate::array_max_running>},
    {"BurstBuffer", nullptr, "burst buffers"},
    {"Clusters", nullptr, "federation"},
    {"ClusterFeatures", set_text<&JobUpdate::cluster_features>},
    {"Comment", set_text<&JobUpdate::comment>},
    {"ConsolidateSegments", nullptr, "new since 22.05: segments"},
    {"Contiguous", set_bool<&JobUpdate::contiguous>},
    {"CoreSpec", set_count<&JobUpdate::core_spec>},
    {"CPUsPerTask", set_count<&JobUpdate::cpus_per_task>},
    {"CpusPerTres", set_cpus_per_gpu},
    {"Deadline", set_time<&JobUpdate::deadline>},
    {"DelayBoot", set_delay_boot},
    {"Dependency", set_text<&JobUpdate::dependency>},
    {"EligibleTime", set_time<&JobUpdate::begin>},
    {"EndTime", set_time<&JobUpdate::end>},
    {"ExcNodeList", set_text<&JobUpdate::excluded_nodes>},
    {"Extra", set_text<&JobUpdate::extra>},
    {"Features", set_text<&JobUpdate::constraint>},
    {"Gres", set_gres<&JobUpdate::gres>},
    {"JobName", set_text<&JobUpdate::name>},
    {"Licenses", set_text<&JobUpdate::licenses>},
    {"MailType", set_mail_type},
    {"MailUser", set_text<&JobUpdate::mail_user>},
    {"MCSLabel", nullptr, "MCS"},
    {"MemPerTres", set_memory_per_gpu},
    {"MinCPUsNode", set_count<&JobUpdate::min_cpus_per_node>},
    {"MinMemoryCPU", set_memory<&JobUpdate::memory_per_cpu_mib>},
    {"MinMemoryNode", set_memory<&JobUpdate::memory_per_node_mib>},
    {"MinTmpDiskNode", set_memory<&JobUpdate::tmp_disk_mib>},
    {"Name", set_text<&JobUpdate::name>},
    {"Nice", set_adjustment<&JobUpdate::nice>},
    {"NodeList", set_text<&JobUpdate::required_nodes>},
    {"NumCPUs", set_cpus},
    {"NumNodes", set_nodes},
    {"NumTasks", set_tasks},
    {"OverSubscribe", set_sharing},
    {"Partition", set_text<&JobUpdate::partitions>},
    {"Prefer", set_text<&JobUpdate::prefer>},
    {"Priority", set_priority},
    {"QOS", set_text<&JobUpdate::qos>},
    {"Reboot", set_bool<&JobUpdate::reboot>},
    {"ReqCores", set_count<&JobUpdate::cores_per_socket>},
    {"ReqNodeList", set_text<&JobUpdate::required_nodes>},
    {"ReqNodes", set_nodes},
    {"ReqProcs", set_tasks},
    {"ReqSockets", set_count<&JobUpdate::sockets_per_node>},
    {"ReqThreads", set_count<&JobUpdate::threads_per_core>},
    {"Requeue", set_requeue},
    {"ReservationName", set_text<&JobUpdate::reservation>},
    {"ResetAccrueTime",
     [](std::string_view, const Base&, JobUpdate& update) {
       update.reset_accrue = true;
       return Status();
     }},
    {"SegmentSize", nullptr, "segments"},
    {"Shared", set_sharing},
    {"SiteFactor", set_adjustment<&JobUpdate::site_factor>},
    {"SpreadSegments", nullptr, "segments"},
    {"StartTime", set_time<&JobUpdate::begin>},
    {"StdErr", set_text<&JobUpdate::std_err>},
    {"StdIn", set_text<&JobUpdate::std_in>},
    {"StdOut", set_text<&JobUpdate::std_out>},
    {"Switches", set_switches},
    {"TasksPerNode", set_count<&JobUpdate::ntasks_per_node>},
    {"ThreadSpec", set_count<&JobUpdate::thread_spec>},
    {"TimeLimit", set_time_limit},
    {"TimeMin", set_time_min},
    {"TresBind", set_text<&JobUpdate::tres_bind>},
    {"TresFreq", set_text<&JobUpdate::tres_freq>},
    {"TresPerJob", set_gres<&JobUpdate::tres_per_job>},
    {"TresPerNode", set_gres<&JobUpdate::gres>},
    {"TresPerSocket", set_gres<&JobUpdate::tres_per_socket>},
    {"TresPerTask", set_tres_per_task},
    {"UserID", nullptr, "with JobName it says whose jobs are meant"},
    {"wait-for-switch", set_count<&JobUpdate::wait_for_switch_seconds>},
    {"WCKey", set_text<&JobUpdate::wckey>},
    {"WorkDir", set_text<&JobUpdate::work_dir>},
};

template <std::optional<std::string> NodeUpdate::*member>
Status set_node_text(std::string_view value, const Base&, NodeUpdate& update) {
  update.*member = std::string(value);
  return {};
}
// Nothing is 0, as in Slurm.
Status set_weight(std::string_view value, const Base&, NodeUpdate& update) {
  constexpr uint32_t kMost = 4294967280;
  const bool negative = value.starts_with('-');
  const std::string_view digits = negative ? value.substr(1) : value;
  const bool is_number = digits.find_first_not_of("0123456789") == std::string_view::npos &&
                         (!negative || !digits.empty());
  const auto weight = value.empty() ? std::optional<uint32_t>(0) : to_number<uint32_t>(value);
  if (weight && *weight <= kMost) {
    update.weight = *weight;
    return {};
  }
  const char* why = !is_number ? "not a valid number"
                    : negative ? "less than zero"
                               : "greater than 4294967280";
  return failure(ErrorCode::kInvalidUpdate, "Weight value (" + std::string(value) + ") is " + why);
}
Status set_resume_after(std::string_view value, const Base& base, NodeUpdate& update) {
  const auto seconds =
      iequals(value, "INFINITE") ? std::optional<uint32_t>(UINT32_MAX) : to_number<uint32_t>(value);
  if (!seconds) return bad_value(base, value);
  update.resume_after_seconds = *seconds;
  return {};
}

Status set_cpu_bind(std::string_view value, const Base&, NodeUpdate& update) {
  if (value.empty()) return {};  // stays
  if (!usual_binding(value))
    return failure(ErrorCode::kInvalidUpdate, "Invalid input CpuBind=" + std::string(value));
  update.cpu_bind = std::string(value);
  return {};
}

constexpr NodeUpdateKey kNodeKeys[] = {
    {"ActiveFeatures", set_node_text<&NodeUpdate::active_features>},
    {"AvailableFeatures", set_node_text<&NodeUpdate::available_features>},
    {"CertToken", nullptr, "new since 22.05: certificates"},
    {"Comment", set_node_text<&NodeUpdate::comment>},
    {"CpuBind", set_cpu_bind},
    {"Extra", set_node_text<&NodeUpdate::extra>},
    {"Features", set_node_text<&NodeUpdate::available_features>},
    {"Gres", set_node_text<&NodeUpdate::gres>},
    {"InstanceId", nullptr, "new since 22.05: cloud nodes"},
    {"InstanceType", nullptr, "new since 22.05: cloud nodes"},
    {"NodeAddr", set_node_text<&NodeUpdate::addresses>},
    {"NodeHostname", set_node_text<&NodeUpdate::hostnames>},
    {"Reason", set_node_text<&NodeUpdate::reason>},
    {"ResumeAfter", set_resume_after},
    {"State", set_node_text<&NodeUpdate::state>},
    {"Topology", nullptr, "new since 22.05: topology of single nodes"},
    {"Weight", set_weight},
};

template <class Key>
const Key* find_key(std::span<const Key> keys, std::string_view given) {
  std::vector<std::string_view> names(keys.size());
  std::transform(keys.begin(), keys.end(), names.begin(), [](const Key& key) { return key.name; });
  const auto found = given.size() < 2 ? std::nullopt : match_prefix(given, names);
  return found ? &keys[*found] : nullptr;
}

}  // namespace

std::span<const JobUpdateKey> job_update_keys() { return kJobKeys; }
std::span<const NodeUpdateKey> node_update_keys() { return kNodeKeys; }

const JobUpdateKey* find_job_update_key(std::string_view given) {
  return find_key(job_update_keys(), given);
}
const NodeUpdateKey* find_node_update_key(std::string_view given) {
  return find_key(node_update_keys(), given);
}

bool is_relative_limit(const JobUpdateKey& key, std::string_view value, const UpdateBase& base) {
  return key.name == "TimeLimit" && is_change(value, base);
}

}  // namespace sluice
