// What is neither a change nor a list of accounting's records: the daemon, configuration, history.
#include <cstdio>

#include <fmt/format.h>

#include "cli/sacctmgr/session.hpp"
#include "common/base/text.hpp"
#include "common/base/time_text.hpp"
#include "common/base/version.hpp"
#include "common/model/cluster_config.hpp"
#include "common/os/clock.hpp"
#include "common/protocol/accounting.hpp"

namespace sluice::cli::sacctmgr {

namespace {

const char* or_null(const std::string& text) { return text.empty() ? "(null)" : text.c_str(); }

void show_configuration(Session& session) {
  const Client* client = session.open();
  if (client == nullptr) return;
  const ClusterConfig& c = client->config();
  std::printf("Configuration data as of %s\n", format_time(net::now()).c_str());
  const auto line = [](const char* name, const std::string& value) {
    std::printf("%-22s = %s\n", name, value.c_str());
  };
  line("AccountingStorageBackupHost ", or_null(c.accounting_storage_backup_host));
  line("AccountingStorageHost ", c.accounting_storage_host);
  line("AccountingStoragePort", std::to_string(c.accounting_storage_port));
  line("AccountingStorageType", c.accounting_storage_type);
  line("AuthType", c.auth_type);
  line("MessageTimeout", fmt::format("{} sec", c.message_timeout / std::chrono::seconds(1)));
  line("SLURM_VERSION", kSlurmVersion);
  line("TCPTimeout", fmt::format("{} sec", c.tcp_timeout / std::chrono::seconds(1)));
}

void ping(Session& session) {
  Client* client = session.open();
  if (client == nullptr) return;
  const std::string host = client->config().accounting_storage_host;
  const auto reply = client->call<protocol::PingAccountingReply>(protocol::PingAccountingRequest{});
  std::printf("slurmdbd(primary) at %s is %s\n", reply ? reply->host.c_str() : host.c_str(),
              reply ? "UP" : "DOWN");
  if (!reply) session.exit_code = 1;
}

}  // namespace

bool list_other(Session& session, const Words& words) {
  const Option word = split_option(words[0]);
  if (word.is("Configuration", 2)) return show_configuration(session), true;
  // asked of the daemon's history, which does not answer them yet
  for (const char* name : {"Events", "Federations", "Instances", "Jobs", "Reservations",
                           "Resources", "RunawayJobs", "Stats"}) {
    if (word.has_value || !word.is(name, std::string_view(name) == "RunawayJobs" ? 2 : 1)) continue;
    if (word.is("Resources", 4) && !word.is("Reservations", 4)) name = "Resources";
    session.fail(fmt::format(" {} cannot be listed with this version.", name));
    return true;
  }
  return false;
}

void other(Session& session, std::string_view verb, const Words& /*words*/) {
  if (verb == "ping") return ping(session);
  session.fail(fmt::format(" The command {} is not supported by this version.", verb));
}

}  // namespace sluice::cli::sacctmgr
