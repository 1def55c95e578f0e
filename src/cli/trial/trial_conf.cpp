#include "cli/trial/trial_conf.hpp"

#include <sys/un.h>

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "common/base/text.hpp"

namespace sluice::cli {
namespace {

// The key a line sets, in lower case; empty for comments and blank lines.
std::string key_of(std::string_view line) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || trim(line).starts_with('#')) return {};
  return to_lower(trim(line.substr(0, equals)));
}

// The template without the lines whose key the user's own text sets.
std::string without_overridden(std::string_view text, std::string_view extra) {
  std::set<std::string> overridden;
  for (const auto& line : split(extra, '\n')) overridden.insert(key_of(line));
  std::string out;
  for (const auto& line : split(text, '\n')) {
    const std::string key = key_of(line);
    if (line.empty() || (!key.empty() && overridden.contains(key))) continue;
    out.append(line).push_back('\n');
  }
  return out.append(extra);
}

// As further lines of slurm.conf say, else a port of the cluster's own.
uint32_t dbd_port(const TrialOptions& o, const TrialPlace& place) {
  uint32_t port = place.first_port + o.nodes + 1;
  for (const std::string& line : split(o.extra_conf, '\n')) {
    if (key_of(line) != "accountingstorageport") continue;
    const std::string_view value = trim(std::string_view(line).substr(line.find('=') + 1));
    port = to_number<uint32_t>(value).value_or(port);
  }
  return port;
}

std::string accounting_lines(const TrialOptions& o, const TrialPlace& place) {
  return fmt::format(
      "AccountingStorageType=accounting_storage/slurmdbd\n"
      "AccountingStorageHost=127.0.0.1\n"
      "AccountingStoragePort={}\n"
      "AccountingStoreFlags=job_comment,job_script\n",
      dbd_port(o, place));
}

constexpr std::string_view kFirstLine = "# Written by sluice up";
constexpr std::string_view kLongestSocket = "/sack.socket";

}  // namespace

std::optional<std::string> fault_of_trial_dir(const std::string& dir) {
  const auto odd = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' ||
           std::string_view("#\"'\\%,").find(c) != std::string_view::npos;
  };
  if (std::ranges::any_of(dir, odd))
    return dir + ": blanks, quotes and any of # % , \\ cannot be in the folder's name";
  if (dir.size() + kLongestSocket.size() < sizeof(sockaddr_un::sun_path)) return std::nullopt;
  return fmt::format("{}: the name is too long for a socket in the folder", dir);
}

bool is_conf_of_trial(const std::string& text, const TrialFolder& folder) {
  if (text.starts_with(kFirstLine)) return true;
  return std::ranges::any_of(split(text, '\n'), [&](const std::string& line) {
    return key_of(line) == "statesavelocation" &&
           folder.holds(trim(std::string_view(line).substr(line.find('=') + 1)));
  });
}

std::string trial_dbd_conf(const TrialOptions& o, const TrialPlace& place) {
  // what both files are to say alike
  std::string auth = "AuthType=auth/slurm\n", shared;
  for (const std::string& line : split(o.extra_conf, '\n')) {
    const std::string key = key_of(line);
    if (key == "authtype") auth = line + "\n";
    else if (key == "authinfo" || key == "trackwckey" || key.starts_with("tls"))
      shared.append(line).append("\n");
  }
  return shared.insert(0, fmt::format("{}; the folder is the cluster's alone.\n"
                                      "DbdHost={}\n"
                                      "DbdAddr=127.0.0.1\n"
                                      "DbdPort={}\n"
                                      "SlurmUser={}\n"
                                      "{auth}"
                                      "PidFile={dir}/run/sluicedbd.pid\n"
                                      "LogFile={dir}/log/sluicedbd.log\n"
                                      "StorageLoc={dir}/state/accounting.db\n",
                                      kFirstLine, place.host, dbd_port(o, place), place.user,
                                      fmt::arg("auth", auth), fmt::arg("dir", o.dir)));
}

std::string trial_conf(const TrialOptions& o, const TrialPlace& place) {
  const std::string ports =
      o.nodes == 1 ? fmt::format("{}", place.first_port + 1)
                   : fmt::format("[{}-{}]", place.first_port + 1, place.first_port + o.nodes);
  const std::string names = o.nodes == 1 ? "n1" : fmt::format("n[1-{}]", o.nodes);
  const std::string text = fmt::format(
      "{first}; the folder is the cluster's alone.\n"
      "ClusterName=trial\n"
      "SlurmctldHost={host}(127.0.0.1)\n"
      "SlurmctldPort={port}\n"
      "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n"
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
      "{accounting}",
      fmt::arg("first", kFirstLine), fmt::arg("host", place.host),
      fmt::arg("port", place.first_port), fmt::arg("user", place.user), fmt::arg("dir", o.dir),
      fmt::arg("names", names), fmt::arg("ports", ports), fmt::arg("cpus", o.cpus),
      fmt::arg("memory", o.memory_mib),
      fmt::arg("accounting", o.accounting ? accounting_lines(o, place) : ""));
  return without_overridden(text, o.extra_conf);
}

}  // namespace sluice::cli
