// The configuration that the controller runs with, as scontrol show config has it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/model/cluster_config.hpp"

namespace sluice::protocol {

struct QueryConfigRequest {
  static constexpr std::string_view kMethod = "Controller/QueryConfig";
  using Reply = struct QueryConfigReply;
  template <class V>
  static void describe(V&&) {}
};
struct QueryConfigReply {
  ClusterConfig config;
  Time boot_time = kNoTime;
  uint32_t next_job_id = 0;
  std::string host;
  std::string config_path;
  std::map<std::string, std::string> runtime;  // further values of scontrol show config
  Time now = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "config", &QueryConfigReply::config);
    field(2, "boot_time", &QueryConfigReply::boot_time);
    field(3, "next_job_id", &QueryConfigReply::next_job_id);
    field(4, "host", &QueryConfigReply::host);
    field(5, "config_path", &QueryConfigReply::config_path);
    field(6, "runtime", &QueryConfigReply::runtime);
    field(7, "now", &QueryConfigReply::now);
  }
};

}  // namespace sluice::protocol
