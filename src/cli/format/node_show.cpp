// See node_show.hpp.
#include "cli/format/node_show.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/model/system_cores.hpp"
#include "common/names/job_states.hpp"
#include "common/format/job_values.hpp"
#include "common/format/node_values.hpp"
#include "common/format/show_lines.hpp"
#include "common/syntax/submit_values.hpp"

namespace sluice {
namespace {

std::string time_or_none(Time at, const RenderContext& context) {
  return at == kNoTime ? "None" : format_time(at, context.time_form, context.now);
}

void put_features_and_gres(const protocol::NodeRecord& r, bool details, ShowLines& out) {
  const std::string features = available_features(r);
  out.line().word("AvailableFeatures", or_else(features, "(null)"));
  out.line().word("ActiveFeatures", shown_active_features(r));
  const std::string gres = shown_gres(r);
  out.line().word("Gres", or_else(gres, "(null)"));
  if (details) {
    const std::string used = used_gres(r);
    out.line().word("GresDrain", "N/A");
    out.line().word("GresUsed", or_else(used, "(null)"));
  }
}

void put_place(const protocol::NodeRecord& r, ShowLines& out) {
  const NodeConfig& config = config_of(r);
  const NodeHardware& hardware = hardware_of(r);
  out.line()
      .word("NodeAddr", node_host_address(r.node))
      .word("NodeHostName", node_host_name(r.node));
  out.word("Port", config.port);
  if (!config.broadcast_address.empty()) out.word("BcastAddr", config.broadcast_address);
  if (!hardware.version.empty()) out.word("Version", hardware.version);
  if (!hardware.operating_system.empty()) {
    out.line().word("OS", hardware.operating_system).raw(" ");
  }
  out.line().word("RealMemory", config.real_memory_mib).word("AllocMem", r.used_memory_mib);
  out.word("FreeMem", r.soft.free_memory_mib == 0 ? "N/A" : std::to_string(r.soft.free_memory_mib));
  out.word("Sockets", config.sockets).word("Boards", config.boards);
  const size_t kept = system_cores(config).count();
  if (kept == 0 && config.mem_spec_limit_mib == 0) return;
  out.line();
  if (kept != 0) out.word("CoreSpecCount", kept).word("CPUSpecList", system_cpu_list(config));
  if (config.mem_spec_limit_mib != 0) out.word("MemSpecLimit", config.mem_spec_limit_mib);
}

void put_texts(const protocol::NodeRecord& r, const RenderContext& context, ShowLines& out) {
  if (!r.node.reason.empty()) {
    std::string reason = r.node.reason.str();
    if (r.node.reason_time != kNoTime) {
      const uint32_t uid = r.node.reason_uid;
      const std::string who =
          context.user_name != nullptr ? context.user_name(uid) : std::to_string(uid);
      reason +=
          " [" + who + "@" + format_time(r.node.reason_time, context.time_form, context.now) + "]";
    }
    out.line().word("Reason", reason);
  }
  if (!r.node.comment.empty()) out.line().word("Comment", r.node.comment);
  if (!r.node.extra.empty()) out.line().word("Extra", r.node.extra);
}

}  // namespace

std::string show_node(const protocol::NodeRecord& r, const RenderContext& context, bool one_line,
                      bool details) {
  const NodeConfig& config = config_of(r);
  const NodeHardware& hardware = hardware_of(r);
  ShowLines out(one_line);
  out.word("NodeName", r.node.name);
  if (!hardware.architecture.empty()) out.word("Arch", hardware.architecture);
  if (!config.cpu_bind.empty()) out.word("CpuBind", config.cpu_bind);
  out.word("CoresPerSocket", config.cores_per_socket).raw(" ");
  out.line().word("CPUAlloc", cpu_use(r).allocated).word("CPUEfctv", effective_cpus(config));
  out.word("CPUTot", config.cpus);
  out.word("CPULoad", r.soft.load < 0 ? "N/A" : fmt::format("{:.2f}", r.soft.load));
  put_features_and_gres(r, details, out);
  put_place(r, out);
  out.line().word("State", node_state_complete(r.shown_base, r.shown_flags));
  out.word("ThreadsPerCore", config.threads_per_core).word("TmpDisk", config.tmp_disk_mib);
  out.word("Weight", r.node.weight).word("Owner", "N/A").word("MCS_label", "N/A");
  if (r.node.after_reboot != AfterReboot::kAsBefore &&
      (r.shown_flags & (kNodeRebootRequested | kNodeRebootIssued)) != 0) {
    out.line().word("NextState", r.node.after_reboot == AfterReboot::kDown ? "DOWN" : "RESUME");
  }
  if (!r.partitions.empty()) { out.line().word("Partitions", join(r.partitions, ",")).raw(" "); }
  out.line().word("BootTime", time_or_none(hardware.boot_time, context));
  out.word("SlurmdStartTime", time_or_none(hardware.agent_start, context));
  out.line().word("LastBusyTime", format_time(r.node.last_busy, context.time_form, context.now));
  out.word("ResumeAfterTime", time_or_none(r.node.resume_after, context));
  const uint32_t suspend = config.suspend_time_s.value_or(UINT32_MAX);
  out.word("SuspendTime", suspend == UINT32_MAX ? "INFINITE" : std::to_string(suspend));
  out.line().word("CfgTRES", configured_tres(r, context));
  const std::string used = used_tres(r, context);
  out.line().word("AllocTRES", used);
  out.line().word("CurrentWatts", "0").word("AveWatts", "0");
  put_texts(r, context, out);
  return out.take();
}

namespace {

void put_configured(const protocol::NodeRecord& r, Json& out) {
  const NodeConfig& config = config_of(r);
  const NodeHardware& hardware = hardware_of(r);
  out["architecture"] = hardware.architecture;
  out["burstbuffer_network_address"] = config.broadcast_address;
  out["boards"] = config.boards;
  out["boot_time"] = json_time(hardware.boot_time);
  out["tls_cert_last_renewal"] = json_number(0);
  out["cert_flags"] = Json::array();
  out["cluster_name"] = "";
  out["cores"] = config.cores_per_socket;
  out["specialized_cores"] = system_cores(config).count();
  out["cpu_binding"] = usual_binding_number(config.cpu_bind);
  out["cpu_load"] = load_hundredths(r);
  out["free_mem"] = json_number(r.soft.free_memory_mib, r.soft.free_memory_mib != 0);
  out["cpus"] = config.cpus;
  out["effective_cpus"] = effective_cpus(config);
  out["specialized_cpus"] = system_cpu_list(config);
  out["energy"] = {{"average_watts", 0},
                   {"base_consumed_energy", 0},
                   {"consumed_energy", 0},
                   {"current_watts", json_number(0)},
                   {"previous_consumed_energy", 0},
                   {"last_collected", 0}};
  out["external_sensors"] = Json::object();
  out["extra"] = json_text(r.node.extra);
  out["power"] = Json::object();
  out["features"] = config.features;
  out["active_features"] = active_features(r.node);
  out["gpu_spec"] = "";
  out["gres"] = shown_gres(r);
  out["gres_drained"] = "N/A";
  out["gres_used"] = used_gres(r);
  out["instance_id"] = "";
  out["instance_type"] = "";
  out["last_busy"] = json_time(r.node.last_busy);
  out["mcs_label"] = "";
  out["specialized_memory"] = config.mem_spec_limit_mib;
}

}  // namespace

Json node_to_json(const protocol::NodeRecord& r, const RenderContext& context) {
  const NodeConfig& config = config_of(r);
  const NodeHardware& hardware = hardware_of(r);
  Json out = Json::object();
  put_configured(r, out);
  out["name"] = r.node.name;
  const AfterReboot after = r.node.after_reboot;
  out["next_state_after_reboot"] = {after == AfterReboot::kDown     ? "DOWN"
                                    : after == AfterReboot::kResume ? "RESUME"
                                                                    : "INVALID"};
  out["address"] = node_host_address(r.node);
  out["hostname"] = node_host_name(r.node);
  Json states = {json_text(node_base_text(r.shown_base))};
  for (const std::string_view flag : node_flag_list(r.shown_flags)) {
    states.push_back(json_text(flag));
  }
  out["state"] = states;
  out["operating_system"] = hardware.operating_system;
  out["owner"] = "";
  out["partitions"] = r.partitions;
  out["port"] = config.port;
  out["real_memory"] = config.real_memory_mib;
  out["res_cores_per_gpu"] = config.restricted_cores_per_gpu;
  out["comment"] = json_text(r.node.comment);
  out["reason"] = json_text(r.node.reason);
  out["reason_changed_at"] = json_time(r.node.reason_time);
  const bool named = !r.node.reason.empty() && context.user_name != nullptr;
  out["reason_set_by_user"] = named ? context.user_name(r.node.reason_uid) : "";
  out["resume_after"] = json_time(r.node.resume_after);
  out["reservation"] = r.reservation;
  out["alloc_memory"] = r.used_memory_mib;
  out["alloc_cpus"] = cpu_use(r).allocated;
  out["alloc_idle_cpus"] = cpu_use(r).idle;
  out["tres_used"] = used_tres(r, context);
  out["tres_weighted"] = 0.0;
  out["slurmd_start_time"] = json_time(hardware.agent_start);
  out["sockets"] = config.sockets;
  out["threads"] = config.threads_per_core;
  out["temporary_disk"] = config.tmp_disk_mib;
  out["weight"] = r.node.weight;
  out["topology"] = config.topology;
  out["tres"] = configured_tres(r, context);
  out["version"] = hardware.version;
  return out;
}

}  // namespace sluice
