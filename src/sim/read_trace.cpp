#include "sim/read_trace.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include <zlib.h>

#include "common/base/errno_text.hpp"
#include "ctld/journal/recovery.hpp"
#include "ctld/journal/sqlite_reader.hpp"
#include "ctld/journal/state_folder.hpp"
#include "sim/trace/formats.hpp"
#include "sim/run/state_jobs.hpp"

namespace sluice::sim {
namespace {

// Of StateSaveLocation, or of the journal's own folder in it.
Result<Trace> read_state(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::path given(folder), within = given / journal::kJournalFolder;
  const bool has_journal = std::filesystem::is_directory(within, ignored);
  const auto reader = journal::SqliteReader::open(has_journal ? within : given);
  if (!reader) return tl::unexpected(reader.error());
  const auto recovered = journal::recover(**reader);
  if (!recovered) return failure(folder + ": " + recovered.error().text);
  Trace trace = trace_of(recovered->state);
  if (trace.jobs.empty()) return failure(folder + ": no job of it waits, runs or ran");
  trace.name = folder;
  return trace;
}

}  // namespace

Result<Trace> read_trace(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return read_state(path);
  errno = 0;
  // reads what is not compressed as it is
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) return failure(path + ": " + errno_text(errno));
  constexpr size_t kBlock = 1U << 16, kMost = size_t{4} << 30;
  const auto block = std::make_unique<std::array<char, kBlock>>();
  std::string text;
  int got = 0;
  while ((got = gzread(file.get(), block->data(), kBlock)) > 0) {
    text.append(block->data(), static_cast<size_t>(got));
    if (text.size() > kMost) return failure(path + ": it is longer than 4 GiB");
  }
  int code = Z_OK;
  const char* what = gzerror(file.get(), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
    return failure(path + ": " + (code == Z_ERRNO ? errno_text(errno) : what));
  return parse_trace(text, path);
}

}  // namespace sluice::sim
