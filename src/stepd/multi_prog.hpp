// srun --multi-prog: which program each task runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/index_set.hpp"
#include "common/base/result.hpp"
#include "common/base/shared_text.hpp"

namespace sluice::stepd {

// The configuration's text: lines of ranks (`1,3-5` or `*`), program, arguments; `%t` is the task
// and `%o` its offset among the line's ranks; single quotes keep blanks together; a backslash at
// the end continues a line. The first line that names a task counts.
class MultiProg {
 public:
  // Reads the text once, for these tasks.
  MultiProg(std::string_view text, std::vector<uint32_t> tasks);
  // Program and arguments of one of them, to be asked once for each; `extra` arguments follow. An
  // error, too, once all of them together take too much memory: each task has words of its own, and
  // the daemon that holds them is not charged to its job yet.
  [[nodiscard]] Result<std::vector<SharedText>> of_task(uint32_t task,
                                                        const std::vector<SharedText>& extra);

 private:
  struct Place {
    std::shared_ptr<const std::string> command;  // the line behind its ranks
    uint32_t offset = 0;
  };
  void take_line(std::string_view line);
  void give(const std::shared_ptr<const std::string>& command, uint32_t before, uint32_t first,
            uint32_t last, const IndexSet* among);

  std::vector<uint32_t> left_;  // tasks that no line has named yet, in order
  std::map<uint32_t, Place> places_;
  size_t held_ = 0;  // bytes of all tasks' words
};

}  // namespace sluice::stepd
