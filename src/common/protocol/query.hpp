// What commands ask the controller only to see it: licenses, a job's script, who answers, why a job
// waits. Jobs are in job_query.hpp, nodes and partitions in node_query.hpp, the configuration in
// config_query.hpp. A part of ctld.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/model/job_update.hpp"

namespace sluice::protocol {

struct QueryLicensesRequest {
  static constexpr std::string_view kMethod = "Controller/QueryLicenses";
  using Reply = struct QueryLicensesReply;
  template <class V>
  static void describe(V&&) {}
};
struct LicenseRecord {
  std::string name;
  uint64_t total = 0;
  uint64_t used = 0;      // by all jobs, whoever asks
  uint64_t reserved = 0;  // by reservations that hold now
  template <class V>
  static void describe(V&& field) {
    field(1, "name", &LicenseRecord::name);
    field(2, "total", &LicenseRecord::total);
    field(3, "used", &LicenseRecord::used);
    field(4, "reserved", &LicenseRecord::reserved);
  }
};
struct QueryLicensesReply {
  std::vector<LicenseRecord> licenses;  // by name
  template <class V>
  static void describe(V&& field) {
    field(1, "licenses", &QueryLicensesReply::licenses);
  }
};
struct PingRequest {
  static constexpr std::string_view kMethod = "Controller/Ping";
  using Reply = struct PingReply;
  template <class V>
  static void describe(V&&) {}
};
struct PingReply {
  std::string host;
  std::string version;
  std::string mode;  // primary, backup
  // how to prove who asks, for callers that have no slurm.conf
  std::string cluster;
  std::string auth_type;
  std::string auth_socket;  // AuthInfo=socket=…; empty: the usual one
  uint32_t slurm_user = 0;
  uint32_t protocol_version = 0;  // protocol_version.hpp
  template <class V>
  static void describe(V&& field) {
    field(1, "host", &PingReply::host);
    field(2, "version", &PingReply::version);
    field(3, "mode", &PingReply::mode);
    field(4, "cluster", &PingReply::cluster);
    field(5, "auth_type", &PingReply::auth_type);
    field(6, "auth_socket", &PingReply::auth_socket);
    field(7, "slurm_user", &PingReply::slurm_user);
    field(8, "protocol_version", &PingReply::protocol_version);
  }
};

struct BatchScriptRequest {
  static constexpr std::string_view kMethod = "Controller/BatchScript";
  using Reply = struct BatchScriptReply;
  JobId job = kNoJob;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &BatchScriptRequest::job);
  }
};
struct BatchScriptReply {
  std::string script;
  template <class V>
  static void describe(V&& field) {
    field(1, "script", &BatchScriptReply::script);
  }
};

// sluice explain JOB: lines in words, and the change that would let the job start.
struct ExplainRequest {
  static constexpr std::string_view kMethod = "Controller/Explain";
  using Reply = struct ExplainReply;
  std::string job;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &ExplainRequest::job);
  }
};
struct ExplainReply {
  std::vector<std::string> lines;
  std::optional<JobUpdate> change;
  template <class V>
  static void describe(V&& field) {
    field(1, "lines", &ExplainReply::lines);
    field(2, "change", &ExplainReply::change);
  }
};

}  // namespace sluice::protocol
