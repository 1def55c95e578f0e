// The two notations of --json and --yaml, character by character as Slurm writes them, so that what
// reads Slurm's output line by line reads this, too.
#pragma once

#include <string>
#include <utility>

#include "common/format/json_parts.hpp"

namespace sluice::cli {

// Indented by two; what is empty takes two lines, and "/" is written "\/".
[[nodiscard]] std::string to_json_text(const Json& value);
// With a tag before every key and value: "!!str job_id: !!int 7". Long texts stay on their line.
[[nodiscard]] std::string to_yaml_text(const Json& value);

// A map whose first pair is a list, piece by piece as the items come: the same characters as of the
// whole.
class DocumentText {
 public:
  DocumentText(bool yaml, std::string key) : yaml_(yaml), key_(std::move(key)) {}
  // Each adds to the end of `out`.
  void begin(std::string& out) const;
  void add(const Json& record, std::string& out);
  void end(const Json& rest, std::string& out) const;  // the other pairs

 private:
  bool yaml_;
  bool empty_ = true;
  std::string key_;
};

}  // namespace sluice::cli
