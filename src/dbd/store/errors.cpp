#include "dbd/store/errors.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "dbd/store/file_access.hpp"

namespace sluice::dbd {
namespace {

Error error_of(const std::string& path, const soci::sqlite3_soci_error& thrown) {
  switch (thrown.result() & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return {ErrorCode::kStorageFull,
              fmt::format("{}: the disk is full, or cannot be written", path)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kRetry, fmt::format("{}: another process has it locked", path)};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {ErrorCode::kDamaged, damaged_text(path)};
    case SQLITE_CANTOPEN: return {ErrorCode::kError, fmt::format("{}: cannot be opened", path)};
    case SQLITE_READONLY:
      return {ErrorCode::kError, fmt::format("{}: cannot be written by this user", path)};
    default: return {ErrorCode::kError, fmt::format("{}: {}", path, thrown.what())};
  }
}

// SOCI tells of servers' errors their texts alone: these are theirs, in English.
constexpr std::array<std::pair<std::string_view, ErrorCode>, 22> kTexts = {{
    {"Access denied", ErrorCode::kInvalidConfig},
    {"Unknown database", ErrorCode::kInvalidConfig},
    {"password authentication failed", ErrorCode::kInvalidConfig},
    {"no password supplied", ErrorCode::kInvalidConfig},
    {"no pg_hba.conf entry", ErrorCode::kInvalidConfig},
    {"\" does not exist", ErrorCode::kInvalidConfig},
    {"permission denied", ErrorCode::kInvalidConfig},
    {"No space left", ErrorCode::kStorageFull},
    {"is full", ErrorCode::kStorageFull},
    {"Lock wait timeout", ErrorCode::kRetry},
    {"lock timeout", ErrorCode::kRetry},
    {"eadlock", ErrorCode::kRetry},
    {"gone away", ErrorCode::kRetry},
    {"Lost connection", ErrorCode::kRetry},
    {"connect to", ErrorCode::kRetry},
    {"connection to server", ErrorCode::kRetry},
    {"closed the connection", ErrorCode::kRetry},
    {"terminating connection", ErrorCode::kRetry},
    {"could not translate host", ErrorCode::kRetry},
    {"Unknown server host", ErrorCode::kRetry},
    {"shutdown in progress", ErrorCode::kRetry},
    {"killed", ErrorCode::kRetry},
}};

// On one line, and not longer than a log bears: what SOCI adds is the statement.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 1000)) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

Error error_of(const std::string& where, const soci::soci_error& thrown) {
  const std::string text = one_line(thrown.get_error_message());
  ErrorCode code = thrown.get_error_category() == soci::soci_error::connection_error
                       ? ErrorCode::kRetry
                       : ErrorCode::kError;
  for (const auto& [part, meaning] : kTexts) {
    if (text.find(part) == std::string::npos) continue;
    code = meaning;
    break;
  }
  return {code, fmt::format("{}: {}", where, text)};
}

}  // namespace

Status guarded(const std::string& where, const std::function<Status()>& work) {
  try {
    return work();
  } catch (const soci::sqlite3_soci_error& thrown) {
    return tl::unexpected<Error>(error_of(where, thrown));
  } catch (const soci::soci_error& thrown) {
    return tl::unexpected<Error>(error_of(where, thrown));
  } catch (const std::exception& thrown) {
    return failure(fmt::format("{}: {}", where, thrown.what()));
  }
}

}  // namespace sluice::dbd
