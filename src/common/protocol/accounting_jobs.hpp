// sacctmgr modify job: what is said of jobs of the past is changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/accounting.hpp"

namespace sluice::protocol {

struct JobSettings {  // nothing: it stays
  std::optional<std::string> comment, admin_comment, system_comment, extra;
  std::optional<std::string> wckey;            // one that the job's user has
  std::optional<int32_t> derived_exit_status;  // as wait(2) gives it
  bool operator==(const JobSettings&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "comment", &JobSettings::comment);
    field(2, "admin_comment", &JobSettings::admin_comment);
    field(3, "system_comment", &JobSettings::system_comment);
    field(4, "extra", &JobSettings::extra);
    field(5, "wckey", &JobSettings::wckey);
    field(6, "derived_exit_status", &JobSettings::derived_exit_status);
  }
};

// Of the jobs that `where` means. Users may change the comment, the extra, the wckey and the
// derived exit code of their own; the rest is operators'. kAccessDenied: then nothing is changed.
struct ChangeJobHistoryRequest {
  static constexpr std::string_view kMethod = "Accounting/ChangeJobHistory";
  using Reply = struct ChangeJobHistoryReply;
  QueryHistoryRequest where;
  JobSettings settings;
  bool commit = false;  // else it is only said which jobs would be changed
  template <class V>
  static void describe(V&& field) {
    field(1, "where", &ChangeJobHistoryRequest::where);
    field(2, "settings", &ChangeJobHistoryRequest::settings);
    field(3, "commit", &ChangeJobHistoryRequest::commit);
  }
};
struct ChangedJob {
  JobId job = kNoJob;
  Time submit = kNoTime;
  template <class V>
  static void describe(V&& field) {
    field(1, "job", &ChangedJob::job);
    field(2, "submit", &ChangedJob::submit);
  }
};
struct ChangeJobHistoryReply {
  std::vector<ChangedJob> jobs;  // by number
  template <class V>
  static void describe(V&& field) {
    field(1, "jobs", &ChangeJobHistoryReply::jobs);
  }
};

}  // namespace sluice::protocol
