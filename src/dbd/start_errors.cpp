#include "dbd/start_errors.hpp"

#include <unistd.h>

#include "common/os/file_rights.hpp"
#include "dbd/archive/purge_rules.hpp"
#include "dbd/identity.hpp"
#include "dbd/store/file_access.hpp"

namespace sluice::dbd {
std::vector<Error> start_errors(const DbdConfig& config) {
  std::vector<Error> out;
  const auto add = [&out](const auto& done) {
    if (!done) out.push_back(done.error());
  };
  add(may_serve_here(config));
  if (const auto rules = purge_rules(config)) add(check_archive_folder(config, *rules));
  const bool may_look = ::geteuid() == 0 || ::geteuid() == config.slurm_user_id;
  if (!may_look) return out;
  add(open_auth(config));
  add(open_tls(config));
  const bool has_file =
      config.storage.engine == Engine::kSqlite && ::access(config.storage.name.c_str(), F_OK) == 0;
  if (!has_file) return out;
  const auto who = host_user(config.slurm_user_id);
  const Status usable =
      who ? may_use_file(config.storage.name, *who) : may_use_file(config.storage.name);
  add(usable);
  if (usable || ::geteuid() == 0) add(check_header(config.storage.name));
  return out;
}

}  // namespace sluice::dbd
