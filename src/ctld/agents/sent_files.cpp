#include "ctld/agents/sent_files.hpp"

#include <utility>

#include "common/config_files/load.hpp"
#include "common/net/config_fetch.hpp"

namespace sluice::ctld {

Result<SentFiles::Files> SentFiles::read(const ClusterConfig& config) {
  Files out{nullptr, lines_digest(config.config_path)};
  if (!has_option(config.slurmctld_parameters, "enable_configless")) return out;
  auto files = read_config_files(config.config_path);
  if (!files) return failure(files.error().code, "enable_configless: " + files.error().text);
  auto reply = std::make_shared<protocol::FetchConfigReply>();
  reply->digest = net::config_digest(*files);
  reply->files = std::move(*files);
  out.sent = std::move(reply);
  return out;
}

Status SentFiles::change(const std::function<Status()>& whole) {
  const std::lock_guard lock(changing_);
  return whole();
}

SentFiles::Files SentFiles::replace(Files files) {
  const std::lock_guard lock(mutex_);
  return std::exchange(files_, std::move(files));
}

SentFiles::Files SentFiles::get() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

std::string SentFiles::digest() const {
  const Files files = get();
  return files.sent == nullptr ? std::string() : files.sent->digest;
}

}  // namespace sluice::ctld
