// Which file of SQLite the write-ahead log beside it belongs to. A daemon that is killed leaves the
// log, and SQLite applies it to whatever database is there when it is opened next: also to a copy
// that was put back meanwhile, which it spoils. So size and time of the file stand in FILE-mark,
// which is away while the file changes.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace sluice::dbd {

class FileMark {
 public:
  explicit FileMark(std::string file) : file_(std::move(file)), path_(file_ + "-mark") {}

  // Before the file is opened. Errors: kDamaged: the log beside it is of another file.
  [[nodiscard]] Status check() const;
  // Round each change of the file. Errors are told in the log: then there is no mark.
  void begin_change();
  void end_change();
  // Where another process has changed it since.
  void renew();

 private:
  [[nodiscard]] std::string seen() const;  // as it stands in the mark; empty: no such file

  const std::string file_, path_;
  std::string marked_;  // what the mark says; empty: there is none
};

}  // namespace sluice::dbd
