#include "cli/shared/accounting_client.hpp"

#include <cstdio>

#include "common/model/cluster_config.hpp"

namespace sluice::cli {

std::optional<Client> open_accounting(const char* program, int& exit_code) {
  Result<Client> made = Client::open();
  if (!made) {
    exit_code = report(program, made.error());
    return std::nullopt;
  }
  if (made->config().accounting_storage_type != "accounting_storage/slurmdbd") {
    std::fputs(
        "You are not running a supported accounting_storage plugin\n"
        "Only 'accounting_storage/slurmdbd' is supported.\n",
        stderr);
    exit_code = 1;
    return std::nullopt;
  }
  return std::move(*made);
}

}  // namespace sluice::cli
