// Where srun puts what tasks write: its own descriptors or a file, with labels if asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/model/step.hpp"
#include "common/syntax/file_pattern.hpp"

namespace sluice::cli {

enum class Labels : uint8_t {
  kNone,
  kOfLines,   // bytes are held until their line ends
  kOfPieces,  // of a terminal, or with -u: a prompt waits for no end of its line, and is one
};

// One of the two streams.
class OutputTarget {
 public:
  OutputTarget(int fd, Labels labels, uint32_t tasks);

  void write(uint32_t task, std::string_view bytes);
  // Puts out lines that have no end.
  void finish();
  // The errno with which the rest could not be written (a full disk); 0: all is well, or its reader
  // is gone.
  [[nodiscard]] int lost() const { return lost_; }
  // A whole text that is no task's own (a step daemon's message).
  void write_text(std::string_view text);

 private:
  void put(std::string_view bytes);
  void put_line(uint32_t task, std::string_view line);
  int fd_;
  Labels labels_;
  int width_ = 1;  // digits of the highest rank
  bool broken_ = false;
  int lost_ = 0;
  std::map<uint32_t, std::string> partial_;
};

// Opens what StepSpec::std_out or std_err names when that is srun's to open, else gives `fallback`.
// `kind` is stdout or stderr, for the error's text: `Could not open stdout file: REASON`.
[[nodiscard]] Result<int> open_output(std::string_view pattern, const PatternFields& fields,
                                      bool append, int fallback, std::string_view kind);
// Likewise for standard input; -1 when there is none for the tasks.
[[nodiscard]] Result<int> open_input(std::string_view pattern, const PatternFields& fields);
// Whether the name stands for a stream of srun itself: empty, `all`, `none` or one task's number.
[[nodiscard]] bool is_stream_name(std::string_view pattern);

}  // namespace sluice::cli
