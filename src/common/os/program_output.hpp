// What a program prints, kept in memory: nobody has to read while it runs, it never waits for a
// reader, and who began it may die before it ends.
#pragma once

#include <string>
#include <vector>

namespace sluice {

class ProgramOutput {
 public:
  ProgramOutput();
  ~ProgramOutput();
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;

  // To be its standard output, its standard error, or both; -1 where there is no memory for it.
  [[nodiscard]] int fd() const { return fd_; }
  // The beginning.
  [[nodiscard]] std::string text(size_t most_bytes) const;
  // The last lines that are not empty, which tell most of a program that failed.
  [[nodiscard]] std::vector<std::string> last_lines(size_t most_lines, size_t most_bytes) const;
  // Of more than that the last quarter of it is kept alone; to be called now and then.
  void bound(size_t most_bytes);
  // The program is over: what it left running can write no more, and gets EPERM.
  void close();

 private:
  int fd_;
};

}  // namespace sluice
