#include "cli/sacctmgr/session.hpp"

#include <cstdio>
#include <utility>

namespace sluice::cli::sacctmgr {

bool Session::fail(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  exit_code = 1;
  return false;
}

bool Session::error(std::string_view text) { return fail("sacctmgr: error: " + std::string(text)); }

void Session::tell(const Error& error) {
  const std::string denied = std::exchange(denial, {});
  if (error.code == ErrorCode::kAccessDenied && error.text.empty()) {  // in Slurm's words
    if (!denied.empty()) return void(fail(denied));
    fail("sacctmgr: error: Access/permission denied");
    fail(" Error with request: Access/permission denied");
    return;
  }
  tell_no_answer("sacctmgr", *client, error);
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
