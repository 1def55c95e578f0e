// Files of what was purged. One is there as a whole or not at all: it has its name only when it is
// on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace sluice::dbd {

// A row of the database: `record` as it is stored, and what stands beside it that it does not say.
struct ArchivedRow {
  std::string table, record;
  std::vector<uint64_t> numbers;
  std::vector<std::string> texts;
  bool operator==(const ArchivedRow&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "table", &ArchivedRow::table);
    field(2, "record", &ArchivedRow::record);
    field(3, "numbers", &ArchivedRow::numbers);
    field(4, "texts", &ArchivedRow::texts);
  }
};
struct ArchiveFile {
  uint32_t format = 1;
  std::string cluster;  // empty: of the site
  std::vector<ArchivedRow> rows;
  uint64_t count = 0;  // of rows: the last field, so that what was cut off is noticed
  bool operator==(const ArchiveFile&) const = default;
  template <class V>
  static void describe(V&& field) {
    field(1, "format", &ArchiveFile::format);
    field(2, "cluster", &ArchiveFile::cluster);
    field(3, "rows", &ArchiveFile::rows);
    field(4, "count", &ArchiveFile::count);
  }
};

// Errors: this process may not write there, or who may replace files of others in the folder could
// put an archive of his own in place of ours.
[[nodiscard]] Status may_write_archives(const std::string& folder);

// Writes it into the folder as CLUSTER_KIND_archive_FROM_TO, with a number behind it where there is
// such a file already, and waits for the disk. Gives its path. Errors: a folder in which all may
// replace the files of others.
[[nodiscard]] Result<std::string> write_archive(const std::string& folder, const std::string& kind,
                                                ArchiveFile file, Time from, Time to);
// Errors: no such file, no archive, a damaged one; kAccessDenied: one that others than root and
// this process's user own or may write.
[[nodiscard]] Result<ArchiveFile> read_archive(const std::string& path);
// The same of its bytes; `path` is what errors call it.
[[nodiscard]] Result<ArchiveFile> parse_archive(std::string_view bytes, const std::string& path);

}  // namespace sluice::dbd
