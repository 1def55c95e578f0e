#include "ctld/job_submit/job_fields.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"

namespace sluice::ctld {
namespace {

using Value = LuaValue;

// --- ways in which a member is one field ---------------------------------------------------------

using Row = FieldRow<JobSpec>;

template <auto Member>
constexpr Row text_row(std::string_view name) {
  return {name, [](const JobSpec& spec) { return text_value((spec.*Member).view()); },
          [](JobSpec& spec, const Value& value) -> Status {
            auto text = text_of(value);
            if (!text) return tl::unexpected(text.error());
            spec.*Member = std::move(*text);
            return {};
          }};
}

// `NoVal` holds the bits of how Slurm says that it is not given, `none` is how the spec does.
template <auto Member, uint32_t NoVal = 0xFFFFFFFE, uint32_t none = 0>
constexpr Row count_row(std::string_view name) {
  return {name,
          [](const JobSpec& spec) -> Value {
            const uint64_t number = spec.*Member;
            return static_cast<double>(number == none ? NoVal : number);
          },
          [](JobSpec& spec, const Value& value) -> Status {
            const auto number = count_of(value, none);
            if (!number) return tl::unexpected(number.error());
            spec.*Member = *number;
            return {};
          }};
}
template <auto Member>
constexpr Row short_row(std::string_view name) {
  return count_row<Member, 0xFFFE>(name);
}

// `unset` is shown where it is false.
template <auto Member, uint32_t unset>
constexpr Row flag_row(std::string_view name) {
  return {name, [](const JobSpec& spec) -> Value { return spec.*Member ? 1.0 : double{unset}; },
          [](JobSpec& spec, const Value& value) -> Status {
            const auto number = count_of(value, 0);
            if (!number) return tl::unexpected(number.error());
            spec.*Member = *number != 0 && *number != unset;
            return {};
          }};
}

template <auto Member>
constexpr Row time_row(std::string_view name) {
  return {
      name,
      [](const JobSpec& spec) -> Value { return static_cast<double>(to_seconds(spec.*Member)); },
      [](JobSpec& spec, const Value& value) -> Status {
        const auto seconds = count_of(value, 0);
        if (!seconds) return tl::unexpected(seconds.error());
        spec.*Member = from_seconds(*seconds);
        return {};
      }};
}

template <auto Member>
constexpr Row offset_row(std::string_view name) {
  return {name,
          [](const JobSpec& spec) -> Value {
            return spec.*Member == 0 ? kNoVal : kNiceOffset + spec.*Member;
          },
          [](JobSpec& spec, const Value& value) -> Status {
            const auto number = count_of(value, 0x80000000U);
            if (!number) return tl::unexpected(number.error());
            spec.*Member = without_offset(*number);
            return {};
          }};
}

// --- fields with rules of their own --------------------------------------------------------------

template <auto Member>
constexpr Row gres_row(std::string_view name) {
  Row row = text_row<Member>(name);
  row.set = [](JobSpec& spec, const Value& value) -> Status {
    auto text = gres_text(value);
    if (!text) return tl::unexpected(text.error());
    spec.*Member = std::move(*text);
    return {};
  };
  return row;
}

// Memory of one kind; where another kind is asked for it is nil.
template <MemoryKind kind>
constexpr Row memory_row(std::string_view name) {
  return {name,
          [](const JobSpec& spec) -> Value {
            if (spec.memory_kind != kind) return {};
            return as_number(spec.memory_mib);
          },
          [](JobSpec& spec, const Value& value) -> Status {
            if (std::holds_alternative<std::monostate>(value)) {
              if (spec.memory_kind == kind) spec.memory_kind = MemoryKind::kDefault;
              return {};
            }
            const auto mib = memory_of(value);
            if (!mib) return tl::unexpected(mib.error());
            spec.memory_kind = *mib ? kind : MemoryKind::kDefault;
            spec.memory_mib = mib->value_or(0);
            return {};
          }};
}

Value any_memory(const JobSpec& spec) {
  if (spec.memory_kind == MemoryKind::kPerNode) return as_number(spec.memory_mib);
  if (spec.memory_kind == MemoryKind::kPerCpu) return memory_of_cpu(spec.memory_mib);
  return kNoVal64;
}

Status set_any_memory(JobSpec& spec, const Value& value) {
  const auto memory = any_memory_of(value);
  if (!memory) return tl::unexpected(memory.error());
  spec.memory_kind = memory->per_cpu_mib    ? MemoryKind::kPerCpu
                     : memory->per_node_mib ? MemoryKind::kPerNode
                                            : MemoryKind::kDefault;
  spec.memory_mib = memory->per_cpu_mib.value_or(memory->per_node_mib.value_or(0));
  return {};
}

Value memory_of_gpu(const JobSpec& spec) {
  if (spec.memory_kind != MemoryKind::kPerGpu) return {};
  return fmt::format("gres/gpu:{}", spec.memory_mib);
}

Value cpus_of_gpu(const JobSpec& spec) {
  if (spec.cpus_per_gpu.empty()) return {};
  return fmt::format("gres/gpu:{}", spec.cpus_per_gpu.view());
}

Value priority(const JobSpec& spec) {
  if (spec.hold) return 0.0;
  return spec.priority == UINT32_MAX ? kNoVal : static_cast<double>(spec.priority);
}

Status set_priority(JobSpec& spec, const Value& value) {
  const auto number = count_of(value, UINT32_MAX);
  if (!number) return tl::unexpected(number.error());
  spec.hold = *number == 0;
  spec.priority = *number == 0 ? UINT32_MAX : *number;
  return {};
}

constexpr std::pair<Sharing, double> kSharing[] = {{Sharing::kExclusive, 0},
                                                   {Sharing::kOversubscribe, 1},
                                                   {Sharing::kUser, 2},
                                                   {Sharing::kMcs, 3},
                                                   {Sharing::kTopo, 4}};

Value sharing(const JobSpec& spec) {
  for (const auto& [kind, number] : kSharing) {
    if (kind == spec.sharing) return number;
  }
  return kNoVal16;
}

Status set_sharing(JobSpec& spec, const Value& value) {
  const auto number = count_of(value, 0xFFFE);
  if (!number) return tl::unexpected(number.error());
  spec.sharing = Sharing::kDefault;
  for (const auto& [kind, its] : kSharing) {
    if (its == *number) spec.sharing = kind;
  }
  return {};
}

Value requeue(const JobSpec& spec) {
  if (spec.requeue == Toggle::kDefault) return kNoVal16;
  return spec.requeue == Toggle::kYes ? 1.0 : 0.0;
}

Status set_requeue(JobSpec& spec, const Value& value) {
  const auto number = count_of(value, 0xFFFE);
  if (!number) return tl::unexpected(number.error());
  spec.requeue = *number == 0xFFFE ? Toggle::kDefault : *number != 0 ? Toggle::kYes : Toggle::kNo;
  return {};
}

// count[@time]
std::pair<std::string, std::string> switch_texts(const JobSpec& spec) {
  const std::string text = spec.switches.str();
  const size_t at = text.find('@');
  return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1)};
}

