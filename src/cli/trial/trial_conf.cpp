#include "cli/trial/trial_conf.hpp"

#include <fmt/format.h>

namespace sluice::cli {

std::string trial_conf(const TrialOptions& o, const TrialPlace& place) {
  const std::string ports = o.nodes == 1
                                ? fmt::format("{}", place.first_port + 1)
                                : fmt::format("[{}-{}]", place.first_port + 1, place.first_port + o.nodes);
  const std::string names = o.nodes == 1 ? "n1" : fmt::format("n[1-{}]", o.nodes);
  return fmt::format(
      "# Written by sluice up; the folder is the cluster's alone.\n"
      "ClusterName=trial\n"
      "SlurmctldHost={host}(127.0.0.1)\n"
      "SlurmctldPort={port}\n"
      "SlurmUser={user}\n"
      "SlurmdUser={user}\n"
      "AuthType=auth/slurm\n"
      "AuthInfo=socket={dir}/sack.socket\n"
      "StateSaveLocation={dir}/state\n"
      "SlurmdSpoolDir={dir}/spool/%n\n"
      "SlurmctldPidFile={dir}/run/sluicectld.pid\n"
      "SlurmdPidFile={dir}/run/%n.pid\n"
      "SlurmctldLogFile={dir}/log/sluicectld.log\n"
      "SlurmdLogFile={dir}/log/%n.log\n"
      "MaxArraySize=100001\n"
      "MaxJobCount=200000\n"
      "ReturnToService=2\n"
      "SelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_CPU_Memory\n"
      "DefMemPerCPU=100\n"
      "ProctrackType=proctrack/linuxproc\n"
      "TaskPlugin=task/none\n"
      "MailProg=/bin/true\n"
      "SlurmdParameters=config_overrides\n"
      "LaunchParameters=use_interactive_step\n"
      "NodeName={names} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports} CPUs={cpus} "
      "RealMemory={memory} State=UNKNOWN\n"
      "PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
      "{extra}",
      fmt::arg("host", place.host), fmt::arg("port", place.first_port),
      fmt::arg("user", place.user), fmt::arg("dir", o.dir), fmt::arg("names", names),
      fmt::arg("ports", ports), fmt::arg("cpus", o.cpus), fmt::arg("memory", o.memory_mib),
      fmt::arg("extra", o.extra_conf));
}

}  // namespace sluice::cli
