#include "cli/sacctmgr/session.hpp"

#include <cstdio>

#include "common/model/cluster_config.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli::sacctmgr {

bool Session::fail(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  exit_code = 1;
  return false;
}

void Session::tell(const Error& error) {
  const std::string text = error_text(error);
  if (error.code == ErrorCode::kUnreachable) {
    const ClusterConfig& config = client->config();
    std::fprintf(stderr,
                 "sacctmgr: error: slurm_persist_conn_open: failed to open persistent connection "
                 "to host:%s:%u\nsacctmgr: error: Problem talking to the database: %s\n",
                 config.accounting_storage_host.c_str(), config.accounting_storage_port,
                 text.c_str());
  } else {
    std::fprintf(stderr, "sacctmgr: error: Problem talking to the database: %s\n", text.c_str());
  }
  exit_code = 1;
}

Client* Session::open() {
  if (!client) client = open_accounting("sacctmgr", exit_code);
  return client ? &*client : nullptr;
}

const protocol::QueryAccountingReply* Session::known() {
  if (!names) {
    protocol::QueryAccountingRequest request;
    request.entity = protocol::AccountingEntity::kTres;
    names = ask<protocol::QueryAccountingReply>(request);
  }
  return names ? &*names : nullptr;
}

}  // namespace sluice::cli::sacctmgr