Value switches(const JobSpec& spec) {
  const auto count = to_number<uint32_t>(switch_texts(spec).first);
  return count ? static_cast<double>(*count) : kNoVal;
}

Value switch_wait(const JobSpec& spec) {
  const auto minutes = parse_minutes(switch_texts(spec).second);
  return minutes ? 60.0 * *minutes : kNoVal;
}

Status set_switches(JobSpec& spec, const Value& value) {
  const auto count = count_of(value, 0);
  if (!count) return tl::unexpected(count.error());
  const std::string wait = switch_texts(spec).second;
  spec.switches =
      *count == 0 ? std::string() : std::to_string(*count) + (wait.empty() ? "" : "@" + wait);
  return {};
}

Status set_switch_wait(JobSpec& spec, const Value& value) {
  const auto seconds = count_of(value, 0);
  if (!seconds) return tl::unexpected(seconds.error());
  const std::string count = switch_texts(spec).first;
  if (!count.empty())
    spec.switches = *seconds == 0 ? count : fmt::format("{}@{}", count, (*seconds + 59) / 60);
  return {};
}

constexpr std::pair<std::string_view, uint32_t> kMailTypes[] = {{"BEGIN", 0x1},
                                                                {"END", 0x2},
                                                                {"FAIL", 0x4},
                                                                {"REQUEUE", 0x8},
                                                                {"TIME_LIMIT", 0x10},
                                                                {"TIME_LIMIT_90", 0x20},
                                                                {"TIME_LIMIT_80", 0x40},
                                                                {"TIME_LIMIT_50", 0x80},
                                                                {"STAGE_OUT", 0x100},
                                                                {"ARRAY_TASKS", 0x200},
                                                                {"INVALID_DEPEND", 0x400}};

