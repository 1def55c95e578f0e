// job_desc of slurm_job_modify(): what `scontrol update` changes. Nothing else is set.
#include <utility>

#include "ctld/job_submit/job_fields.hpp"

namespace sluice::ctld {
namespace {

using Value = LuaValue;
using U = JobUpdate;

using Row = FieldRow<JobUpdate>;

// nil changes nothing; a text that is empty takes away what there was.
template <auto Member>
constexpr Row text_row(std::string_view name) {
  return {name,
          [](const U& update) -> Value {
            if (!(update.*Member)) return {};
            return *(update.*Member);
          },
          [](U& update, const Value& value) -> Status {
            auto text = text_of(value);
            if (!text) return tl::unexpected(text.error());
            if (std::holds_alternative<std::monostate>(value)) update.*Member = std::nullopt;
            else update.*Member = std::move(*text);
            return {};
          }};
}

template <auto Member>
constexpr Row gres_row(std::string_view name) {
  Row row = text_row<Member>(name);
  row.set = [](U& update, const Value& value) -> Status {
    const auto text = gres_text(value);
    if (!text) return tl::unexpected(text.error());
    return text_row<Member>("").set(update, text->empty() ? value : Value(*text));
  };
  return row;
}

// NO_VAL changes nothing.
template <auto Member, uint32_t NoVal = 0xFFFFFFFE>
constexpr Row count_row(std::string_view name) {
  return {name,
          [](const U& update) -> Value {
            if (!(update.*Member)) return static_cast<double>(NoVal);
            return static_cast<double>(*(update.*Member));
          },
          [](U& update, const Value& value) -> Status {
            const auto number = count_of(value, NoVal);
            if (!number) return tl::unexpected(number.error());
            if (*number == NoVal) update.*Member = std::nullopt;
            else update.*Member = *number;
            return {};
          }};
}
template <auto Member>
constexpr Row short_row(std::string_view name) {
  return count_row<Member, 0xFFFE>(name);
}

template <auto Member>
constexpr Row flag_row(std::string_view name) {
  return {name,
          [](const U& update) -> Value {
            if (!(update.*Member)) return kNoVal16;
            return *(update.*Member) ? 1.0 : 0.0;
          },
          [](U& update, const Value& value) -> Status {
            const auto number = count_of(value, 0xFFFE);
            if (!number) return tl::unexpected(number.error());
            if (*number == 0xFFFE) update.*Member = std::nullopt;
            else update.*Member = *number != 0;
            return {};
          }};
}

template <auto Member>
constexpr Row time_row(std::string_view name) {
  return {name,
          [](const U& update) -> Value {
            return update.*Member ? static_cast<double>(to_seconds(*(update.*Member))) : 0.0;
          },
          [](U& update, const Value& value) -> Status {
            const auto seconds = count_of(value, 0);
            if (!seconds) return tl::unexpected(seconds.error());
            if (*seconds == 0) update.*Member = std::nullopt;
            else update.*Member = from_seconds(*seconds);
            return {};
          }};
}

template <auto Member>
constexpr Row offset_row(std::string_view name) {
  return {name,
          [](const U& update) -> Value {
            return update.*Member ? kNiceOffset + *(update.*Member) : kNoVal;
          },
          [](U& update, const Value& value) -> Status {
            const auto number = count_of(value, 0xFFFFFFFE);
            if (!number) return tl::unexpected(number.error());
            if (*number == 0xFFFFFFFE) update.*Member = std::nullopt;
            else update.*Member = without_offset(*number);
            return {};
          }};
}

template <auto Member>
constexpr Row memory_row(std::string_view name) {
  return {name,
          [](const U& update) -> Value {
            if (!(update.*Member)) return {};
            return static_cast<double>(*(update.*Member));
          },
          [](U& update, const Value& value) -> Status {
            const auto mib = memory_of(value);
            if (!mib) return tl::unexpected(mib.error());
            update.*Member = *mib;
            return {};
          }};
}

Value any_memory(const U& update) {
  if (update.memory_per_node_mib) return as_number(*update.memory_per_node_mib);
  if (update.memory_per_cpu_mib) return memory_of_cpu(*update.memory_per_cpu_mib);
  return kNoVal64;
}

Status set_any_memory(U& update, const Value& value) {
  const auto memory = any_memory_of(value);
  if (!memory) return tl::unexpected(memory.error());
  update.memory_per_node_mib = memory->per_node_mib;
  update.memory_per_cpu_mib = memory->per_cpu_mib;
  return {};
}

constexpr Row kRows[] = {
    text_row<&U::account>("account"),
    text_row<&U::admin_comment>("admin_comment"),
    time_row<&U::begin>("begin_time"),
    text_row<&U::cluster_features>("cluster_features"),
    text_row<&U::comment>("comment"),
    flag_row<&U::contiguous>("contiguous"),
    short_row<&U::core_spec>("core_spec"),
    short_row<&U::cores_per_socket>("cores_per_socket"),
    short_row<&U::cpus_per_task>("cpus_per_task"),
    text_row<&U::cpus_per_gpu>("cpus_per_tres"),
    time_row<&U::deadline>("deadline"),
    count_row<&U::delay_boot_seconds>("delay_boot"),
    text_row<&U::dependency>("dependency"),
    time_row<&U::end>("end_time"),
    text_row<&U::excluded_nodes>("exc_nodes"),
    text_row<&U::extra>("extra"),
    text_row<&U::constraint>("features"),
    gres_row<&U::gres>("gres"),
    text_row<&U::licenses>("licenses"),
    text_row<&U::mail_user>("mail_user"),
    count_row<&U::max_cpus>("max_cpus"),
    count_row<&U::max_nodes>("max_nodes"),
    count_row<&U::min_cpus>("min_cpus"),
    memory_row<&U::memory_per_cpu_mib>("min_mem_per_cpu"),
    memory_row<&U::memory_per_node_mib>("min_mem_per_node"),
    count_row<&U::min_nodes>("min_nodes"),
    text_row<&U::name>("name"),
    offset_row<&U::nice>("nice"),
    short_row<&U::ntasks_per_node>("ntasks_per_node"),
    count_row<&U::num_tasks>("num_tasks"),
    text_row<&U::partitions>("partition"),
    short_row<&U::min_cpus_per_node>("pn_min_cpus"),
    {"pn_min_memory", any_memory, set_any_memory},
    count_row<&U::tmp_disk_mib>("pn_min_tmp_disk"),
    text_row<&U::prefer>("prefer"),
    count_row<&U::priority>("priority"),
    text_row<&U::qos>("qos"),
    flag_row<&U::reboot>("reboot"),
    text_row<&U::required_nodes>("req_nodes"),
    flag_row<&U::requeue>("requeue"),
    text_row<&U::reservation>("reservation"),
    offset_row<&U::site_factor>("site_factor"),
    short_row<&U::sockets_per_node>("sockets_per_node"),
    text_row<&U::std_err>("std_err"),
    text_row<&U::std_in>("std_in"),
    text_row<&U::std_out>("std_out"),
    short_row<&U::threads_per_core>("threads_per_core"),
    count_row<&U::time_limit>("time_limit"),
    count_row<&U::time_min>("time_min"),
    text_row<&U::tres_bind>("tres_bind"),
    text_row<&U::tres_freq>("tres_freq"),
    gres_row<&U::tres_per_job>("tres_per_job"),
    gres_row<&U::gres>("tres_per_node"),
    gres_row<&U::tres_per_socket>("tres_per_socket"),
    gres_row<&U::tres_per_task>("tres_per_task"),
    text_row<&U::wckey>("wckey"),
    text_row<&U::work_dir>("work_dir"),
};

}  // namespace

LuaValue ChangeFields::get(std::string_view name) {
  if (name == "user_id") return as_number(user_);
  if (name == "argc") return 0.0;
  if (name == "group_id") return kNoVal;
  if (name == "mail_type") return kNoVal16;
  if (find_row(kRows, name) != nullptr) return value_in(kRows, update_, name);
  // no update sets it: as of a submission that does not either
  return spec_value(JobSpec(), name);
}

Status ChangeFields::set(std::string_view name, const LuaValue& value, bool& known) {
  return set_in(kRows, update_, name, value, known);
}

std::vector<std::string> ChangeFields::names() {
  std::vector<std::string> out{"user_id"};
  add_names(kRows, out);
  return out;
}

}  // namespace sluice::ctld
