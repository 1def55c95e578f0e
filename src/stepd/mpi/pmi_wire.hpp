// Requests and answers of PMI-1 and PMI-2 as they go over a task's socket. PMI-1: a line of
// "key=value" words, or, for "mcmd=spawn", lines of one up to "endcmd". PMI-2: six digits, the
// length of what follows, then "key=value;" texts, in which a semicolon of a value is written
// twice. Both begin with a line of PMI-1, "cmd=init pmi_version=…", which says what follows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"

namespace sluice::stepd {

inline constexpr size_t kMaxPmiBytes = 256U << 10;  // of one request

enum class PmiVersion { kOne = 1, kTwo = 2 };

struct PmiMessage {
  std::string command;
  std::vector<std::pair<std::string, std::string>> fields;

  // The field's value; empty when it is not there.
  [[nodiscard]] std::string_view get(std::string_view key) const;
  PmiMessage& add(std::string_view key, std::string_view value);
};

[[nodiscard]] std::string encode_pmi(const PmiMessage& message, PmiVersion version);

// Takes bytes as they come and gives whole requests.
class PmiReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // The next request; nothing when more bytes are needed; kBadRequest when it is none (the
  // connection is of no use any more). `version` is what has been agreed on so far.
  [[nodiscard]] Result<std::optional<PmiMessage>> next(PmiVersion version);

 private:
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] Result<std::optional<PmiMessage>> next_line();
  [[nodiscard]] Result<std::optional<PmiMessage>> next_counted();

  std::string bytes_;
  size_t long_bytes_ = 0;
  // a "mcmd=", one field a line, that its "endcmd" has not ended yet
  std::optional<PmiMessage> long_request_;
};

}  // namespace sluice::stepd