Value mail_types(const JobSpec& spec) {
  uint32_t bits = 0;
  for (const std::string& type : split_list(spec.mail_type.view())) {
    for (const auto& [name, bit] : kMailTypes) bits |= iequals(name, type) ? bit : 0;
  }
  return as_number(bits);
}

Status set_mail_types(JobSpec& spec, const Value& value) {
  const auto bits = count_of(value, 0);
  if (!bits) return tl::unexpected(bits.error());
  std::string text;
  for (const auto& [name, bit] : kMailTypes) {
    if ((*bits & bit) != 0) text.append(text.empty() ? "" : ",").append(name);
  }
  spec.mail_type = text;
  return {};
}

constexpr uint32_t kKillInvalid = 0x1, kKeepInvalid = 0x2, kEnforceBinding = 0x10, kSpread = 0x100,
                   kUseMinNodes = 0x200, kDisableBinding = 0x80000;

Value bit_flags(const JobSpec& spec) {
  uint32_t bits = 0;
  const auto add = [&](bool on, uint32_t bit) { bits |= on ? bit : 0; };
  add(spec.kill_on_invalid_dependency == Toggle::kYes, kKillInvalid);
  add(spec.kill_on_invalid_dependency == Toggle::kNo, kKeepInvalid);
  const std::vector<std::string> flags = split_list(spec.gres_flags.view());
  add(std::ranges::count(flags, "enforce-binding") > 0, kEnforceBinding);
  add(std::ranges::count(flags, "disable-binding") > 0, kDisableBinding);
  add(spec.spread, kSpread);
  add(spec.use_min_nodes, kUseMinNodes);
  return as_number(bits);
}

// Bits that say nothing here are passed over.
Status set_bit_flags(JobSpec& spec, const Value& value) {
  const auto number = number_of(value);
  if (!number) return tl::unexpected(number.error());
  if (!(*number >= 0 && *number < kNoVal64)) return failure("a number of flags expected");
  const auto bits = static_cast<uint64_t>(*number);
  const auto has = [&](uint32_t bit) { return (bits & bit) != 0; };
  spec.kill_on_invalid_dependency = has(kKillInvalid)   ? Toggle::kYes
                                    : has(kKeepInvalid) ? Toggle::kNo
                                                        : Toggle::kDefault;
  std::vector<std::string> flags = split_list(spec.gres_flags.view());
  std::erase_if(flags, [](const std::string& flag) { return flag.ends_with("-binding"); });
  if (has(kEnforceBinding)) flags.emplace_back("enforce-binding");
  if (has(kDisableBinding)) flags.emplace_back("disable-binding");
  spec.gres_flags = join(flags, ",");
  spec.spread = has(kSpread);
  spec.use_min_nodes = has(kUseMinNodes);
  return {};
}

// As many as its tasks have, at least; with --overcommit they need none.
Value least_cpus(const JobSpec& spec) {
  const double nodes = std::max(spec.min_nodes, 1U);
  const double tasks = std::max<double>(nodes, spec.num_tasks) * std::max(1U, spec.cpus_per_task);
  return std::max<double>(spec.min_cpus, spec.overcommit ? nodes : tasks);
}

// Those of one task are on one node.
Value least_cpus_of_node(const JobSpec& spec) {
  const uint32_t cpus = std::max(spec.min_cpus_per_node, spec.cpus_per_task);
  return cpus == 0 ? kNoVal16 : static_cast<double>(cpus);
}

// Where the file is; of a batch job without one nothing is read.
template <auto Member>
constexpr Row file_row(std::string_view name) {
  Row row = text_row<Member>(name);
  row.get = [](const JobSpec& spec) -> Value {
    const std::string path = (spec.*Member).str();
    constexpr bool kIsInput = Member == &JobSpec::std_in;
    if (path.empty()) return spec.batch && kIsInput ? Value(std::string("/dev/null")) : Value();
    return path.starts_with('/') ? path : fmt::format("{}/{}", spec.work_dir.view(), path);
  };
  return row;
}

Value plane_size(const JobSpec& spec) {
  const std::string text = spec.distribution.str();
  if (!text.starts_with("plane=")) return kNoVal16;
  return static_cast<double>(to_number<uint32_t>(text.substr(6)).value_or(0xFFFE));
}

template <uint32_t constant>
Value always(const JobSpec&) {
  return double{constant};
}

