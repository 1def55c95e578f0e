// Cuts a stream of bytes into pieces that end at line ends, so that lines of several tasks do not
// get mixed; and the labels of srun -l.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::stepd {

class LineAssembler {
 public:
  using Emit = std::function<void(std::string_view)>;
  static constexpr size_t kMaxHeld = 65536;  // a longer line is given in parts

  // Without `lines`, every piece goes on as it came.
  explicit LineAssembler(bool lines) : lines_(lines) {}
  void feed(std::string_view bytes, const Emit& emit);
  // The end of the stream: what is held is given.
  void finish(const Emit& emit);

 private:
  bool lines_;
  std::string held_;
};

// `12: ` in front of each line of `text`, the number padded to the widest of `num_tasks` ranks. A
// last line without end is given one.
[[nodiscard]] std::string labelled(std::string_view text, uint32_t task, uint32_t num_tasks);

}  // namespace sluice::stepd
