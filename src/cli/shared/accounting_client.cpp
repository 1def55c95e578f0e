#include "cli/shared/accounting_client.hpp"

#include <cstdio>

#include "common/model/accounting_daemon.hpp"
#include "common/names/errors.hpp"

namespace sluice::cli {

std::optional<Client> open_accounting(const char* program, int& exit_code) {
  Result<Client> made = Client::open();
  if (!made) {
    exit_code = report(program, made.error());
    return std::nullopt;
  }
  if (!has_accounting_daemon(made->config())) {
    std::fputs(
        "You are not running a supported accounting_storage plugin\n"
        "Only 'accounting_storage/slurmdbd' is supported.\n",
        stderr);
    exit_code = 1;
    return std::nullopt;
  }
  return std::move(*made);
}

void tell_no_answer(const char* program, const Client& client, const Error& error) {
  const bool away = error.code == ErrorCode::kUnreachable;
  const ClusterConfig& config = client.config();
  if (away)
    std::fprintf(stderr,
                 "%s: error: slurm_persist_conn_open: failed to open persistent connection to "
                 "host:%s:%u\n",
                 program, config.accounting_storage_host.c_str(), config.accounting_storage_port);
  std::fprintf(stderr, "%s: error: Problem talking to the database: %s\n", program,
               away ? "Connection refused" : error_text(error).c_str());
}

}  // namespace sluice::cli