using S = JobSpec;
constexpr Row kRows[] = {
    text_row<&S::account>("account"),
    text_row<&S::acctg_frequency>("acctg_freq"),
    text_row<&S::admin_comment>("admin_comment"),
    {"alloc_node", [](const S& spec) { return text_value(spec.submit_host.view()); }},
    text_row<&S::array>("array_inx"),
    text_row<&S::batch_features>("batch_features"),
    time_row<&S::begin>("begin_time"),
    {"bitflags", bit_flags, set_bit_flags},
    {"boards_per_node", always<0>},
    text_row<&S::burst_buffer>("burst_buffer"),
    text_row<&S::cluster_constraint>("cluster_features"),
    text_row<&S::clusters>("clusters"),
    text_row<&S::comment>("comment"),
    text_row<&S::container>("container"),
    flag_row<&S::contiguous, 0>("contiguous"),
    count_row<&S::core_spec, 0xFFFE, UINT32_MAX>("core_spec"),
    short_row<&S::cores_per_socket>("cores_per_socket"),
    {"cpu_freq_gov", always<0xFFFFFFFE>},
    {"cpu_freq_max", always<0xFFFFFFFE>},
    {"cpu_freq_min", always<0xFFFFFFFE>},
    short_row<&S::cpus_per_task>("cpus_per_task"),
    {"cpus_per_tres", cpus_of_gpu},
    {"cron_job", [](const S& spec) -> Value { return spec.cron.empty() ? 0.0 : 1.0; }},
    time_row<&S::deadline>("deadline"),
    count_row<&S::delay_boot_seconds>("delay_boot"),
    text_row<&S::dependency>("dependency"),
    {"end_time", always<0>},
    text_row<&S::excluded_nodes>("exc_nodes"),
    text_row<&S::extra>("extra"),
    text_row<&S::constraint>("features"),
    gres_row<&S::gres>("gres"),
    {"group_id", [](const S& spec) -> Value { return as_number(spec.gid); }},
    flag_row<&S::immediate, 0>("immediate"),
    text_row<&S::licenses>("licenses"),
    {"mail_type", mail_types, set_mail_types},
    text_row<&S::mail_user>("mail_user"),
    count_row<&S::max_cpus>("max_cpus"),
    count_row<&S::max_nodes>("max_nodes"),
    text_row<&S::mcs_label>("mcs_label"),
    {"mem_per_tres", memory_of_gpu},
    {"min_cpus", least_cpus, count_row<&S::min_cpus>("").set},
    memory_row<MemoryKind::kPerCpu>("min_mem_per_cpu"),
    memory_row<MemoryKind::kPerNode>("min_mem_per_node"),
    count_row<&S::min_nodes>("min_nodes"),
    text_row<&S::name>("name"),
    text_row<&S::network>("network"),
    offset_row<&S::nice>("nice"),
    {"ntasks_per_board", always<0>},
    short_row<&S::ntasks_per_core>("ntasks_per_core"),
    short_row<&S::ntasks_per_gpu>("ntasks_per_gpu"),
    short_row<&S::ntasks_per_node>("ntasks_per_node"),
    short_row<&S::ntasks_per_socket>("ntasks_per_socket"),
    short_row<&S::ntasks_per_gpu>("ntasks_per_tres"),
    count_row<&S::num_tasks>("num_tasks"),
    flag_row<&S::overcommit, 0xFE>("overcommit"),
    text_row<&S::partitions>("partition"),
    {"plane_size", plane_size},
    {"pn_min_cpus", least_cpus_of_node, short_row<&S::min_cpus_per_node>("").set},
    {"pn_min_memory", any_memory, set_any_memory},
    count_row<&S::tmp_disk_mib>("pn_min_tmp_disk"),
    {"power_flags", always<0>},
    text_row<&S::prefer>("prefer"),
    {"priority", priority, set_priority},
    text_row<&S::qos>("qos"),
    flag_row<&S::reboot, 0xFFFE>("reboot"),
    text_row<&S::required_nodes>("req_nodes"),
    {"req_switch", switches, set_switches},
    {"requeue", requeue, set_requeue},
    text_row<&S::reservation>("reservation"),
    count_row<&S::segment, 0xFFFE>("segment_size"),
    {"shared", sharing, set_sharing},
    offset_row<&S::site_factor>("site_factor"),
    {"sockets_per_board", always<0>},
    short_row<&S::sockets_per_node>("sockets_per_node"),
    file_row<&S::std_err>("std_err"),
    file_row<&S::std_in>("std_in"),
    file_row<&S::std_out>("std_out"),
    {"submit_line", [](const S& spec) { return text_value(spec.submit_line.view()); }},
    short_row<&S::threads_per_core>("threads_per_core"),
    count_row<&S::time_limit>("time_limit"),
    count_row<&S::time_min>("time_min"),
    text_row<&S::tres_bind>("tres_bind"),
    text_row<&S::tres_freq>("tres_freq"),
    gres_row<&S::tres_per_job>("tres_per_job"),
    gres_row<&S::gres>("tres_per_node"),
    gres_row<&S::tres_per_socket>("tres_per_socket"),
    gres_row<&S::tres_per_task>("tres_per_task"),
    {"umask", [](const S& spec) -> Value { return as_number(spec.umask); }},
    {"user_id", [](const S& spec) -> Value { return as_number(spec.uid); }},
    {"user_name", [](const S& spec) { return text_value(spec.user_name.view()); }},
    {"wait4switch", switch_wait, set_switch_wait},
    count_row<&S::signal, 0>("warn_signal"),
    count_row<&S::signal_seconds, 0>("warn_time"),
    text_row<&S::wckey>("wckey"),
    text_row<&S::work_dir>("work_dir"),
};

}  // namespace

