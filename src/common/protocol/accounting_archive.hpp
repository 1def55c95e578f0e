// sacctmgr archive dump and load: old history of the accounting daemon goes into files, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::protocol {

// Values travel: add, never renumber.
enum class ArchivedKind : uint8_t {
  kJobs = 0,
  kSteps = 1,
  kEvents = 2,
  kReservations = 3,
  kTransactions = 4,
  kUsage = 5,
  kSuspensions = 6,
  kJobScripts = 7,
  kJobEnvironments = 8,
};

struct ArchiveRule {
  ArchivedKind kind = ArchivedKind::kJobs;
  bool archive = false;  // also where slurmdbd.conf does not say so
  std::string purge;     // "30days"; empty: as slurmdbd.conf says
  bool operator==(const ArchiveRule&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "kind", &ArchiveRule::kind);
    field(2, "archive", &ArchiveRule::archive);
    field(3, "purge", &ArchiveRule::purge);
  }
};
// Purges now what slurmdbd.conf and these rules say, and archives it. Of administrators; a script
// of root and SlurmUser. kAccessDenied, kBadRequest; else what went wrong.
struct DumpArchiveRequest {
  static constexpr std::string_view kMethod = "Accounting/DumpArchive";
  using Reply = struct DumpArchiveReply;
  std::string folder, script;  // paths of the daemon's host; empty: those of slurmdbd.conf
  std::vector<ArchiveRule> rules;
  template <class V>
  static void describe(V&& field) {
    field(1, "folder", &DumpArchiveRequest::folder);
    field(2, "script", &DumpArchiveRequest::script);
    field(3, "rules", &DumpArchiveRequest::rules);
  }
};
struct DumpArchiveReply {
  uint64_t rows = 0;               // that were purged
  std::vector<std::string> files;  // that were written
  template <class V>
  static void describe(V&& field) {
    field(1, "rows", &DumpArchiveReply::rows);
    field(2, "files", &DumpArchiveReply::files);
  }
};
// Puts the rows of a file back, all of them or none; those that are there stay as they are. Of
// administrators. kNotFound: there is no such file on the daemon's host.
struct LoadArchiveRequest {
  static constexpr std::string_view kMethod = "Accounting/LoadArchive";
  using Reply = struct LoadArchiveReply;
  std::string file;     // a path of the daemon's host
  bool commit = false;  // else it is tried
  template <class V>
  static void describe(V&& field) {
    field(1, "file", &LoadArchiveRequest::file);
    field(2, "commit", &LoadArchiveRequest::commit);
  }
};
struct LoadArchiveReply {
  uint64_t rows = 0;
  bool committed = false;
  template <class V>
  static void describe(V&& field) {
    field(1, "rows", &LoadArchiveReply::rows);
    field(2, "committed", &LoadArchiveReply::committed);
  }
};

}  // namespace sluice::protocol
