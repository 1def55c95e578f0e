// What scontrol update changes of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/time.hpp"
#include "common/model/job_spec.hpp"

namespace sluice {

// Changes to a job; only what is set changes. Names follow scontrol update's keys.
struct JobUpdate {
  static constexpr uint32_t kRetired[] = {48};
  std::optional<std::string> account, admin_comment, comment, extra, name, partitions, qos,
      reservation, required_nodes, excluded_nodes, constraint, dependency, licenses, wckey, std_out,
      std_err, std_in, work_dir, mail_type, mail_user, gres, switches, cluster_features,
      tres_per_job, tres_per_socket, tres_per_task, cpus_per_gpu, tres_bind, tres_freq, prefer;
  std::optional<Minutes> time_limit, time_min;
  std::optional<Time> begin, deadline, end;
  std::optional<uint32_t> priority, min_nodes, max_nodes, num_tasks, cpus_per_task, min_cpus,
      max_cpus, min_cpus_per_node, array_max_running, delay_boot_seconds, sockets_per_node,
      cores_per_socket, threads_per_core, ntasks_per_node, core_spec, thread_spec,
      wait_for_switch_seconds;
  std::optional<int32_t> nice, site_factor;
  std::optional<uint64_t> memory_per_node_mib, memory_per_cpu_mib, memory_per_gpu_mib, tmp_disk_mib;
  std::optional<bool> requeue, contiguous, hold, reset_accrue, reboot;
  std::optional<Sharing> sharing;
  template <class V>
  static void describe(V&& field) {
    field(1, "account", &JobUpdate::account);
    field(2, "admin_comment", &JobUpdate::admin_comment);
    field(3, "comment", &JobUpdate::comment);
    field(4, "extra", &JobUpdate::extra);
    field(5, "name", &JobUpdate::name);
    field(6, "partitions", &JobUpdate::partitions);
    field(7, "qos", &JobUpdate::qos);
    field(8, "reservation", &JobUpdate::reservation);
    field(9, "required_nodes", &JobUpdate::required_nodes);
    field(10, "excluded_nodes", &JobUpdate::excluded_nodes);
    field(11, "constraint", &JobUpdate::constraint);
    field(12, "dependency", &JobUpdate::dependency);
    field(13, "licenses", &JobUpdate::licenses);
    field(14, "wckey", &JobUpdate::wckey);
    field(15, "std_out", &JobUpdate::std_out);
    field(16, "std_err", &JobUpdate::std_err);
    field(17, "std_in", &JobUpdate::std_in);
    field(18, "work_dir", &JobUpdate::work_dir);
    field(19, "mail_type", &JobUpdate::mail_type);
    field(20, "mail_user", &JobUpdate::mail_user);
    field(21, "gres", &JobUpdate::gres);
    field(22, "switches", &JobUpdate::switches);
    field(23, "cluster_features", &JobUpdate::cluster_features);
    field(24, "time_limit", &JobUpdate::time_limit);
    field(25, "time_min", &JobUpdate::time_min);
    field(26, "begin", &JobUpdate::begin);
    field(27, "deadline", &JobUpdate::deadline);
    field(28, "end", &JobUpdate::end);
    field(29, "priority", &JobUpdate::priority);
    field(30, "min_nodes", &JobUpdate::min_nodes);
    field(31, "max_nodes", &JobUpdate::max_nodes);
    field(32, "num_tasks", &JobUpdate::num_tasks);
    field(33, "cpus_per_task", &JobUpdate::cpus_per_task);
    field(34, "min_cpus", &JobUpdate::min_cpus);
    field(35, "max_cpus", &JobUpdate::max_cpus);
    field(36, "min_cpus_per_node", &JobUpdate::min_cpus_per_node);
    field(37, "array_max_running", &JobUpdate::array_max_running);
    field(38, "delay_boot_seconds", &JobUpdate::delay_boot_seconds);
    field(39, "nice", &JobUpdate::nice);
    field(40, "memory_per_node_mib", &JobUpdate::memory_per_node_mib);
    field(41, "memory_per_cpu_mib", &JobUpdate::memory_per_cpu_mib);
    field(42, "tmp_disk_mib", &JobUpdate::tmp_disk_mib);
    field(43, "requeue", &JobUpdate::requeue);
    field(44, "contiguous", &JobUpdate::contiguous);
    field(45, "hold", &JobUpdate::hold);
    field(46, "reset_accrue", &JobUpdate::reset_accrue);
    field(47, "sharing", &JobUpdate::sharing);
    field(49, "tres_per_job", &JobUpdate::tres_per_job);
    field(50, "tres_per_socket", &JobUpdate::tres_per_socket);
    field(51, "tres_per_task", &JobUpdate::tres_per_task);
    field(52, "cpus_per_gpu", &JobUpdate::cpus_per_gpu);
    field(53, "tres_bind", &JobUpdate::tres_bind);
    field(54, "memory_per_gpu_mib", &JobUpdate::memory_per_gpu_mib);
    field(80, "prefer", &JobUpdate::prefer);
    field(81, "sockets_per_node", &JobUpdate::sockets_per_node);
    field(82, "cores_per_socket", &JobUpdate::cores_per_socket);
    field(83, "threads_per_core", &JobUpdate::threads_per_core);
    field(84, "ntasks_per_node", &JobUpdate::ntasks_per_node);
    field(85, "core_spec", &JobUpdate::core_spec);
    field(86, "thread_spec", &JobUpdate::thread_spec);
    field(87, "wait_for_switch_seconds", &JobUpdate::wait_for_switch_seconds);
    field(88, "reboot", &JobUpdate::reboot);
    field(89, "site_factor", &JobUpdate::site_factor);
    field(550, "tres_freq", &JobUpdate::tres_freq);
  }
};

}  // namespace sluice