LuaValue spec_value(const JobSpec& spec, std::string_view name) {
  return value_in(kRows, spec, name);
}

std::vector<std::string> spec_names() {
  std::vector<std::string> out;
  add_names(kRows, out);
  return out;
}

LuaValue ArgumentFields::get(std::string_view name) {
  const auto number = to_number<size_t>(name);
  if (!number || *number >= count()) return {};
  return *number == 0 ? spec_.command.str() : spec_.arguments[*number - 1].str();
}

std::vector<std::string> ArgumentFields::names() {
  std::vector<std::string> out;
  for (size_t i = 0; i < count(); ++i) out.push_back(std::to_string(i));
  return out;
}

void EnvironmentFields::read() {
  if (!std::exchange(read_, true)) variables_ = Environment::from_block(block_);
}

LuaValue EnvironmentFields::get(std::string_view name) {
  read();
  return variables_.has(name) ? LuaValue(std::string(variables_.get(name))) : LuaValue();
}

Status EnvironmentFields::set(std::string_view name, const LuaValue& value, bool&) {
  read();
  const bool is_name = !name.empty() && name.find('=') == std::string_view::npos &&
                       name.find('\0') == std::string_view::npos;
  if (!is_name) return failure("no name of a variable");
  auto text = text_of(value);
  if (!text) return tl::unexpected(text.error());
  if (std::holds_alternative<std::monostate>(value)) variables_.unset(name);
  else variables_.set(name, *text);
  changed_ = true;
  return {};
}

std::vector<std::string> EnvironmentFields::names() {
  read();
  std::vector<std::string> out = variables_.entries();
  for (std::string& entry : out) entry.resize(entry.find('='));
  return out;
}

void EnvironmentFields::write_back() {
  if (changed_) block_ = variables_.to_block();
}

SubmissionFields::SubmissionFields(Of of)
    : of_(std::move(of)), environment_(of_.environment), arguments_(of_.spec) {}

LuaValue SubmissionFields::get(std::string_view name) {
  if (name == "script") return text_value(of_.script);
  if (name == "environment") return static_cast<LuaFields*>(&environment_);
  if (name == "argv") return static_cast<LuaFields*>(&arguments_);
  if (name == "argc") return as_number(arguments_.count());
  if (name == "default_account") return text_value(of_.default_account);
  return spec_value(of_.spec, name);
}

Status SubmissionFields::set(std::string_view name, const LuaValue& value, bool& known) {
  if (name == "script") {
    auto text = text_of(value);
    if (!text) return tl::unexpected(text.error());
    if (of_.script.empty()) return failure("it has no script");
    if (text->empty()) return failure("a script cannot be empty");
    of_.script = std::move(*text);
    return {};
  }
  return set_in(kRows, of_.spec, name, value, known);
}

std::vector<std::string> SubmissionFields::names() {
  std::vector<std::string> out = spec_names();
  for (const char* name : {"script", "environment", "argv", "argc", "default_account"})
    out.emplace_back(name);
  return out;
}

}  // namespace sluice::ctld
